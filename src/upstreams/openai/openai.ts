import { field, unsupported } from '../../formats/fields.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import { formatDecimal, parseDecimal } from '../../vocabulary/money.ts'
import { type CountedStreams, counted, ofAccount, REPORTS_NO_COST } from '../counted.ts'
import {
  capEditIn,
  heldCapEdits,
  onlyCounted,
  unstoredEdits,
  usageEdits,
} from '../counted-calls.ts'
import { type KnownModel, loadKnownPrices } from '../listing/known-prices.ts'
import { decimalText } from '../listing/pricing.ts'
import { vendorCatalog } from '../listing/vendor-list.ts'
import * as layout from '../openrouter/chat.ts'
import { responses as responsesLayout } from '../openrouter/responses.ts'
import { modelEdit, userEdit } from '../openrouter/rewrites.ts'
import type { Dialect } from '../upstream.ts'
import type { RewriteInput, Wire } from '../wire.ts'
import { CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS } from './fields.ts'
import { OPENAI_ADDITIONS, openaiFacts, openaiId } from './models.ts'
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

type Refusal = Parameters<NonNullable<Wire['refuse']>>[0]

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
function refuseOldCap({ body, offer }: Refusal): void {
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

const TOKEN_PRICES = new Set(['prompt', 'completion', 'input_cache_read', 'input_cache_write'])

function withUplift(pricing: KnownModel['pricing']): KnownModel['pricing'] {
  const prices = Object.entries(pricing).map(([name, price]) => [
    name,
    TOKEN_PRICES.has(name) ? uplifted(price) : price,
  ])
  const { overrides } = pricing
  if (!Array.isArray(overrides)) return Object.fromEntries(prices)
  return { ...Object.fromEntries(prices), overrides: overrides.map(withUplift) }
}

function uplifted(price: unknown): unknown {
  const text = decimalText(price)
  const decimal = text === null ? null : parseDecimal(text)
  if (decimal === null) return price
  return formatDecimal({ digits: decimal.digits * 11n, exponent: decimal.exponent - 1 })
}
