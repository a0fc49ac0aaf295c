import { unsupported } from '../../formats/fields.ts'
import type { StreamEvent } from '../../formats/format.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import { parseEventData } from '../../json/body.ts'
import { type JsonObject, objectAt } from '../../json/walk.ts'
import { decimalOfPicos } from '../../vocabulary/money.ts'
import type { Reported } from '../../vocabulary/outcome.ts'
import { wordsOf } from '../../vocabulary/words-of.ts'
import { type CountedStreams, counted, ofAccount, REPORTS_NO_COST } from '../counted.ts'
import {
  refuseCapAbove,
  refuseTiers,
  refuseUnlistedFields,
  refuseUnlistedOutputs,
} from '../counted-calls.ts'
import { loadKnownPrices, undated } from '../listing/known-prices.ts'
import { type ModelFacts, vendorCatalog } from '../listing/vendor-list.ts'
import { messagesAtTiers, searchCapEdits } from '../openrouter/messages.ts'
import { readServedTier } from '../openrouter/reported.ts'
import { modelEdit } from '../openrouter/rewrites.ts'
import type { Dialect } from '../upstream.ts'
import type { RefusalInput, StreamEventReading, StreamObserver, Wire } from '../wire.ts'
import { MESSAGE_FIELDS, SEARCHING_MESSAGE_FIELDS } from './fields.ts'

/**
 * The first event counts the prompt and one token of output; the `message_delta` with the reason of the end counts all of
 * it. With tools of the vendor, earlier ones count the output until then
 * (github.com/PostHog/posthog-python/releases/tag/posthog-v7.75.4, read 2026-11-29).
 */
export const MESSAGES_STREAMS: CountedStreams = {
  wholeCounts: /^(?=.*"type"\s*:\s*"message_delta").*"stop_reason"\s*:\s*"/s,
  emptyChoice: null,
  isEstimated: false,
}

/** The only version of the API. */
const VERSION = ['anthropic-version', '2023-06-01'] as const

// platform.claude.com/docs/en/api/service-tiers, November 2026: `service_tier` says whether an answer used capacity that
// our organization has bought ahead, which has no price of its own. Only the speed has one.
const layout = messagesAtTiers(({ speed = null, inference_geo: geo = null }) => ({
  ...readServedTier({ speed }),
  ...(geo === null || ANYWHERE.has(geo) ? {} : { isRegional: true }),
}))
// The second is that of models that can't be bound to a region.
const ANYWHERE = new Set<unknown>(['global', 'not_available'])

const messages: Wire = {
  ...withFreeRefusals(counted(layout, MESSAGES_STREAMS)),
  usualHeaders: Object.fromEntries([VERSION]),
  fields: SEARCHING_MESSAGE_FIELDS,
  refuse(input) {
    const hasSearch = input.offer.prices.search > 0n
    refuseTiers(input)
    refuseUnlistedOutputs(input)
    refuseUnlistedFields(input, hasSearch ? SEARCHING_MESSAGE_FIELDS : MESSAGE_FIELDS)
    refuseUnpricedSearch(input)
    refuseCapAbove(input)
  },
  rewrites: ({ call, body, offer, publicNames }) => [
    ...modelEdit(call, offer),
    ...searchCapEdits(body.root, publicNames),
  ],
  readError(root, httpStatus): ProviderError {
    const error = layout.readError(root, httpStatus)
    const refused = UNUSABLE_ACCOUNT.test(error.message) ? 402 : ACCOUNT_CODES.get(codeOf(root))
    return refused === undefined ? ofAccount(error) : { ...error, httpStatus: refused }
  },
}

// Anthropic answers a call of an account that has no credit, was disabled or has reached its own limit with 400 and a
// message that begins so. Elsewhere in a message, the words may be the client's.
const UNUSABLE_ACCOUNT =
  /^(?:Your credit balance is too low to access the \w+ API\.|This organization has been disabled\.|You have reached your specified (?:workspace )?API usage limits\b)/i

/**
 * Codes about our own account, whose statuses are those of errors in a request, with the statuses of an account without
 * credit or access. From the types of `@anthropic-ai/sdk` 1.14 and platform.claude.com/docs/en/api/errors, 2026-11-28.
 */
const ACCOUNT_CODES = new Map<unknown, number>([
  ['enforced_spend_limit_reached', 402],
  ['contract_spend_limit_reached', 402],
  ['organization_on_hold', 401],
  ['cmek_key_disabled', 401],
  ['cmek_key_network_blocked', 401],
  ['claude_code_key_creator_not_member', 401],
])

function codeOf(root: JsonObject | null): unknown {
  return root === null ? null : objectAt(objectAt(root, 'error'), 'details')['error_code']
}

/** Anthropic's own API. */
export const anthropic: Dialect = {
  baseUrl: 'https://api.anthropic.com/v1',
  ...REPORTS_NO_COST,
  billsLeftCalls: true,
  hasCatalogIds: false,
  headers: (apiKey) => (apiKey === null ? [] : ['x-api-key', apiKey]),
  wires: new Map(Object.entries({ messages })),
  usualFormats: null,
  async fetchModels(upstream, settings) {
    return vendorCatalog(upstream, settings, {
      path: '/models?limit=1000',
      headers: VERSION,
      authoredIdOf: anthropicId,
      // platform.claude.com/docs/en/build-with-claude/prompt-caching: `input_tokens` are the tokens after the last
      // mark.
      cachesOnlyMarked: true,
      hasRegionalPrices: (upstreamModelId) => !ONLY_GLOBAL.test(upstreamModelId),
      knownModel: await loadKnownPrices('anthropic', Date.now()),
      factsOf: anthropicFacts,
    })
  },
}

