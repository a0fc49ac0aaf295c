import type { Call } from '../../vocabulary/call.ts'
import {
  type JsonBody,
  type JsonEdit,
  type JsonObject,
  parseAnswer,
} from '../../vocabulary/json-body.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import { estimateTextTokens, estimateTextTokensOfLatin1 } from '../../vocabulary/text-tokens.ts'
import type { Reported } from '../../vocabulary/usage.ts'
import type { Words } from '../../vocabulary/words.ts'
import { openAiError } from '../envelope.ts'
import { field, readBoolean, readCount, readModelName, readObject, readObjects } from '../fields.ts'
import type {
  AnswerReading,
  ErrorEventInput,
  RewriteInput,
  StreamEvent,
  StreamEventReading,
  StreamObserver,
  WireFormat,
} from '../format.ts'
import { surveyBody } from '../media.ts'
import { readProviderError } from '../provider-error.ts'
import {
  asksForPriority,
  asksForSearch,
  isOpenAiSearchType,
  readOutputKinds,
  readPlugins,
  readTools,
  refuseRouting,
  refuseUnfitModel,
  toolUse,
  unsupported,
} from '../refusals.ts'
import { fileEngineEdits, modelEdit, userEdit } from '../rewrites.ts'
import { streamTextFinder } from '../stream-text.ts'
import { readChatUsage, readCost } from '../usage.ts'

const MIB = 1024 * 1024

/** Chat completions: `POST /v1/chat/completions`. */
export const chat: WireFormat = {
  endpoint: 'chat',
  path: '/v1/chat/completions',
  upstreamPath: '/chat/completions',
  family: 'openai',
  bodyBytesMax: 32 * MIB,
  hasGenerationId: true,
  forwardedHeaders: () => [],
  returnsHeader: () => false,
  readCall,
  checkOffer,
  rewrites,
  readAnswer,
  observeStream: () => new ChatObserver(),
  errorEvent,
}

function readCall(body: JsonBody, words: Words): Call {
  const { root } = body
  const modelName = readModelName(root)
  refuseRouting(root)
  const { fileParser } = readPlugins(root, words)
  const tools = readTools(readObjects(root, 'tools'), {
    rules: { untypedIsClientTool: false, isSearchType: isOpenAiSearchType },
    param: 'tools',
  })
  const functions = readObjects(root, 'functions').length
  const searches = asksForSearch(root) || tools.searchTools.length > 0
  const streamOptions = readObject(root, 'stream_options')
  if (streamOptions !== undefined) readBoolean(streamOptions, 'include_usage')
  const { media, cacheWrites } = surveyBody(root)
  return {
    endpoint: 'chat',
    modelName,
    stream: readBoolean(root, 'stream'),
    outputCapTokens: largerCap(root),
    completions: readCount(root, 'n') ?? 1,
    media,
    tools: toolUse(root, { clientTools: tools.clientTools + functions, serverTools: searches }),
    cacheWrites,
    outputKinds: readOutputKinds(root),
    priorityTier: asksForPriority(root),
    fileParser,
    textTokens: estimateTextTokens(body.bytes),
  }
}

function largerCap(root: JsonObject): number | null {
  const caps = [readCount(root, 'max_tokens'), readCount(root, 'max_completion_tokens')]
  const set = caps.filter((cap) => cap !== null)
  return set.length === 0 ? null : Math.max(...set)
}

// Chat adds the free parser for a model that reads no files itself; but a parser told to hand files to
// such a model would fall to a paid one upstream.
function checkOffer(call: Call, { offer, words }: { offer: Offer; words: Words }): void {
  refuseUnfitModel(call, offer)
  if (call.fileParser !== 'native' || offer.inputModalities.has('file')) return
  throw unsupported(
    'plugins',
    `This model does not read files natively. Set the file-parser's \`pdf.engine\` to \`${words.fileEngine}\`, or leave the plugin out and it is added where it is needed.`,
  )
}

