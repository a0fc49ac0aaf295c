import { valueSource } from '../json/edit.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  walkJson,
} from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { type ClientName, refuseLookalikes } from './client-names.ts'
import {
  field,
  readBoolean,
  readCount,
  readObject,
  readObjects,
  wholeNumber,
  wrongType,
} from './fields.ts'
import type { CallTexts, UnsizedCall, UnsizedImage } from './format.ts'
import { readImageHeader } from './image-header.ts'
import { type ImageSource, surveyBody } from './media.ts'
import { otherEndpoint, readPlugins, refuseFields } from './refusals.ts'
import { OPENAI_TOOLS, readToolUse, type ToolStyle } from './tools.ts'

/** The fields that all formats read in the same way. */
type ChatStyleFields = Omit<UnsizedCall, 'rules' | 'stream' | 'outputCapTokens' | 'completions'>

/** Reads these fields. Throws Problem for a field of the wrong type or one that no endpoint supports. */
export function readChatStyleFields(
  body: JsonBody,
  publicNames: PublicNames,
  toolStyle: ToolStyle = OPENAI_TOOLS,
): ChatStyleFields {
  const { root } = body
  refuseLookalikes(root)
  const modelName = readModelName(root)
  refuseFields(root)
  const fileParser = readPlugins(root, publicNames)
  const tools = readToolUse(root, toolStyle, publicNames)
  const { media, inlineImages, cacheWrites, promptGuess, layoutTokens } = surveyBody(root)
  return {
    modelName,
    media,
    tools,
    cacheWrites,
    promptGuess,
    ...readBilledOptions(root),
    fileParser,
    texts: {
      ...findInlineImages(body.bytes, inlineImages),
      unmarked: [],
      layoutTokens,
      prediction: readPrediction(body),
    },
  }
}

/** The output cap of chat and legacy completions: the larger of its two fields; null if neither is set. */
export function readChatCap(
  root: JsonObject,
): Pick<UnsizedCall, 'outputCapTokens' | 'outputCapParams'> {
  let outputCapTokens: number | null = null
  const outputCapParams: string[] = []
  for (const param of ['max_tokens', 'max_completion_tokens'] as const) {
    const capTokens = readCount(root, param)
    if (capTokens === null) continue
    outputCapTokens = Math.max(outputCapTokens ?? 0, capTokens)
    outputCapParams.push(param)
  }
  return outputCapTokens === null ? { outputCapTokens } : { outputCapTokens, outputCapParams }
}

/** Throws `invalid_parameter` unless the `messages` of chat and messages are an array of objects. */
export function requireMessages(root: JsonObject): void {
  if (field(root, 'messages') === undefined) {
    throw wrongType('messages', 'an array of messages', otherEndpoint(root))
  }
  readObjects(root, 'messages')
}

/** Whether chat or legacy completions stream, and with a last event that has only the usage. Throws `invalid_parameter`. */
export function readChatStream(root: JsonObject): Pick<UnsizedCall, 'stream' | 'asksForUsage'> {
  const streamOptions = readObject(root, 'stream_options') ?? {}
  const asksForUsage = field(streamOptions, 'include_usage') ?? false
  if (typeof asksForUsage !== 'boolean') {
    throw wrongType('stream_options.include_usage', 'true or false')
  }
  const stream = readBoolean(root, 'stream')
  return asksForUsage ? { stream, asksForUsage } : { stream }
}

/**
 * Finds the inline images of a body, given in their order, and the text around them.
 *
 * Text can't hide in an image: only the bytes of a string where the provider reads an image are left out of the
 * text. If they are not an image, they are estimated too.
 */
