import { Readable } from 'node:stream'
import type { z } from 'zod'
import type { RefreshOfAll } from '../catalog/catalog-refreshers.ts'
import type { CatalogRow } from '../catalog/claims.ts'
import type { ChargedModel } from '../catalog/served-models.ts'
import type { ChangedCallers } from '../journey/gate/caller.ts'
import type { CommandedLedger } from '../ledger/commands.ts'
import type { OperatorAction } from '../ledger/operator-actions.ts'
import type { Letter } from '../mail/letter.ts'
import type { RequestSchedule, ScheduledRequest } from '../reconcile/schedule.ts'
import type { Sale } from '../sale/sale.ts'
import type { Reader } from '../store/page-reads.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Decimal } from '../vocabulary/money.ts'
import { echoed, Problem, type ProblemCode } from '../vocabulary/problem.ts'
import type { AdminScope } from '../vocabulary/role.ts'
import {
  type Caller,
  type CallerKind,
  operatorOf,
  readsAsOperator,
  requirePassword,
  requireScope,
} from './caller.ts'
import { checkInput } from './check-input.ts'
import { forCustomers } from './customer-fields.ts'

/**
 * The kinds of callers of an operation, each with the path of its route: from the root, parameters in braces,
 * such as `/v1/admin/accounts/{account_id}`.
 */
interface Paths {
  readonly admin?: `/v1/admin/${string}`
  readonly key?: `/v1/${string}`
  readonly anyone?: `/v1/${string}`
  readonly member?: `/app/api/accounts/{account_id}${'' | `/${string}`}`
  readonly operator?: `/app/api/operator/${string}`
}

/** An operation: input, rule and response, defined once for HTTP, its documents and the command line. */
export interface Operation {
  /** Its name in documents, and of the command that runs it. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly paths: Paths
  readonly summary: string
  /** Null: the query string is ignored. */
  readonly query: z.ZodType | null
  /** Null: the body is ignored. */
  readonly body: z.ZodType | null
  /** A body for documents; undefined where it has none. */
  readonly example: object | undefined
  /** The shape of each successful response to a kind of caller, by status. */
  answersTo(kind: CallerKind): Readonly<Record<number, z.ZodType>>
  /** Its own refusals, in addition to those of its callers and of its input. */
  readonly problems: readonly ProblemCode[]
  /** Whether members must be owners of their account. */
  readonly needsOwner: boolean
  /** The scope that an admin's token needs; null: admins do not call it. */
  readonly scope: AdminScope | null
  /** Throws Problem. */
  run(call: OperationCall): Promise<Answered>
}

/** A call of an operation: the caller is known, and nothing else is checked. */
interface OperationCall {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** Parsed JSON; undefined where the operation takes none. */
  readonly body: unknown
  /** Whether the client asks for CSV where there is JSON too. Default: no. */
  readonly acceptsCsv?: boolean
  /** Aborted when the client has left. Default: it stays. */
  readonly signal?: AbortSignal
  /** Called with the number of rows or models that a long operation has read so far. */
  readonly onProgress?: (done: number) => void
}

/** A successful response. */
export interface Answered {
  readonly httpStatus: number
  /** To be sent as JSON; a `Readable` is sent as CSV, as fast as the client takes it. */
  readonly body: object
}

/** A call whose input has been checked. */
interface CheckedCall<Kind extends CallerKind, Query, Body> {
  readonly caller: Extract<Caller, { kind: Kind }>
  /** The operator or the token that calls, to be recorded with each change; null: another caller. */
  readonly by: OperatorAction | null
  /**
   * The account that the call is for: the caller's own, or the `{account_id}` of the path of an admin or
   * operator. Throws as `param` does.
   */
  readonly accountId: string
  /**
   * A parameter of the path. Throws TypeError where the path has no such parameter, and Problem
   * `not_found` where its value has control characters.
   */
  param(name: string): string
  readonly query: Query
  readonly body: Body
  /** The reader whose turn the reads of pages take. */
  readonly reader: Reader
  readonly acceptsCsv: boolean
  readonly onProgress: (done: number) => void
}

/** An operation with the types that it is written with: those of its calls follow from them. */
interface TypedOperation<
  Name extends string,
  P extends Paths,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answers extends AnswerShapes,
> extends Operation {
  readonly name: Name
  readonly paths: P
  readonly query: Query | null
  readonly body: Body | null
  /** The shape of each successful response to operators, by status. */
  readonly answers: Answers
}

type AnswerShapes = Readonly<Record<number, z.ZodType>>

interface OperationInput<
  Name extends string,
  P extends Paths,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answers extends AnswerShapes,
