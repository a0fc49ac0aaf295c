import { field, unsupported } from '../../formats/fields.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import type { PromptAdditions } from '../../vocabulary/offer.ts'
import { wordsOf } from '../../vocabulary/words-of.ts'
import { type CountedStreams, counted, ofAccount, REPORTS_NO_COST } from '../counted.ts'
import {
  capEditIn,
  heldCapEdits,
  onlyCounted,
  unstoredEdits,
  usageEdits,
} from '../counted-calls.ts'
import { type KnownModel, loadKnownPrices, undated } from '../listing/known-prices.ts'
import { grown } from '../listing/pricing.ts'
import { type ModelFacts, vendorCatalog } from '../listing/vendor-list.ts'
import * as layout from '../openrouter/chat.ts'
import { responses as responsesLayout } from '../openrouter/responses.ts'
import { modelEdit, userEdit } from '../openrouter/rewrites.ts'
import type { Dialect } from '../upstream.ts'
import type { RefusalInput, RewriteInput, Wire } from '../wire.ts'
import { CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS } from './fields.ts'
import { RESPONSE_FIELDS } from './response-fields.ts'

/**
 * The streams of chat completions: the last chunk has the counts, and no choices. Other servers have them in the chunk
 * with the reason of the end, and some send no `[DONE]` after it.
 */
export const CHAT_STREAMS: CountedStreams = {
  wholeCounts: /"choices"\s*:\s*\[\s*\]|"finish_reason"\s*:\s*"(?!error")[^"]/,
  emptyChoice: '{"index":0,"delta":{},"finish_reason":null}',
  isEstimated: false,
}

/** The streams of legacy completions. */
export const COMPLETIONS_STREAMS: CountedStreams = {
  ...CHAT_STREAMS,
  emptyChoice: '{"index":0,"text":"","finish_reason":null,"logprobs":null}',
}

/** The streams of responses: only a terminal event has counts, which may come after an event with an error. */
export const RESPONSES_STREAMS: CountedStreams = {
  wholeCounts: /"type"\s*:\s*"response\.(?:completed|incomplete|cancelled|failed|done)"/,
  emptyChoice: null,
  isEstimated: false,
}

/** Embeddings, which have no streams. */
export const EMBEDDINGS_STREAMS: CountedStreams = { ...RESPONSES_STREAMS, hasOutput: false }

const chat: Wire = {
  ...counted(refusingAccount(layout.chat), CHAT_STREAMS),
  ...onlyCounted(CHAT_FIELDS, refuseOldCap),
  rewrites: (input) => [
    ...modelEdit(input.call, input.offer),
    userEdit(input.accountTag),
    ...usageEdits(input.call, input.body.root),
    ...capEditIn('max_completion_tokens', input),
    ...unstoredEdits(input.body.root),
    ...tierEdits(input.body.root),
  ],
}

const completions: Wire = {
  ...counted(refusingAccount(layout.completions), COMPLETIONS_STREAMS),
  ...onlyCounted(COMPLETION_FIELDS),
  rewrites: (input) => [
    ...modelEdit(input.call, input.offer),
    userEdit(input.accountTag),
    ...usageEdits(input.call, input.body.root),
    ...capEditIn('max_tokens', input),
  ],
}

const embeddings: Wire = {
  ...counted(refusingAccount(layout.embeddings), EMBEDDINGS_STREAMS),
  ...onlyCounted(EMBEDDING_FIELDS),
  rewrites: ({ call, offer, accountTag }) => [...modelEdit(call, offer), userEdit(accountTag)],
}

const responses: Wire = {
  ...counted(refusingAccount(responsesLayout), RESPONSES_STREAMS),
  ...onlyCounted(RESPONSE_FIELDS),
  rewrites: ({ call, body, offer }: RewriteInput) => [
    ...modelEdit(call, offer),
    ...unstoredEdits(body.root),
    ...tierEdits(body.root),
    ...(isAboveListedMax(offer) ? heldCapEdits({ call, offer }) : []),
  ],
}

/** Whether OpenAI is known to write more than the listed maximum, which the settings have set lower. */
function isAboveListedMax({ upstreamModelId, outputTokensMax }: RewriteInput['offer']): boolean {
  const ownMaxTokens = openaiFacts(upstreamModelId)?.outputTokensMax ?? 0
  return outputTokensMax !== null && ownMaxTokens > outputTokensMax
}

