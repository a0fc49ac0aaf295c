import { isJsonObject, type JsonObject, type JsonValue, walkJson } from '../json/walk.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { CacheWrites, MediaCount } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { ClientName } from './client-names.ts'
import { PromptGuess } from './token-guess.ts'

/** An inline image in the body. */
export interface ImageSource {
  /** Null if it is unclear which bytes are the image. */
  readonly base64: string | null
  /** Whether the image is at a place where providers read images and never text. */
  readonly isReadAsImage: boolean
}

type PartKind =
  | 'file'
  | 'videoFile'
  | 'imageInline'
  | 'imageByUrl'
  | 'videoInline'
  | 'videoByUrl'
  | 'audio'

/**
 * Finds, in one walk, parts that are billed separately, cache marks, and the texts that a model reads. Every object of
 * the body is classified by its `type`, or else by its shape, but not by its place: parts may be in tool results,
 * repeated answers and roles that should have none. Throws `unsupported_parameter` for audio input.
 */
export function surveyBody(root: JsonObject): {
  readonly media: MediaCount
  /** In the body's order. */
  readonly inlineImages: readonly ImageSource[]
  readonly cacheWrites: CacheWrites
  /** In sixtieths of a token. */
  readonly promptGuess: number
  /** The most tokens that a template adds to definitions and inputs of tools. */
  readonly layoutTokens: number
} {
  const counts: Record<Exclude<PartKind, 'audio'>, number> = {
    file: 0,
    videoFile: 0,
    imageInline: 0,
    imageByUrl: 0,
    videoInline: 0,
    videoByUrl: 0,
  }
  const inlineImages: ImageSource[] = []
  let firstFilePath: string | null = null
  let cacheWrites = promptCacheWrites(root)
  const guess = new PromptGuess()
  guess.addRoot(root)
  walkJson(root, (node, path) => {
    guess.addNode(node)
    if (has(node, 'cache_control')) cacheWrites = longer(cacheWrites, markedWrites(node))
    if (has(node, 'prompt_cache_breakpoint')) cacheWrites = 'long'
    const kind = partKind(node, path)
    if (kind === null) return
    if (kind === 'audio') throw audioRefusal(path() || 'input_audio')
    if (kind === 'file' || kind === 'videoFile') firstFilePath ??= path() || 'file'
    if (kind === 'imageInline') {
      inlineImages.push(
        inlineImages.length < SIZED_IMAGES_MAX ? imageSource(node, path) : NOT_SIZED,
      )
    }
    counts[kind] += 1
  })
  return {
    cacheWrites,
    inlineImages,
    promptGuess: guess.sixtieths,
    layoutTokens: guess.layoutTokens,
    media: {
      files: counts.file + counts.videoFile,
      firstFilePath,
      imagesInline: counts.imageInline,
      imagesByUrl: counts.imageByUrl,
      videosInline: counts.videoInline + counts.videoFile,
      videosByUrl: counts.videoByUrl,
    },
  }
}

/** Adds an image that is a bare address in the field `param`. Throws `unsupported_parameter` for audio. */
export function withBareImage(
  media: MediaCount,
  { address, param }: { readonly address: string; readonly param: string },
): MediaCount {
  const inline = inlineAddress(address, null)
  const kind = inline === null ? 'imageByUrl' : mostExpensiveKind([inline], 'imageInline')
  switch (kind) {
    case 'imageByUrl':
      return { ...media, imagesByUrl: media.imagesByUrl + 1 }
    case 'imageInline':
      return { ...media, imagesInline: media.imagesInline + 1 }
    case 'videoInline':
      return { ...media, videosInline: media.videosInline + 1 }
    case 'file':
    case 'videoFile':
      return { ...media, files: media.files + 1, firstFilePath: media.firstFilePath ?? param }
    case 'audio':
      throw audioRefusal(param)
    default:
      return assertNever(kind)
  }
}

/** The names of options of prompt caching. */
export const PROMPT_CACHE_OPTION = /^prompt_cache_/i

/**
 * The cache writes of the prompt that options such as `prompt_cache_retention` may cause. A key alone only says where
 * to look.
 */
function promptCacheWrites(root: JsonObject): CacheWrites {
  let writes: CacheWrites = 'none'
  for (const name in root) {
    if (!PROMPT_CACHE_OPTION.test(name) || root[name] === null) continue
    writes = longer(writes, name === 'prompt_cache_key' ? 'short' : 'long')
  }
  return writes
}

