import type { EndedRequest } from '../http/inference.ts'
import type { Resolution } from '../vocabulary/outcome.ts'

/** Statuses by their first digit, as a label has them. */
export const STATUS_CLASSES = ['2xx', '4xx', '5xx'] as const

/** How the holds of requests ended; `none`: no hold was opened. */
export const CHARGE_STATES = ['none', 'final', 'provisional', 'released', 'unresolved'] as const

/** One of the statuses by their first digit. */
type StatusClass = (typeof STATUS_CLASSES)[number]
/** How the hold of a request ended. */
type ChargeState = (typeof CHARGE_STATES)[number]

/** What has been counted of one model at one endpoint. Whole numbers, so that nothing is lost in sums. */
interface Tally {
  readonly endpoint: string
  /** A catalog id; empty where a request was refused before its model was known. */
  readonly modelId: string
  /** Requests, by status class and charge state. */
  readonly requests: Readonly<Record<StatusClass, Record<ChargeState, number>>>
  readonly tokens: Record<TokenKind, number>
  chargedMicros: number
}

type TallyOf = Pick<Tally, 'endpoint' | 'modelId'>

/** The kinds that tokens are billed by: each token is of one. */
export const TOKEN_KINDS = ['input', 'cache_read', 'cache_write', 'output'] as const
/** A kind that tokens are billed by. */
type TokenKind = (typeof TOKEN_KINDS)[number]

/**
 * What ended requests come to, by endpoint and model. Counting one is a look-up in two maps and a few
 * additions; whoever reads the metrics pays for their names.
 *
 * As many tallies as the catalog has models, at each endpoint: a name that is not in the catalog has no
 * tally, and a model that has left it loses its own.
 */
export class RequestTallies {
  readonly #tallies = new Map<string, Map<string, Tally>>()

  /** Counts a request that has ended. */
  count({ format, record, httpStatus }: EndedRequest): void {
    const tally = this.#tallyOf({ endpoint: format.endpoint, modelId: record.modelId ?? '' })
    tally.requests[statusClassOf(httpStatus)][stateOf(record.state)]++
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
      for (const modelId of byModel.keys()) {
        if (modelId !== '' && !modelIds.has(modelId)) byModel.delete(modelId)
      }
    }
  }

  /** All there is, in no order. */
  *all(): Iterable<Tally> {
    for (const byModel of this.#tallies.values()) yield* byModel.values()
  }

  #tallyOf(of: TallyOf): Tally {
    const { endpoint, modelId } = of
    let byModel = this.#tallies.get(endpoint)
    if (byModel === undefined) {
      byModel = new Map()
      this.#tallies.set(endpoint, byModel)
    }
    let tally = byModel.get(modelId)
    if (tally === undefined) {
      tally = emptyTally(of)
      byModel.set(modelId, tally)
    }
    return tally
  }
}

function emptyTally(of: TallyOf): Tally {
  return {
    ...of,
    requests: { '2xx': noRequests(), '4xx': noRequests(), '5xx': noRequests() },
    tokens: { input: 0, cache_read: 0, cache_write: 0, output: 0 },
    chargedMicros: 0,
  }
}

function noRequests(): Record<ChargeState, number> {
  return { none: 0, final: 0, provisional: 0, released: 0, unresolved: 0 }
}

function statusClassOf(httpStatus: number): StatusClass {
  if (httpStatus >= 500) return '5xx'
  return httpStatus >= 400 ? '4xx' : '2xx'
}

function stateOf(state: Resolution['kind'] | null): ChargeState {
  return state ?? 'none'
}