function findInlineImages(
  body: Buffer,
  images: readonly ImageSource[],
): Pick<CallTexts, 'written' | 'images'> {
  const search = new ImageSearch(body)
  const written: Uint8Array[] = []
  let textStart = 0
  const unsized = images.map(({ base64, isReadAsImage }): UnsizedImage => {
    const pixels = base64 === null ? null : readImageHeader(base64)
    const place = base64 === null || !isReadAsImage ? null : search.find(base64)
    if (place === null) return { pixels, text: null, leftOutBytes: 0 }
    written.push(body.subarray(textStart, place.start))
    textStart = place.end
    const text = pixels === null ? body.subarray(place.start, place.end) : null
    return { pixels, text, leftOutBytes: place.end - place.start }
  })
  written.push(body.subarray(textStart))
  return { written, images: unsized }
}

/** Enough of an image's base64 to find candidates; many images have the same beginning of this length. */
const NEEDLE_CHARS = 64
/** How often a body's length may be searched without success before the search ends. */
const WASTED_PASSES_MAX = 2
const QUOTE = 0x22

interface Place {
  readonly start: number
  readonly end: number
}

/** Finds strings in a body, each after the previous one. */
class ImageSearch {
  readonly #body: Buffer
  #from = 0
  #wastedBytesLeft: number
  /** Whether the client writes each slash as `\/`. */
  #escapesSlashes = false

  constructor(body: Buffer) {
    this.#body = body
    this.#wastedBytesLeft = WASTED_PASSES_MAX * body.length
  }

  /** The place of a base64 text in the body; null: not found, so the text is estimated. */
  find(base64: string): Place | null {
    if (base64.length < NEEDLE_CHARS) return null
    let place = this.#findWritten(base64)
    if (place === null && base64.includes('/')) {
      this.#escapesSlashes = !this.#escapesSlashes
      place = this.#findWritten(base64)
    }
    if (place !== null) this.#from = place.end
    return place
  }

  #findWritten(base64: string): Place | null {
    const start = base64.slice(0, NEEDLE_CHARS)
    const needle = this.#escapesSlashes ? start.replaceAll('/', '\\/') : start
    let from = this.#from
    while (this.#wastedBytesLeft > 0) {
      const at = this.#body.indexOf(needle, from, 'latin1')
      if (at === -1) {
        this.#wastedBytesLeft -= this.#body.length - from
        return null
      }
      const place = this.#placeAt(at, base64)
      if (place !== null) return place
      this.#wastedBytesLeft -= at - from + 2 * base64.length
      from = at + 1
    }
    return null
  }

  /** The place of the base64 that may start at `at`, up to its string's end. */
  #placeAt(at: number, base64: string): Place | null {
    const length = this.#escapesSlashes
      ? this.#body.subarray(at, at + 2 * base64.length + 1).indexOf(QUOTE)
      : base64.length
    const end = at + length
    if (length === -1 || this.#body[end] !== QUOTE) return null
    const source = this.#body.toString('latin1', at, end)
    const written = this.#escapesSlashes ? source.replaceAll('\\/', '/') : source
    return written === base64 ? { start: at, end } : null
  }
}

/** Options that make an answer longer or more expensive; all formats read them in the same way. */
type BilledOptions = Pick<
  Call,
  'outputKinds' | 'priorityTier' | 'reasoningTokens' | 'thinkingTokens' | 'compacts'
>

/** Reads the billed options. Throws `invalid_parameter` for a wrong type. */
function readBilledOptions(root: JsonObject): BilledOptions {
  return {
    outputKinds: readOutputKinds(root),
    priorityTier: asksForPriority(root),
    reasoningTokens: readReasoningTokens(root),
    thinkingTokens: readThinkingTokens(root),
    compacts: asksForCompaction(root),
  }
}

/** The more expensive kinds of output that `modalities` requests. */
function readOutputKinds(root: JsonObject): Call['outputKinds'] {
  const modalities = field(root, 'modalities') ?? []
  if (!Array.isArray(modalities) || modalities.some((kind) => typeof kind !== 'string')) {
    throw wrongType('modalities', 'an array of strings')
  }
  return { image: modalities.includes('image'), audio: modalities.includes('audio') }
}

