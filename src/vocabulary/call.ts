import { invalidParameter, type Problem } from './problem.ts'

/** The facts of a request that routing, refusals and holds depend on. Pure data. */
export interface Call {
  /** The rules of the format of the call. */
  readonly rules: FormatRules
  /** The model id as the client wrote it. */
  readonly modelName: string
  readonly stream: boolean
  /** Whether the client of a stream asks for a last event that has only the usage. Left out: no. */
  readonly asksForUsage?: true
  /** The output cap that the client set, the larger where two fields say one; null: none. */
  readonly outputCapTokens: number | null
  /** The fields that the client set it in, where its format has two. Left out: none, or the format has one. */
  readonly outputCapParams?: readonly string[]
  /** How many completions are asked for: `n`, `best_of`, several prompts; on images, how many images. */
  readonly completions: number
  readonly media: MediaCount
  readonly tools: ToolUse
  /** The longest cache write that the marks and options of the body ask for. */
  readonly cacheWrites: CacheWrites
  /** The more expensive kinds of output that the call can cause. */
  readonly outputKinds: { readonly image: boolean; readonly audio: boolean }
  /** Whether the body asks for a tier that may be more expensive than the listed one: `service_tier`, `speed: fast`. */
  readonly priorityTier: boolean
  /** Tokens that the body lets each completion think for, which may be above its cap; zero: none are named. */
  readonly reasoningTokens: number
  /** Thinking tokens that a self-hosted server may add to the cap of each completion; zero: none are named. */
  readonly thinkingTokens: number
  /** Tokens of the output that the body predicts, billed as output where the answer differs; zero: none. */
  readonly predictionTokens: number
  /** Whether the provider may summarize the conversation before it answers. */
  readonly compacts: boolean
  /** How the body itself asks for files to be read: by the free parser, by the model, or not at all. */
  readonly fileParser: 'free' | 'native' | 'none'
  /** Text of the body as tokens, inline images left out, never estimated below the count of a tokenizer. */
  readonly textTokens: number
  /** The part of `textTokens` after the last cache mark, if the format defines what a mark covers. */
  readonly unmarkedTokens: number
  /** The likely size of the texts that a model reads, in sixtieths of a token, without pictures and files. */
  readonly promptGuess: number
  /** The inline images whose base64 is left out of `textTokens`, or may be. */
  readonly inlineImages: readonly InlineImage[]
}

/**
 * How long parts of a prompt must be cached, which decides the price of writing them: `none`: the body marks
 * nothing; `short`: five minutes; `long`: an hour, or a time that is not known.
 */
export type CacheWrites = 'none' | 'short' | 'long'

/** One image that is in the body itself. */
export interface InlineImage {
  /** Null if no header gives it. */
  readonly pixels: PixelSize | null
  /** The tokens of its base64 as text, if it may be no image; else zero. */
  readonly textTokens: number
  /** Bytes of its base64 that the text estimate of the body leaves out; zero: it is estimated as text. */
  readonly leftOutBytes: number
}

/** How large an image is, in pixels. */
export interface PixelSize {
  readonly width: number
  readonly height: number
}

/** Parts of the body that cost apart from its text. */
export interface MediaCount {
  /** Files, inline or by URL or by id. */
  readonly files: number
  /** The first file's place, for the refusal that names it; null: no file. */
  readonly firstFilePath: string | null
  readonly imagesInline: number
  readonly imagesByUrl: number
  readonly videosInline: number
  readonly videosByUrl: number
}

/** How many parts the body has besides its text. */
export function partCount(media: MediaCount): number {
  const { files, imagesInline, imagesByUrl, videosInline, videosByUrl } = media
  return files + imagesInline + imagesByUrl + videosInline + videosByUrl
}

/** The tools of a call, by who runs them. */
export interface ToolUse {
  /** Function and custom tools that the client runs. */
  readonly clientTools: number
  /** Whether the provider runs any tool of this call, so that it is held step by step. */
  readonly serverTools: boolean
  /** Steps that provider-run tools may take: 30, or what `max_tool_calls` lowers it to. */
  readonly steps: number
  /** The most tokens that one search puts into the prompt of the step after it. */
  readonly searchResultTokens: number
}