/** OpenAI's own API. */
export const openai: Dialect = {
  baseUrl: 'https://api.openai.com/v1',
  ...REPORTS_NO_COST,
  billsLeftCalls: true,
  hasCatalogIds: false,
  headers: (apiKey) => (apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
  wires: new Map(Object.entries({ chat, completions, embeddings, responses })),
  usualFormats: null,
  formatsOf: (upstreamModelId) => openaiFacts(upstreamModelId)?.formats ?? null,
  async fetchModels(upstream, settings) {
    return vendorCatalog(upstream, settings, {
      authoredIdOf: openaiId,
      promptAdditions: OPENAI_ADDITIONS,
      knownModel: pricesAtHost(
        upstream.settings.baseUrl,
        await loadKnownPrices('openai', Date.now()),
      ),
      factsOf: openaiFacts,
    })
  },
}

/**
 * A wire whose errors show when OpenAI refuses our own account: 429 for credit or a spend limit, and 403 for a region, an
 * organization or a project. Clients do not see these errors.
 */
function refusingAccount(wire: Wire): Wire {
  return {
    ...wire,
    readError(root, httpStatus): ProviderError {
      const error = wire.readError(root, httpStatus)
      const isEmpty = error.kinds.some((kind) => EMPTY_ACCOUNT.has(kind))
      return isEmpty ? { ...error, httpStatus: 402 } : ofAccount(error)
    },
  }
}

// Without this, the default of our project at OpenAI decides, which may be a tier at another price.
function tierEdits(root: RewriteInput['body']['root']): ReturnType<Wire['rewrites']> {
  const tier = field(root, 'service_tier')
  if (tier !== undefined && tier !== 'auto') return []
  return [{ kind: 'set', path: ['service_tier'], json: '"default"' }]
}

// help.openai.com/en/articles/6614457, read on 2026-11-28: the last four have the type `insufficient_quota` only at times.
const EMPTY_ACCOUNT = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_usage_limit_exceeded',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
])

/**
 * Throws for `max_tokens` sent to a model that reasons: for these models OpenAI accepts only the other name of the cap.
 */
function refuseOldCap({ body, offer }: RefusalInput): void {
  if (field(body.root, 'max_tokens') === undefined) return
  const takes = openaiFacts(offer.upstreamModelId)?.supportedParameters
  if (takes === undefined || takes.includes('max_tokens')) return
  if (!takes.includes('max_completion_tokens')) return
  throw unsupported(
    'max_tokens',
    'This model takes `max_completion_tokens` in place of `max_tokens`.',
  )
}

// developers.openai.com/api/docs/guides/data-residency, read 2026-11-27: an address of a region costs 10% more for models
// that were released on 2026-03-05 or later, which are GPT-5.4 and its successors.
const REGIONAL_HOST = /^[a-z]{2}\.api\.openai\.com$/
const WITH_UPLIFT = /^gpt-(?:5\.[4-9]|[6-9]|\d{2})/

/** The known prices at an address of OpenAI. By position: the address, and the prices at the usual one. */
function pricesAtHost(
  baseUrl: string,
  knownModel: (upstreamModelId: string) => KnownModel | null,
): (upstreamModelId: string) => KnownModel | null {
  if (!REGIONAL_HOST.test(new URL(baseUrl).hostname)) return knownModel
  return (upstreamModelId) => {
    const known = knownModel(upstreamModelId)
    if (known === null || !WITH_UPLIFT.test(upstreamModelId)) return known
    return { ...known, pricing: withUplift(known.pricing) }
  }
}

const UPLIFT_BASIS_POINTS = 1_000
const TOKEN_PRICES = new Set(['prompt', 'completion', 'input_cache_read', 'input_cache_write'])

function withUplift(pricing: KnownModel['pricing']): KnownModel['pricing'] {
  const prices = Object.entries(pricing).map(([name, price]) => [
    name,
    TOKEN_PRICES.has(name) ? grown(String(price), UPLIFT_BASIS_POINTS) : price,
  ])
  const { overrides } = pricing
  if (!Array.isArray(overrides)) return Object.fromEntries(prices)
  return { ...Object.fromEntries(prices), overrides: overrides.map(withUplift) }
}

// From developers.openai.com/api/docs/models and its page of each model, read on 2026-11-22. The list of OpenAI's API has
// only ids. Models that were shut down by then (developers.openai.com/api/docs/deprecations: on 2026-10-23 gpt-3.5-turbo,
// gpt-4, gpt-4-turbo, gpt-4o-2024-05-13, gpt-4.1-nano, o1, o1-pro, o3-mini and o4-mini) have no row.

