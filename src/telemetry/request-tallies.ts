import type { EndedRequest } from '../http/inference.ts'

/** HTTP statuses by their first digit: the values of a label. */
export const STATUS_CLASSES = ['2xx', '4xx', '5xx'] as const

/** How the holds of requests ended; `none`: no hold was opened; `open`: its end was not durable in time. */
export const CHARGE_STATES = [
  ...(['none', 'open', 'final', 'provisional', 'released', 'unresolved'] as const),
] as const

type StatusClass = (typeof STATUS_CLASSES)[number]
type ChargeState = (typeof CHARGE_STATES)[number]

/** The counts of one model of one upstream at one endpoint. Whole numbers, so that sums are exact. */
interface Tally {
  readonly endpoint: string
  /** A catalog id; empty for requests that were refused before their model was known. */
  readonly modelId: string
  /** The upstream that has the model; empty for such requests. */
  readonly upstream: string
  /** Requests, by status class and charge state. */
  readonly requests: Readonly<Record<StatusClass, Record<ChargeState, number>>>
  readonly tokens: Record<TokenKind, number>
  chargedMicros: number
}

/** The kinds that tokens are billed by: each token has one. */
export const TOKEN_KINDS = ['input', 'cache_read', 'cache_write', 'output'] as const
type TokenKind = (typeof TOKEN_KINDS)[number]

/**
 * Counts of ended requests by endpoint, model and upstream. Counting a request is a look-up in two maps and a few
 * additions; names and labels are made when the metrics are read.
 *
 * There are at most as many tallies as the catalog has models, for each endpoint: a name that is not in the
 * catalog has no tally, and a model that leaves the catalog loses its tally.
 */
export class RequestTallies {
  readonly #tallies = new Map<string, Map<string, Tally>>()

  /** Counts a request that has ended. */
  count({ format, record, httpStatus }: EndedRequest): void {
    const tally = this.#tallyOf(format.endpoint, record)
    tally.requests[statusClassOf(httpStatus)][record.state ?? 'none']++
    tally.chargedMicros += record.chargeMicros ?? 0
    const { usage } = record
    if (usage === null) return
    tally.tokens.input += usage.inputTokens
    tally.tokens.cache_read += usage.cacheReadTokens
    tally.tokens.cache_write += usage.cacheWriteTokens + usage.cacheWriteLongTokens
    tally.tokens.output += usage.outputTokens
  }

  /** Forgets all models but these. */
  keepOnly(modelIds: ReadonlySet<string>): void {
    for (const byModel of this.#tallies.values()) {
      for (const [modelAt, { modelId }] of byModel) {
        if (modelId !== '' && !modelIds.has(modelId)) byModel.delete(modelAt)
      }
    }
  }

  /** All tallies, in no particular order. */
  *all(): Iterable<Tally> {
    for (const byModel of this.#tallies.values()) yield* byModel.values()
  }

  // By position: the endpoint, then the model and its upstream.
  #tallyOf(
    endpoint: string,
    { modelId, upstream }: Pick<EndedRequest['record'], 'modelId' | 'upstream'>,
  ): Tally {
    let byModel = this.#tallies.get(endpoint)
    if (byModel === undefined) {
      byModel = new Map()
      this.#tallies.set(endpoint, byModel)
    }
    const modelAt = `${modelId} ${upstream}`
    let tally = byModel.get(modelAt)
    if (tally === undefined) {
      tally = emptyTally({ endpoint, modelId: modelId ?? '', upstream: upstream ?? '' })
      byModel.set(modelAt, tally)
    }
    return tally
  }
}

function emptyTally(of: Pick<Tally, 'endpoint' | 'modelId' | 'upstream'>): Tally {
  return {
    ...of,
    requests: { '2xx': noRequests(), '4xx': noRequests(), '5xx': noRequests() },
    tokens: { input: 0, cache_read: 0, cache_write: 0, output: 0 },
    chargedMicros: 0,
  }
}

function noRequests(): Record<ChargeState, number> {
  return { none: 0, open: 0, final: 0, provisional: 0, released: 0, unresolved: 0 }
}

function statusClassOf(httpStatus: number): StatusClass {
  if (httpStatus >= 500) return '5xx'
  return httpStatus >= 400 ? '4xx' : '2xx'
}