/** Five minutes is the time of a mark that names none. A mark with anything unknown in it may be a longer one. */
function markedWrites({ cache_control: mark }: JsonObject): CacheWrites {
  if (!isJsonObject(mark)) return 'long'
  for (const name of Object.keys(mark)) {
    const value = mark[name]
    const isKnown = name === 'type' || (name === 'ttl' && (value === null || value === '5m'))
    if (!isKnown) return 'long'
  }
  return 'short'
}

function longer(one: CacheWrites, other: CacheWrites): CacheWrites {
  return one === 'long' || other === 'none' ? one : other
}

function audioRefusal(param: string): Problem {
  return new Problem('unsupported_parameter', {
    param,
    message: 'Audio input (`input_audio`) is not supported. Leave it out, or send its text.',
  })
}

// At other places, such as a tool's examples, arguments, or a model's reasoning, a provider may pass a part to the
// model as text.
const PLACES_READ_AS_PARTS =
  /^(?:messages|input|system|prompt|input_references)(?:\[\d+\]|\.(?:content|output|source|images|annotations|file))*$/

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
      return fileKind(node)
    case 'file':
      return isFilePart(node, path) ? fileKind(node) : null
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

// Only shapes with an address: a JSON Schema may have a property of the same name.
function kindByShape(node: JsonObject): PartKind | null {
  if (hasAddress(node['image_url'])) return imageKind(node)
  if (hasAddress(node['video_url']) || hasAddress(node['input_video'])) return videoKind(node)
  if (hasAddress(node['input_audio'])) return 'audio'
  if (hasAddress(node['input_file'])) return fileKind(node)
  const { audio, file } = node
  // Audio of an earlier answer, sent back by its id or whole.
  if (isJsonObject(audio) && (has(audio, 'id') || has(audio, 'data'))) return 'audio'
  if (isJsonObject(file) && FILE_PLACES.some((place) => typeof file[place] === 'string')) {
    return fileKind(node)
  }
  return null
}

const IMAGE_PLACES = ['image_url', 'source', 'url', 'result', 'file_id'] as const
const VIDEO_PLACES = ['video_url', 'input_video', 'source', 'url', 'file_id'] as const
const FILE_PLACES = ['file_data', 'file_id', 'file_url', 'data', 'url'] as const

function imageKind(node: JsonObject): PartKind {
  const addresses = inlineAddresses(node, IMAGE_PLACES)
  return addresses === null ? 'imageByUrl' : mostExpensiveKind(addresses, 'imageInline')
}

// No provider reads as many; further images are held at the largest size, and as text.
const SIZED_IMAGES_MAX = 4_096
const NOT_SIZED: ImageSource = { base64: null, isReadAsImage: false }

function imageSource(node: JsonObject, path: () => string): ImageSource {
  return { base64: inlineBase64(node), isReadAsImage: PLACES_READ_AS_PARTS.test(path()) }
}

/** The base64 of an image with one address; null for several, of which any may be read. */
function inlineBase64(node: JsonObject): string | null {
  const [address, ...others] = inlineAddresses(node, IMAGE_PLACES) ?? []
  return address === undefined || others.length > 0 ? null : base64Of(address.text)
}

// An older layout has a whole part inside this one, which is counted itself.
function wrapsVideo({ input_video: inner }: JsonObject): boolean {
  return isJsonObject(inner) && hasAddress(inner['video_url'])
}

function videoKind(node: JsonObject): PartKind {
  const addresses = inlineAddresses(node, VIDEO_PLACES)
  return addresses === null ? 'videoByUrl' : mostExpensiveKind(addresses, 'videoInline')
}

/** A file of any type; a video is held as a video too, and audio is refused. */
function fileKind(node: JsonObject): PartKind {
  const places = [node, node['file'], node['input_file'], node['source']].filter(isJsonObject)
  const kinds = places.flatMap((place) =>
    FILE_PLACES.map((name) => place[name])
      .filter((text) => typeof text === 'string')
      .map((text) => kindOfType(mediaType({ text, declaredType: declaredType(place) }))),
  )
  if (kinds.includes('audio')) return 'audio'
  return kinds.includes('video') ? 'videoFile' : 'file'
}

