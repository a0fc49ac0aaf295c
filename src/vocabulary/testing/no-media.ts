import type { MediaCount } from '../call.ts'

/** The media of a body that has only text. */
export const NO_MEDIA: MediaCount = {
  files: 0,
  firstFilePath: null,
  imagesInline: 0,
  imagesByUrl: 0,
  videosInline: 0,
  videosByUrl: 0,
}