/** Throws for a search by a model that lists no price for searches. */
function refuseUnpricedSearch({ call, offer }: RefusalInput): void {
  if (!call.tools.serverTools || offer.prices.search > 0n) return
  throw unsupported(
    'tools',
    'This model has no price for searches. Leave the search tool out of `tools`.',
  )
}

// platform.claude.com/docs/en/manage-claude/data-residency and /about-claude/pricing, read 2026-11-28: an answer that was
// computed in the US costs 1.1 times the token prices of Claude Opus 4.6, Sonnet 4.6 and later models. A workspace can have
// this as its default. Earlier models can't be bound to a region.
const ONLY_GLOBAL = /^claude-(?:[123]|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest)?$)/

// From platform.claude.com/docs/en/models/overview and its page of each model, read on 2026-11-22. If Anthropic's own
// list has the window and the longest answer of a model, those are used instead.

const claude = (outputTokensMax: number): ModelFacts => ({
  outputTokensMax,
  inputModalities: ['text', 'image', 'file'],
  supportedParameters: wordsOf(`
    max_tokens temperature top_p top_k stop tools tool_choice reasoning
  `),
})

const MODELS: Readonly<Record<string, ModelFacts>> = {
  'claude-fable-5-2': claude(128_000),
  'claude-fable-5-1': claude(128_000),
  'claude-fable-5': claude(128_000),
  'claude-opus-5-5': claude(128_000),
  'claude-opus-5': claude(128_000),
  'claude-sonnet-5-5': claude(128_000),
  'claude-sonnet-5': claude(128_000),
  'claude-haiku-5-5': claude(128_000),
  'claude-opus-4-8': claude(128_000),
  'claude-opus-4-7': claude(128_000),
  'claude-opus-4-6': claude(128_000),
  'claude-sonnet-4-6': claude(128_000),
  'claude-opus-4-5': claude(64_000),
  'claude-sonnet-4-5': claude(64_000),
  'claude-haiku-4-5': claude(64_000),
  'claude-opus-4-1': claude(32_000),
  'claude-opus-4-0': claude(32_000),
  'claude-opus-4': claude(32_000),
  'claude-sonnet-4-0': claude(64_000),
  'claude-sonnet-4': claude(64_000),
  'claude-3-7-sonnet': claude(64_000),
  'claude-3-5-haiku': claude(8_192),
  'claude-3-haiku': claude(4_096),
}

/** The facts that Anthropic documents about a model; null: not known. */
export function anthropicFacts(upstreamModelId: string): ModelFacts | null {
  return MODELS[upstreamModelId] ?? MODELS[undated(upstreamModelId)] ?? null
}

/** A model by its author and name; null: not one of Anthropic's models, but of another vendor with Anthropic's API. */
export function anthropicId(upstreamModelId: string): string | null {
  return upstreamModelId.startsWith('claude-') ? `anthropic/${upstreamModelId}` : null
}

// platform.claude.com/docs/en/release-notes/overview of 2026-06-02 and 2026-09-24, read 2026-11-27: a request that is refused before any output is not billed, unless the refusal is of one of these
// categories. Its answer counts the prompt all the same.
const BILLED_CATEGORIES = new Set<unknown>(['bio', 'frontier_llm', 'reasoning_extraction'])

/** A wire whose answers cost nothing if Anthropic does not bill them. */
function withFreeRefusals(wire: Wire): Wire {
  return {
    ...wire,
    readAnswer(answer) {
      const reading = wire.readAnswer(answer)
      if (!isFreeRefusal(answer.root)) return reading
      return { ...reading, reported: freeUnlessWritten(reading.reported) }
    },
    observeStream: (call) => new RefusalObserver(wire.observeStream(call)),
  }
}

/** Whether a message, or the change of it that ends a stream, is a refusal of a category that is not billed. */
function isFreeRefusal(message: JsonObject): boolean {
  const isRefusal = message['stop_reason'] === 'refusal'
  return isRefusal && !BILLED_CATEGORIES.has(objectAt(message, 'stop_details')['category'])
}

/** A report whose cost is zero, unless output was counted, even if none of it is shown. Counts never leave out text. */
function freeUnlessWritten(reported: Reported): Reported {
  const { usage, countsAreCost } = reported
  if (countsAreCost !== true || usage === null) return reported
  if (usage.outputTokens > 0 || usage.searches > 0) return reported
  return { ...reported, costUsd: decimalOfPicos(0n) }
}

const REFUSAL = /"stop_reason"\s*:\s*"refusal"/

class RefusalObserver implements StreamObserver {
  readonly #inner: StreamObserver
  #isFreeRefusal = false

  constructor(inner: StreamObserver) {
    this.#inner = inner
  }

  onEvent(event: StreamEvent): StreamEventReading {
    const reading = this.#inner.onEvent(event)
    // The words can be in the text of an answer too.
    if (REFUSAL.test(event.data)) {
      const root = parseEventData(event.data)
      if (root !== null && isFreeRefusal(objectAt(root, 'delta'))) this.#isFreeRefusal = true
    }
    return reading
  }

  takeAlike(chunk: Buffer, start: number): number {
    return this.#inner.takeAlike(chunk, start)
  }

  reported(): Reported {
    const reported = this.#inner.reported()
    return this.#isFreeRefusal ? freeUnlessWritten(reported) : reported
  }

  relayedTokens(): number {
    return this.#inner.relayedTokens()
  }

  textTokens(): number {
    return this.#inner.textTokens()
  }
}
