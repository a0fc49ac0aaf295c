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
 * Classifies every object of the body by its `type`, or by its shape where it has none, rather than by
 * its place: parts hide in tool results, echoed answers and roles that should have none.
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
    if (Object.hasOwn(node, 'cache_control') && node['cache_control'] !== null) cacheWrites = true
    const kind = partKind(node)
    if (kind === null) return
    if (kind === 'audio') {
      throw new Problem('unsupported_parameter', {
        param: path(),
        message: 'Audio input (`input_audio`) is not supported.',
      })
    }
    if (kind === 'file') firstFilePath ??= path()
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

function partKind(node: JsonObject): PartKind | null {
  switch (node['type']) {
    case 'image_url':
    case 'input_image':
    case 'image':
    case 'computer_screenshot':
      return imageKind(node)
    case 'image_generation_call':
      return has(node, 'result') ? 'imageInline' : 'imageByUrl'
    case 'input_file':
    case 'document':
    case 'container_upload':
      return 'file'
    case 'file':
      return isFilePart(node) ? 'file' : null
    case 'video_url':
    case 'input_video':
    case 'video':
      return isInline(mediaSource(node, ['video_url', 'input_video', 'source']))
        ? 'videoInline'
        : 'videoByUrl'
    case 'input_audio':
    case 'audio':
    case 'audio_url':
      return 'audio'
    case undefined:
    case null:
      return untypedPartKind(node)
    default:
      return null
  }
}

function untypedPartKind(node: JsonObject): PartKind | null {
  if (has(node, 'image_url')) return imageKind(node)
  if (has(node, 'video_url') || has(node, 'input_video')) return 'videoByUrl'
  if (has(node, 'input_audio')) return 'audio'
  if (has(node, 'input_file')) return 'file'
  if (isJsonObject(node['file']) && isFilePart(node)) return 'file'
  return null
}

function imageKind(node: JsonObject): PartKind {
  return isInline(mediaSource(node, ['image_url', 'source', 'url'])) ? 'imageInline' : 'imageByUrl'
}

// `{type: "file", file_id}` alone is the source of another part, which counts by itself; a `file` with
// parsed content and no bytes is the text of an earlier parse.
function isFilePart(node: JsonObject): boolean {
  const file = node['file']
  if (isJsonObject(file)) {
    return !has(file, 'content') || has(file, 'file_data') || has(file, 'file_id')
  }
  return (
    has(node, 'file') || has(node, 'file_data') || has(node, 'file_url') || !has(node, 'file_id')
  )
}

/** Where a part's bytes are: the value of the first member that is there. */
function mediaSource(node: JsonObject, members: readonly string[]): JsonValue | undefined {
  for (const member of members) if (has(node, member)) return node[member]
  return undefined
}

/** Whether the bytes are in the body. What can't be told is by URL: such a part is held in full. */
function isInline(source: JsonValue | undefined): boolean {
  if (typeof source === 'string') return isInlineText(source)
  if (!isJsonObject(source)) return false
  if (source['type'] === 'base64') return typeof source['data'] === 'string'
  const address = source['url'] ?? source['data']
  return typeof address === 'string' && isInlineText(address)
}

// A data URL, or base64 without any scheme before it.
function isInlineText(text: string): boolean {
  return /^data:/i.test(text) || /^[A-Za-z0-9+/=_-]+$/.test(text.slice(0, 64))
}

function has(node: JsonObject, member: string): boolean {
  return Object.hasOwn(node, member) && node[member] !== null
}