/** Steps that provider-run tools may take where the request does not lower them. */
export const TOOL_STEPS_DEFAULT = 30

/**
 * The rules of a format for holds, deadlines and the credit that may pay: plain data, one value for each format.
 */
export interface FormatRules {
  /** The basis of the hold's size: the tokens of the call, or a figure for each image that it asks for. */
  readonly heldBy: 'tokens' | 'images'
  /** How its prompt is counted. */
  readonly prompt: {
    /** Whether a chat template, and instructions for calling tools, surround the text. */
    readonly hasTemplate: boolean
    /** How many context windows its text may fill; `perCompletion`: there may be several prompts. */
    readonly windows: 'one' | 'perCompletion' | 'any'
  }
  readonly output: OutputRule
  /**
   * Whether free credit may pay for its calls, and whether a call that free credit alone pays for may run
   * on less than its whole hold.
   */
  readonly freeCredit: 'never' | 'wholeHold' | 'partOfHold'
  /** How long its answer may take in total. */
  readonly deadline: {
    /** The setting that bounds a whole answer. */
    readonly total: 'totalTimeoutMs' | 'imageTimeoutMs'
    /** Whether it bounds a stream too. */
    readonly boundsStreams: boolean
  }
}

/** How the output of a call is bounded. */
type OutputRule =
  /** No output is capped. */
  | { readonly cap: 'none' }
  /** If the client sets no cap, the gateway sends one, which may be lowered so that the hold fits. */
  | { readonly cap: 'ours' }
  /** The client's own cap, else the model's maximum; never lowered. */
  | {
      readonly cap: 'clients'
      /** The field that the client sets it in. */
      readonly param: string
      /** The bound of the cap that is held. */
      readonly heldUpTo: 'modelMaximum' | 'contextWindow'
    }

/** Request headers as Node gives them: names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The facts of a request before its body is read. */
export interface Arrival {
  readonly headers: RequestHeaders
  /** The address of the peer; undefined: the connection is closed by now. */
  readonly peerAddress: string | undefined
}

/** The request header with a request's tags, separated by commas: words of the client by which usage can be grouped. */
export const TAGS_HEADER = 'x-service-tags'

/** The most tags of a request. */
export const TAGS_MAX = 8

/** The most characters of a tag. */
export const TAG_CHARS_MAX = 64

// Between commas; spaces and tabs around a tag are no part of it.
const HEADER_CHARS = /^[\t\x20-\x7e]*$/
const TAG_CHARS = /^[\x20-\x7e]+$/

/**
 * The tags of a request in their order, each once; null: there are none. A header that is sent
 * twice is one list. Throws Problem `invalid_parameter`, which never repeats a tag: it may be about a person.
 */
export function readTags(headers: RequestHeaders): readonly string[] | null {
  const sent = headers[TAGS_HEADER]
  if (sent === undefined) return null
  const text = typeof sent === 'string' ? sent : sent.join(',')
  if (!HEADER_CHARS.test(text)) throw badTags(NOT_PRINTABLE)
  const tags = new Set(text.split(',').map((tag) => tag.trim()))
  // A list may have empty elements, as RFC 9110 (5.6.1) says.
  tags.delete('')
  for (const tag of tags) {
    if (!TAG_CHARS.test(tag)) throw badTags(NOT_PRINTABLE)
    if (tag.length > TAG_CHARS_MAX) {
      throw badTags(`has a tag of ${tag.length} characters; a tag has at most ${TAG_CHARS_MAX}.`)
    }
  }
  if (tags.size > TAGS_MAX) {
    throw badTags(`has ${tags.size} different tags; a request has at most ${TAGS_MAX}.`)
  }
  return tags.size === 0 ? null : [...tags]
}

const NOT_PRINTABLE = 'has a character that is not printable ASCII.'

function badTags(fault: string): Problem {
  return invalidParameter(TAGS_HEADER, `The header \`${TAGS_HEADER}\` ${fault}`)
}