/** Tiers at the listed price or below it. `auto` leaves the choice to the upstream account. */
const ORDINARY_TIERS = new Set<JsonValue>([
  'auto',
  'default',
  'standard',
  'standard_only',
  'flex',
  'batch',
])

/** Whether a request or an answer names a tier that may cost more than the listed price, as an unknown one may. */
export function asksForPriority(root: JsonObject): boolean {
  const tier = field(root, 'service_tier')
  return (tier !== undefined && !ORDINARY_TIERS.has(tier)) || field(root, 'speed') === 'fast'
}

/** The larger of the two budgets for reasoning; zero if the body sets none. */
function readReasoningTokens(root: JsonObject): number {
  return Math.max(
    readBudget(root, ['reasoning', 'max_tokens']),
    readBudget(root, ['thinking', 'budget_tokens']),
  )
}

/** The names by which self-hosted servers take a budget for thinking. */
const THINKING_BUDGETS = [
  'thinking_budget',
  'thinking_token_budget',
  'thinking_budget_tokens',
  'reasoning_budget_tokens',
] as const satisfies readonly ClientName[]

/** The largest budget for thinking; zero if the body sets none. Values that are no whole number count as none. */
function readThinkingTokens(root: JsonObject): number {
  let tokens = readBudget(root, ['thinking', 'budget_tokens'])
  for (const name of THINKING_BUDGETS) {
    const budget = field(root, name)
    if (Number.isInteger(budget)) tokens = Math.max(tokens, Number(budget))
  }
  return Math.min(tokens, Number.MAX_SAFE_INTEGER)
}

function readBudget(root: JsonObject, [owner, name]: readonly [ClientName, ClientName]): number {
  const budget = field(readObject(root, owner) ?? {}, name)
  return budget === undefined ? 0 : wholeNumber(budget, `${owner}.${name}`)
}

/** The answer that the client predicts, whose unused part is billed as output; null: it predicts none. */
function readPrediction(body: JsonBody): Uint8Array | null {
  if (field(body.root, 'prediction') === undefined) return null
  return valueSource(body, ['prediction']) ?? body.bytes
}

// Items of `input` that have the provider summarize the items before them.
const COMPACTION_ITEMS = new Set<JsonValue | undefined>([
  'compaction_trigger',
  'context_compaction',
])

/**
 * Whether the provider may summarize the conversation first. Messages has `compact_*` edits in
 * `context_management` (`clear_*` only drops content); responses has entries there, a field and items.
 */
function asksForCompaction(root: JsonObject): boolean {
  if (field(root, 'compaction') !== undefined) return true
  const input = field(root, 'input')
  if (Array.isArray(input) && input.some((item) => isJsonObject(item) && isTrigger(item)))
    return true
  const management = field(root, 'context_management')
  if (management === undefined) return false
  let compacts = false
  walkJson({ management }, (node) => {
    const { type } = node
    if (typeof type === 'string' && type.startsWith('compact')) compacts = true
  })
  return compacts
}

function isTrigger({ type }: JsonObject): boolean {
  return COMPACTION_ITEMS.has(type)
}

/**
 * The number of completions of chat and legacy completions: for each prompt all of `best_of`, of which `n` are
 * returned. Throws `invalid_parameter`.
 */
export function readCompletions(root: JsonObject, prompts: number): number {
  const each = Math.max(readCount(root, 'n') ?? 1, readCount(root, 'best_of') ?? 1)
  return Math.min(prompts * each, Number.MAX_SAFE_INTEGER)
}

/** The model name as sent. Throws `missing_model`, or `invalid_parameter` unless it is a string. */
function readModelName(body: JsonObject): string {
  const model = field(body, 'model')
  if (model === undefined || model === '') throw new Problem('missing_model', { param: 'model' })
  if (typeof model !== 'string') throw wrongType('model', 'a string')
  return model
}