> extends Pick<Operation, 'method' | 'summary'> {
  readonly name: Name
  readonly paths: P
  /** The shape of each successful response, by status: customers get it without what operators alone may see. */
  readonly answers: Answers
  /** Default: the query string is ignored. */
  readonly query?: Query
  /** Default: the body is ignored. */
  readonly body?: Body
  /** A body for documents. Default: none, for operations that take none. */
  readonly example?: z.input<Body>
  /** Default: none. */
  readonly problems?: readonly ProblemCode[]
  /**
   * Whether a change takes access away, or says what something is called, so that operators need no recent password for it; a
   * function of the body where some of its fields do more. Default: no. Of no importance where nothing is changed.
   */
  readonly isHarmless?: true | ((body: z.output<Body>) => boolean)
  /** Whether members need a recent password too. Default: operators alone do. */
  readonly asksMembers?: true
  /** Default: every member may call it. */
  readonly needsOwner?: true
  readonly run: (
    call: CheckedCall<keyof P & CallerKind, z.output<Query>, z.output<Body>>,
  ) => Promise<Answered>
}

/** An operation of admins also names the scope that it needs. Others have none. */
type Scoped<P extends Paths> = P extends { readonly admin: string }
  ? { readonly scope: AdminScope }
  : { readonly scope?: undefined }

/** Makes an operation that checks its input before it runs. */
export function operation<
  const Name extends string,
  const P extends Paths,
  Answers extends AnswerShapes,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  input: OperationInput<Name, P, Query, Body, Answers> & Scoped<P>,
): TypedOperation<Name, P, Query, Body, Answers> {
  const {
    query,
    body,
    example,
    problems = [],
    needsOwner = false,
    isHarmless = input.method === 'GET',
    asksMembers = false,
    scope = null,
    answers,
    run,
    ...described
  } = input
  const ofCustomers = answersForCustomers(answers)
  const isHarmlessWith = (sent: z.output<Body>) =>
    typeof isHarmless === 'function' ? isHarmless(sent) : isHarmless
  return {
    ...described,
    answers,
    answersTo: (kind) => (readsAsOperator(kind) ? answers : ofCustomers.shownAnswers()),
    query: query ?? null,
    body: body ?? null,
    example: typeof example === 'object' && example !== null ? example : undefined,
    problems,
    needsOwner,
    scope,
    async run({ caller, params, signal, acceptsCsv = false, onProgress = () => {}, ...sent }) {
      if (needsOwner && caller.kind === 'member' && caller.role !== 'owner') {
        throw new Problem('owner_required')
      }
      if (scope !== null) requireScope(caller, scope)
      const param = (name: string): string => paramOf(params, name)
      const checked = {
        // Without a schema the type is `undefined`, and so is the value: here and below.
        query: (query === undefined ? undefined : checkInput(query, sent.query)) as z.output<Query>,
        // As above.
        body: (body === undefined ? undefined : checkInput(body, sent.body)) as z.output<Body>,
      }
      const needsPassword = asksMembers || !isHarmlessWith(checked.body)
      const password = needsPassword ? requirePassword(caller, { asksMembers }) : null
      const answered = await run({
        ...checked,
        // A caller reaches an operation only by the path of its kind.
        caller: caller as Extract<Caller, { kind: keyof P & CallerKind }>,
        get accountId() {
          return 'accountId' in caller ? caller.accountId : param('account_id')
        },
        param,
        by: operatorOf(caller, input.name),
        reader: { owner: ownerOf(caller), ...(signal === undefined ? {} : { signal }) },
        acceptsCsv,
        onProgress,
      })
      // The answer is sent even if this fails: the page then asks for the password sooner.
      await password?.keepRecent().catch(() => {})
      return readsAsOperator(caller.kind) ? answered : ofCustomers.toCustomer(answered)
    },
  }
}

/**
 * The successful responses of customers: their shapes by status, and what takes operators' fields out of one. Made when a
 * customer first has an answer: a start would have to wait for those of all operations.
 */
function answersForCustomers(answers: AnswerShapes) {
  let made: ReadonlyMap<number, ReturnType<typeof forCustomers>> | null = null
  const byStatus = () => {
    made ??= new Map(
      Object.entries(answers).map(([status, shape]) => [Number(status), forCustomers(shape)]),
    )
    return made
  }
  return {
    toCustomer(answered: Answered): Answered {
      const { httpStatus, body } = answered
      const withoutHidden = byStatus().get(httpStatus)?.withoutHidden ?? null
      if (withoutHidden === null || body instanceof Readable) return answered
      return { httpStatus, body: Object(withoutHidden(body)) }
    },
    shownAnswers: () =>
      Object.fromEntries([...byStatus()].map(([status, { shape }]) => [status, shape])),
  }
}

/** A parameter of the path by its name. Throws Problem `not_found` for what no id can be. */
function paramOf(params: Readonly<Record<string, string>>, name: string): string {
  const value = params[name]
  if (value === undefined) throw new TypeError(`the path has no parameter ${name}`)
  // No id has one, and PostgreSQL would not even look for it.
  if (/\p{Cc}/u.test(value)) throw new Problem('not_found')
  return value
}

/** The deployment's limits of each key. */
export interface KeyLimits {
  readonly requestsPerMinuteMax: number
  readonly inFlightMax: number
}