function rewrites(input: RewriteInput): readonly JsonEdit[] {
  const { call, body, offer, outputCapTokens, words } = input
  const edits: JsonEdit[] = [
    ...modelEdit(call, offer),
    userEdit(input.accountTag),
    ...fileEngineEdits(body.root, words),
  ]
  if (outputCapTokens !== null) {
    edits.push({ kind: 'set', path: [capField(offer)], json: String(outputCapTokens) })
  }
  if (call.media.files > 0 && call.fileParser === 'none' && !offer.inputModalities.has('file')) {
    edits.push(addFileParser(body.root, words))
  }
  return edits
}

function capField(offer: Offer): 'max_tokens' | 'max_completion_tokens' {
  return offer.supportedParameters.has('max_tokens') ? 'max_tokens' : 'max_completion_tokens'
}

function addFileParser(root: JsonObject, words: Words): JsonEdit {
  const plugin = JSON.stringify({ id: 'file-parser', pdf: { engine: words.upstreamFileEngine } })
  if (field(root, 'plugins') === undefined) {
    return { kind: 'set', path: ['plugins'], json: `[${plugin}]` }
  }
  return { kind: 'append', path: ['plugins'], json: plugin }
}

function readAnswer(answer: JsonBody): AnswerReading {
  const { root } = answer
  const reported = reportedBy(answer)
  if (isErrorAnswer(root)) {
    return { kind: 'error', error: readProviderError(errorHolder(root), null), reported }
  }
  return { kind: 'success', reported }
}

function reportedBy(answer: JsonBody): Reported {
  const { id } = answer.root
  return {
    usage: readChatUsage(answer.root['usage']),
    costUsd: readCost(answer, ['usage']),
    generationId: typeof id === 'string' && id !== '' && id.length <= 200 ? id : null,
  }
}

// An error comes at the top level, or inside the one choice, with a status of 200 either way.
function isErrorAnswer(root: JsonObject): boolean {
  return errorHolder(root) !== null || firstChoice(root)?.['finish_reason'] === 'error'
}

function errorHolder(root: JsonObject): JsonObject | null {
  if (field(root, 'error') !== undefined) return root
  const choice = firstChoice(root)
  return choice !== null && field(choice, 'error') !== undefined ? choice : null
}

function firstChoice(root: JsonObject): JsonObject | null {
  const choices = root['choices']
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  return isObject(first) ? first : null
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const textOf = streamTextFinder(['content', 'reasoning', 'arguments', 'refusal'])
const HAS_USAGE = /"usage"\s*:\s*\{/

/** Reads usage, cost, generation id and errors from chat's chunks. */
class ChatObserver implements StreamObserver {
  #reported: Reported = { usage: null, costUsd: null, generationId: null }
  #relayedTokens = 0

  onEvent({ data }: StreamEvent): StreamEventReading {
    if (data === '[DONE]') return { kind: 'terminal' }
    const mayReport = this.#reported.generationId === null || HAS_USAGE.test(data)
    const mayFail = data.includes('"error"')
    if (mayReport || mayFail) {
      const chunk = parseAnswer(Buffer.from(data, 'latin1'))
      if (chunk !== null) {
        this.#learn(reportedBy(chunk))
        if (mayFail && isErrorAnswer(chunk.root)) {
          return { kind: 'error', error: readProviderError(errorHolder(chunk.root), null) }
        }
      }
    }
    this.#relayedTokens += estimateTextTokensOfLatin1(textOf(data))
    return { kind: 'relay' }
  }

  reported(): Reported {
    return this.#reported
  }

  relayedTokens(): number {
    return this.#relayedTokens
  }

  #learn(seen: Reported): void {
    this.#reported = {
      usage: seen.usage ?? this.#reported.usage,
      costUsd: seen.costUsd ?? this.#reported.costUsd,
      generationId: this.#reported.generationId ?? seen.generationId,
    }
  }
}

// The chunk's own id, model and time are kept, so that a client's accumulator takes it for one of the
// stream; everything else is ours.
function errorEvent({ problem, event }: ErrorEventInput): string {
  const chunk = parseAnswer(Buffer.from(event.data, 'latin1'))?.root ?? {}
  const kept: Record<string, string | number> = {}
  for (const name of ['id', 'object', 'created', 'model']) {
    const value = chunk[name]
    if (typeof value === 'string' || typeof value === 'number') kept[name] = value
  }
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error' }]
  return `data: ${JSON.stringify({ ...kept, ...openAiError(problem), choices })}\n\n`
}
