/** The size of each picture in the documents, in pixels. */
export const PICTURE_SIZE = { width: 1440, height: 900 } as const

/** The theme of the page in a picture. */
export type Theme = 'light' | 'dark'

/**
 * The pictures of the page that `npm run picture` takes, with their themes: README has those in both themes,
 * `docs/tour.md` has all of them in light, in this order.
 */
export const PICTURES = {
  page: ['light', 'dark'],
  'tour-keys': ['light'],
  'tour-models': ['light'],
  'tour-playground': ['light'],
  'tour-activity': ['light'],
  'tour-credit': ['light'],
  home: ['light', 'dark'],
  'tour-margin': ['light'],
} as const satisfies Readonly<Record<string, readonly Theme[]>>

/** The name of a picture. */
export type PictureName = keyof typeof PICTURES

/** Where a picture is, from the root of the repository. */
export function picturePath(name: string, theme: Theme): string {
  return `docs/${name}-${theme}.png`
}