/** The parts of a process that operations use. */
export interface OperationParts {
  readonly store: Store
  readonly ledger: CommandedLedger
  /** Null: the gateway sells no credit. */
  readonly sale: Sale | null
  /** The seller that receipts name; null: it is not set. */
  readonly seller: { readonly name: string | null; readonly taxId: string | null }
  readonly ids: IdSource
  readonly clock: Clock
  /** The `<tag>` of new API keys. */
  readonly keyTag: string
  /** The limits of keys that have none of their own. */
  readonly keyLimits: KeyLimits
  /** The address of the page for browsers, without `/app`: links begin with it. */
  readonly pageUrl: string
  /** Sends a letter later, without a wait; null: no email is sent. */
  readonly postLetter: ((letter: Letter, untilMs: number) => void) | null
  /** Networks that webhooks may be sent to although they are not public. */
  readonly webhookNetworks: readonly string[]
  readonly maintenance: MaintenanceSwitch
  /** The state of a serving process; null: it serves nothing. */
  readonly server: {
    readonly version: string
    readonly mode: 'simulator' | 'live'
    /** The checks of `/readyz`: what is wrong, or null. */
    checks(): readonly {
      readonly name: string
      readonly fault: string | null
      readonly warning?: string
    }[]
    catalog(): {
      readonly models: number
      /** Null: no list was ever loaded. */
      readonly refreshedAtMs: number | null
      /** Models with a figure whose steep fall is not believed yet. */
      readonly doubtedIds: readonly string[]
    }
    /** The models at the prices that an account with this fee is charged, in hundredths of a percent; null: at each model's own. */
    modelsAt(feeBasisPoints: number | null): readonly ChargedModel[]
    /** Every row of the catalog: a model at each of its upstreams. */
    catalogRows(): readonly CatalogRow[]
    verification(): {
      readonly lookups: 'verify' | 'all'
      /** Requests whose reported costs are all looked up. */
      readonly doubted: readonly string[]
      /** Null: it was never compared, or can't be. */
      readonly keyUsageAgrees: boolean | null
    }
    /** When a request that is not settled is looked up, and settled as it stands. By position: it, and its upstream. */
    scheduleOf(request: ScheduledRequest, upstream: string): RequestSchedule
    /** Called when the result of an audit could not be noted for webhooks. */
    onReportFailure(cause: unknown): void
  } | null
  /** The configured upstreams in their order; none where the built-in simulator answers. Rejects where their settings are wrong. */
  readonly upstreams: () => Promise<readonly UpstreamFacts[]>
  /** Fetches models and prices. `onImageModel` is called with the number of image models read so far. */
  readonly refreshCatalog: (onImageModel: (done: number) => void) => Promise<RefreshOfAll>
  /**
   * Called when a key or an account has changed; resolves once nothing in this process believes anything
   * older. Never rejects.
   */
  readonly onCallersChanged: (changed: ChangedCallers) => Promise<void>
  /** Called when admin tokens were made or revoked; this process believes nothing older from then on. */
  readonly onAdminTokensChanged: () => void
}

/** The state of an upstream as a process knows it, without its address and its key. */
export interface UpstreamFacts {
  readonly name: string
  readonly dialect: string
  /** The most calls at once; null: no limit. */
  readonly inFlightMax: number | null
  /** Whether it last refused the gateway's key, or the credit behind it; false where that is not known. */
  readonly isAccountRefused: boolean
  /** The rest of the limit of the gateway's key, in dollars; null: not known. */
  readonly left: Decimal | null
}

/** The connection on which an operation reads a few rows: for the page, a connection of its own. */
export function readsFor(
  { caller, reader }: { readonly caller: Caller; readonly reader: Reader },
  { db, pages }: Pick<Store, 'db' | 'pages'>,
): Store['db'] {
  return caller.kind === 'member' || caller.kind === 'operator' ? pages(reader) : db
}

/** The owner whose reads of pages take turns with those of others. */
function ownerOf(caller: Caller): string {
  if ('userId' in caller) return caller.userId
  if ('accountId' in caller) return caller.accountId
  return caller.kind === 'admin' ? `admin ${caller.token.id}` : caller.kind
}

/** Whether inference is refused for every process of a store. */
export interface MaintenanceSwitch {
  readonly isOn: boolean | Promise<boolean>
  /** `by`: the operator who turns it, which is recorded in the same commit. */
  turn(to: 'on' | 'off', by: OperatorAction | null): Promise<void>
}

/** The 404 of an unknown id. */
export function notFound(
  kind:
    | 'account'
    | 'admin token'
    | 'API key'
    | 'credit code'
    | 'member'
    | 'open invitation'
    | 'purchase'
    | 'request that opened a hold'
    | 'webhook',
  namedId: string,
): Problem {
  const shown = echoed(namedId)
  const named = shown === null ? 'this ID' : `the ID "${shown}"`
  return new Problem('not_found', { message: `No ${kind} has ${named}.` })
}
