import type { MediaCount } from '../vocabulary/call.ts'
import { isJsonObject, type JsonObject, type JsonValue, walkJson } from '../vocabulary/json-body.ts'
import { Problem } from '../vocabulary/problem.ts'

/** What one walk over a body finds, wherever it stands: parts that cost apart, and cache marks. */
export interface BodySurvey {
  readonly media: MediaCount
  readonly cacheWrites: boolean
}

type PartKind = 'file' | 'imageInline' | 'imageByUrl' | 'videoInline' | 'videoByUrl' | 'audio'

/**
 * Classifies every object of the body by its `type`, or by its shape where that says nothing, rather
 * than by its place: parts hide in tool results, echoed answers and roles that should have none.
 * Throws `unsupported_parameter` for audio input.
 */
export function surveyBody(root: JsonObject): BodySurvey {
  const counts: Record<Exclude<PartKind, 'audio'>, number> = {
    file: 0,
    imageInline: 0,
    imageByUrl: 0,
    videoInline: 0,
    videoByUrl: 0,
  }
  let firstFilePath: string | null = null
  let cacheWrites = false
  walkJson(root, (node, path) => {
    if (has(node, 'cache_control')) cacheWrites = true
    const kind = partKind(node, path)
    if (kind === null) return
    if (kind === 'audio') {
      throw new Problem('unsupported_parameter', {
        param: path() || 'input_audio',
        message: 'Audio input (`input_audio`) is not supported.',
      })
    }
    if (kind === 'file') firstFilePath ??= path() || 'file'
    counts[kind] += 1
  })
  return {
    cacheWrites,
    media: {
      files: counts.file,
      firstFilePath,
      imagesInline: counts.imageInline,
      imagesByUrl: counts.imageByUrl,
      videosInline: counts.videoInline,
      videosByUrl: counts.videoByUrl,
    },
  }
}

function partKind(node: JsonObject, path: () => string): PartKind | null {
  switch (node['type']) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return null
    case 'image_url':
    case 'input_image':
    case 'image':
    case 'computer_screenshot':
    case 'image_generation_call':
      return imageKind(node)
    case 'input_file':
    case 'document':
    case 'container_upload':
      return 'file'
    case 'file':
      return isFilePart(node, path) ? 'file' : null
    case 'video_url':
    case 'input_video':
    case 'video':
      return wrapsVideo(node) ? null : videoKind(node)
    case 'input_audio':
    case 'audio':
    case 'audio_url':
      return 'audio'
    default:
      return kindByShape(node)
  }
}

// Only shapes that say where bytes are: a JSON Schema may well have a property of the same name.
function kindByShape(node: JsonObject): PartKind | null {
  if (hasAddress(node['image_url'])) return imageKind(node)
  if (hasAddress(node['video_url']) || hasAddress(node['input_video'])) return videoKind(node)
  if (hasAddress(node['input_audio'])) return 'audio'
  if (hasAddress(node['input_file'])) return 'file'
  const { audio, file } = node
  // What a model said, sent back to it: by its id, or whole.
  if (isJsonObject(audio) && (has(audio, 'id') || has(audio, 'data'))) return 'audio'
  if (isJsonObject(file) && FILE_PLACES.some((place) => typeof file[place] === 'string')) {
    return 'file'
  }
  return null
}

const IMAGE_PLACES = ['image_url', 'source', 'url', 'result', 'file_id']
const VIDEO_PLACES = ['video_url', 'input_video', 'source', 'url', 'file_id']
const FILE_PLACES = ['file_data', 'file_id', 'file_url', 'data', 'url']

function imageKind(node: JsonObject): PartKind {
  return isInline(node, IMAGE_PLACES) ? 'imageInline' : 'imageByUrl'
}

// An older layout has a whole part inside this one, which is found by itself.
function wrapsVideo({ input_video: inner }: JsonObject): boolean {
  return isJsonObject(inner) && hasAddress(inner['video_url'])
}

function videoKind(node: JsonObject): PartKind {
  return isInline(node, VIDEO_PLACES) ? 'videoInline' : 'videoByUrl'
}

function isFilePart(node: JsonObject, path: () => string): boolean {
  const file = isJsonObject(node['file']) ? node['file'] : node
  const places = FILE_PLACES.filter((place) => has(file, place))
  // With parsed content and no bytes, it is the text of an earlier parse.
  if (places.length === 0) return !has(file, 'content')
  // As the source of another part, it counts with that part.
  return !(file === node && places.join() === 'file_id' && path().endsWith('.source'))
}

/**
 * Whether a part's bytes are in the body, in every place that could be read for them. What can't be
 * told is by URL: such a part is held in full.
 */
function isInline(node: JsonObject, places: readonly string[]): boolean {
  const present = places.filter((place) => has(node, place))
  return (
    present.length > 0 &&
    present.every((place) => place !== 'file_id' && isInlineSource(node[place]))
  )
}

function isInlineSource(source: JsonValue | undefined): boolean {
  if (typeof source === 'string') return isInlineText(source)
  if (!isJsonObject(source)) return false
  const addresses = ['url', 'data'].filter((name) => has(source, name)).map((name) => source[name])
  return (
    addresses.length > 0 &&
    addresses.every((address) => typeof address === 'string' && isInlineText(address))
  )
}

/** Whether an address carries the bytes itself: a data URL, or base64 without any scheme before it. */
export function isInlineText(address: string): boolean {
  return /^data:/i.test(address) || /^[A-Za-z0-9+/=_-]+$/.test(address.slice(0, 64))
}

function hasAddress(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return true
  return (
    isJsonObject(value) && (typeof value['url'] === 'string' || typeof value['data'] === 'string')
  )
}

function has(node: JsonObject, member: string): boolean {
  return Object.hasOwn(node, member) && node[member] !== null
}