const CHAT = ['chat', 'responses']
const RESPONSES = ['responses']

const WRITING = wordsOf(`
  max_tokens max_completion_tokens temperature top_p stop seed logprobs tools tool_choice
  response_format structured_outputs
`)
const REASONING = wordsOf(`
  max_completion_tokens reasoning reasoning_effort seed tools tool_choice response_format
  structured_outputs
`)

const SEEING = { inputModalities: ['text', 'image', 'file'] }

const writing = (outputTokensMax: number): ModelFacts => ({
  outputTokensMax,
  ...SEEING,
  supportedParameters: WRITING,
  formats: CHAT,
})
const reasoning = (outputTokensMax: number, formats: readonly string[] = CHAT): ModelFacts => ({
  outputTokensMax,
  ...SEEING,
  supportedParameters: REASONING,
  formats,
})
const EMBEDDING: ModelFacts = {
  outputTokensMax: null,
  inputModalities: ['text'],
  outputModalities: ['embeddings'],
  supportedParameters: ['dimensions'],
  formats: ['embeddings'],
}

const MODELS: Readonly<Record<string, ModelFacts>> = {
  // The list of models was read again on 2026-11-28. These four have no prices in the package.
  'gpt-6.2-astra': reasoning(128_000),
  'gpt-6.2-sol': reasoning(128_000),
  'gpt-6.1-sol': reasoning(128_000),
  'gpt-6.1-terra': reasoning(128_000),
  'gpt-6-sol': reasoning(128_000),
  'gpt-6-luna': reasoning(128_000),
  'gpt-6-astra': reasoning(128_000),
  'gpt-5.6': reasoning(128_000),
  'gpt-5.6-sol': reasoning(128_000),
  'gpt-5.6-terra': reasoning(128_000),
  'gpt-5.6-luna': reasoning(128_000),
  'gpt-5.5': reasoning(128_000),
  'gpt-5.5-pro': reasoning(128_000, RESPONSES),
  'gpt-5.4': reasoning(128_000),
  'gpt-5.4-mini': reasoning(128_000),
  'gpt-5.4-nano': reasoning(128_000),
  'gpt-5.4-pro': reasoning(128_000, RESPONSES),
  'gpt-5.3-codex': reasoning(128_000, RESPONSES),
  'gpt-5.2': reasoning(128_000),
  'gpt-5.2-pro': reasoning(128_000, RESPONSES),
  'gpt-5.2-codex': reasoning(128_000, RESPONSES),
  'gpt-5.1': reasoning(128_000),
  'gpt-5.1-codex': reasoning(128_000, RESPONSES),
  'gpt-5.1-codex-max': reasoning(128_000, RESPONSES),
  'gpt-5.1-codex-mini': reasoning(128_000, RESPONSES),
  'gpt-5': reasoning(128_000),
  'gpt-5-mini': reasoning(128_000),
  'gpt-5-nano': reasoning(128_000),
  'gpt-5-pro': reasoning(272_000, RESPONSES),
  o3: reasoning(100_000),
  'o3-pro': reasoning(100_000, RESPONSES),
  'gpt-4.1': writing(32_768),
  'gpt-4.1-mini': writing(32_768),
  'gpt-4o': writing(16_384),
  'gpt-4o-mini': writing(16_384),
  'text-embedding-3-large': EMBEDDING,
  'text-embedding-3-small': EMBEDDING,
  'text-embedding-ada-002': { ...EMBEDDING, supportedParameters: [] },
}

/** The facts that OpenAI documents about a model; null: not known. */
export function openaiFacts(upstreamModelId: string): ModelFacts | null {
  return MODELS[upstreamModelId] ?? MODELS[undated(upstreamModelId)] ?? null
}

/**
 * The tokens that OpenAI adds to a prompt. Its cookbook (How to count tokens with tiktoken, read 2026-11-25) counts
 * three tokens a message and three for the answer, which the JSON of a message exceeds, and twelve around all tools.
 * These figures are about eight times as high.
 */
export const OPENAI_ADDITIONS: PromptAdditions = { templateTokens: 64, toolTokens: 96 }

const FINE_TUNED = /^ft:/

/** A model by its author and name; a fine-tuned model has the name of its base model. */
export function openaiId(upstreamModelId: string): string {
  return `openai/${upstreamModelId.replace(FINE_TUNED, '')}`
}