function isFilePart(node: JsonObject, path: () => string): boolean {
  const file = isJsonObject(node['file']) ? node['file'] : node
  const places = FILE_PLACES.filter((place) => has(file, place))
  // Parsed content without bytes is the text of an earlier parse.
  if (places.length === 0) return !has(file, 'content')
  // The source of another part counts with that part.
  return !(file === node && places.join() === 'file_id' && path().endsWith('.source'))
}

/** Bytes in the body, with the client's declaration of their type. */
interface InlineAddress {
  readonly text: string
  /** The declared type of bare base64; null: none. */
  readonly declaredType: string | null
}

/**
 * A part's bytes, from every place that a provider might read. Null if any of them are not in the body or
 * unclear: such a part counts as one by URL, which is held in full.
 */
function inlineAddresses(
  node: JsonObject,
  places: readonly ClientName[],
): readonly InlineAddress[] | null {
  const present = places.filter((place) => has(node, place))
  const addresses = present.flatMap((place) =>
    place === 'file_id' ? [null] : addressesIn(node[place]),
  )
  if (addresses.length === 0) return null
  return addresses.every((address) => address !== null) ? addresses : null
}

function addressesIn(source: JsonValue | undefined): readonly (InlineAddress | null)[] {
  if (typeof source === 'string') return [inlineAddress(source, null)]
  if (!isJsonObject(source)) return [null]
  const texts = (['url', 'data'] as const)
    .filter((name) => has(source, name))
    .map((name) => source[name])
  if (texts.length === 0) return [null]
  return texts.map((text) =>
    typeof text === 'string' ? inlineAddress(text, declaredType(source)) : null,
  )
}

/** By position: the possible address, then its declared type. */
function inlineAddress(text: string, declared: string | null): InlineAddress | null {
  return isInlineText(text) ? { text, declaredType: declared } : null
}

function declaredType(source: JsonObject): string | null {
  const type = source['media_type'] ?? source['mime_type']
  return typeof type === 'string' ? type : null
}

const TYPE_KINDS = ['image', 'video', 'audio'] as const
type TypeKind = (typeof TYPE_KINDS)[number] | 'file'

/** The kind of part by its bytes, even against the part's own type. */
function mostExpensiveKind(
  addresses: readonly InlineAddress[],
  own: 'imageInline' | 'videoInline',
): Exclude<PartKind, 'imageByUrl' | 'videoByUrl'> {
  const kinds = addresses.map((address) => {
    const type = mediaType(address)
    // Bare base64 has no type: it is an image or a video, as its part declares.
    return type === null ? 'image' : kindOfType(type)
  })
  if (kinds.includes('audio')) return 'audio'
  if (kinds.includes('file')) return kinds.includes('video') ? 'videoFile' : 'file'
  return kinds.includes('video') ? 'videoInline' : own
}

function kindOfType(type: string | null): TypeKind {
  const start = type?.slice(0, 'image/'.length).toLowerCase()
  return TYPE_KINDS.find((kind) => start === `${kind}/`) ?? 'file'
}

// A data URL without a type is text.
const DATA_URL = /^data:([^,;]{0,128})/i

/** The type of a data URL, or the declared type of bare base64; null if there is none. */
function mediaType({ text, declaredType: declared }: InlineAddress): string | null {
  return DATA_URL.exec(text)?.[1]?.trim() ?? declared
}

/** A data URL's base64, or bare base64; null for a data URL in another encoding. */
function base64Of(address: string): string | null {
  const comma = isDataUrl(address) ? address.indexOf(',') : -1
  if (comma === -1) return isDataUrl(address) ? null : address
  return /;base64$/i.test(address.slice(0, comma)) ? address.slice(comma + 1) : null
}

/** Whether an address contains the bytes: a data URL, or base64 without a scheme. */
function isInlineText(address: string): boolean {
  return isDataUrl(address) || /^[A-Za-z0-9+/=_-]+$/.test(address.slice(0, 64))
}

function isDataUrl(address: string): boolean {
  return /^data:/i.test(address)
}

function hasAddress(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return true
  return (
    isJsonObject(value) && (typeof value['url'] === 'string' || typeof value['data'] === 'string')
  )
}

function has(node: JsonObject, member: ClientName): boolean {
  return Object.hasOwn(node, member) && node[member] !== null
}
