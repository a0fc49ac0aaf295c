import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { WireFormat } from '../formats/format.ts'
import type { HoldLedger } from '../ledger/ledger.ts'
import type { UnlistedField } from '../upstreams/fields.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Arrival } from '../vocabulary/call.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import type { Resolution, TokenUsage } from '../vocabulary/outcome.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import type { RateLimit } from '../vocabulary/request-window.ts'
import type { ByteBudget, ByteReservation } from './gate/byte-budget.ts'
import type { Caller, ModelAccess } from './gate/caller.ts'
import type { Gate } from './gate/gate.ts'
import type { ThreadShare, Turn } from './gate/thread-share.ts'
import type { Settler } from './settle/settler.ts'
import type { TokenFactors } from './settle/usage-charge.ts'

/** The parts of the process that all journeys share, wired once. */
export interface JourneyParts {
  /** Every format that is served. */
  readonly formats: readonly WireFormat[]
  readonly authenticate: (arrival: Arrival) => Promise<Caller>
  readonly gate: Pick<Gate, 'enter'>
  /** Memory for bodies and buffered answers of all requests together. */
  readonly byteBudget: ByteBudget
  /** Whether the ledger has any credit of the account, held or not. */
  readonly hasPostedCredit: (accountId: string) => Promise<boolean>
  /** The share of the thread that large bodies may use. */
  readonly threadShare: ThreadShare
  /** The turns in which compressed bodies are inflated, separate from other turns, which take much longer. */
  readonly inflateShare: ThreadShare
  /**
   * The model at its upstream for this format, or at its first if none answers it. By position: the model, the format, and
   * the models that a refusal may suggest; null: all.
   */
  readonly offerFor: (modelName: string, endpoint: string, access?: ModelAccess | null) => Offer
  /** Raises an offer to the highest prices that a call can have: holds are sized by them. */
  readonly holdOffer: (offer: Offer) => Offer | Promise<Offer>
  readonly ledger: HoldLedger
  /**
   * Resumes the requests whose commits are done. With many busy sockets, the event loop would otherwise reach them only
   * in its next turn.
   */
  readonly takeVerdicts: () => void
  readonly settler: Settler
  readonly tokenFactors: TokenFactors
  /** Whether a reported cost needs no look-up. Must not throw. */
  readonly costStands: (claim: CostClaim) => boolean
  /** Reports a refused field, which an upstream's table does not have. By position: the upstream, the field. */
  readonly fieldRefused: (upstream: string, field: UnlistedField) => void
  /** Reports an output cap that the gateway set, for a client that set none, and a provider refused. */
  readonly ownCapRefused: (refusal: {
    readonly upstream: string
    readonly modelId: string
    readonly tokens: number
  }) => void
  /** Upstreams by name. */
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly accountTag: (accountId: string) => string
  readonly clock: Clock
  readonly publicNames: PublicNames
  readonly instanceId: string
  readonly answerBytesMax: number
  readonly eventBytesMax: number
}

/** A cost that an answer reported, with the facts that decide whether it is looked up. */
export interface CostClaim {
  readonly requestId: string
  readonly upstream: string
  readonly modelId: string
  readonly endpoint: string
  readonly stream: boolean
  readonly chargeMicros: Micros
  /** Whether the provider was paid by the upstream account's own key there. */
  readonly ownProviderKey: boolean
}

/** The limits of a body that counts toward an account. */
export interface BodyAccount {
  /** Bytes of the process's budget, taken before their memory is. `grow` throws if none are left. */
  readonly memory: Pick<ByteReservation, 'grow' | 'isCrowded'>
  /** Called before more than 64 KB are read; rejects with the Problem of a body that must not be read. */
  readonly admitLargeBody: () => Promise<void>
  /** Resolves when the next piece of a large compressed body may be inflated; the turn ends with the piece. */
  readonly inflateTurn: () => Promise<Turn>
}

/** One client's request, once its headers have been read. */
export interface JourneyRequest extends Arrival {
  readonly format: WireFormat
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  /** Finds the sender, if another route knows it; null: the sender follows from the API key. Throws Problem. */
  readonly authenticate: (() => Promise<Caller>) | null
  readonly client: ServerResponse
  /** Reads the whole body, inflated, within the limits of the format and the account. */
  readonly readBody: (account: BodyAccount) => Promise<Buffer>
  /** Filled in during the journey, for the log and the metrics. */
  readonly record: JourneyRecord
}

/** The facts of a request for one log line: never content. */
export interface JourneyRecord {
  accountId: string | null
  apiKeyId: string | null
  modelId: string | null
  /** The name of the upstream that has the model. */
  upstream: string | null
  stream: boolean
  /** The limits of a minute that apply to it; null: it was refused before they were checked. */
  rateLimits: readonly RateLimit[] | null
  holdMicros: number | null
  /** Null: no hold was opened. `open`: the store has not taken the settle of a whole answer in time, and takes it later. */
  state: Resolution['kind'] | 'open' | null
  chargeMicros: number | null
  /** When the hold was requested, and when the ledger had answered. */
  holdAskedAtMs: number | null
  holdOpenedAtMs: number | null
  firstByteAtMs: number | null
  /** When the outcome was known, and when the charge of a whole answer was durable; null: it was not in time. */
  outcomeAtMs: number | null
  settledAtMs: number | null
  /** The provider's counts; null: none were reported. */
  usage: TokenUsage | null
  generationId: string | null
  /** Whether a successful answer has no counts, or not all, although the provider bills by its counts. */
  isUncounted: boolean
  /** Whether a stream whose client left before the headers was read on or cancelled; null for all other requests. */
  leftEarly: 'readOn' | 'cancelled' | null
  /** Why a request with a hold is marked as failed; null: the request is not marked. */
  errorCode: string | null
  /** A fault of the gateway that no answer reports; null: none. */
  fault: unknown
}
