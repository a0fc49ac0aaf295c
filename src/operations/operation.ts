import { Readable } from 'node:stream'
import type { z } from 'zod'
import type { OperatorAction } from '../ledger/operator-actions.ts'
import type { Reader } from '../store/page-reads.ts'
import type { Store } from '../store/store.ts'
import { Problem, type ProblemCode } from '../vocabulary/problem.ts'
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

/** An operation: input, rule and response, defined once for HTTP, its documentation and the command line. */
export interface Operation {
  /** Its name in the documentation, and in the command that runs it. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly paths: Paths
  readonly summary: string
  /** Null: the query string is ignored. */
  readonly query: z.ZodType | null
  /** Null: the body is ignored. */
  readonly body: z.ZodType | null
  /** A body for documents; undefined if it has none. */
  readonly example: object | undefined
  /** The shape of each successful response to a kind of caller, by status. */
  answersTo(kind: CallerKind): Readonly<Record<number, z.ZodType>>
  /** Its own refusals, in addition to those for its callers and its input. */
  readonly problems: readonly ProblemCode[]
  /** Whether members must be owners of their account. */
  readonly needsOwner: boolean
  /** Whether it may take access from people, or change what gateways repeat after a failover. */
  readonly takesAccess: boolean
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
  /** Parsed JSON; undefined if the operation takes none. */
  readonly body: unknown
  /** Whether the client asks for CSV if the operation has JSON too. Default: no. */
  readonly acceptsCsv?: boolean
  /** Aborted when the client has left. Default: never. */
  readonly signal?: AbortSignal
  /** Called with the number of rows or models that a long operation has read so far. */
  readonly onProgress?: (done: number) => void
}

/** A successful response. */
export interface Answered {
  readonly httpStatus: number
  /** Sent as JSON; a `Readable` is sent as CSV, as fast as the client reads it. */
  readonly body: object
}

/** A call whose input has been checked. */
interface CheckedCall<Kind extends CallerKind, Query, Body> {
  readonly caller: Extract<Caller, { kind: Kind }>
  /** The calling operator or token, which is recorded with each change; null: another caller. */
  readonly by: OperatorAction | null
  /**
   * The account that the call is for: the caller's own, or the `{account_id}` of the path of an admin or
   * operator. Throws as `param` does.
   */
  readonly accountId: string
  /**
   * A parameter of the path. Throws TypeError if the path has no such parameter, and Problem
   * `not_found` if its value has control characters.
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
  /** The shape of each successful response, by status. Customers get it without the fields for operators. */
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
   * Whether a change only removes access or renames something, so that operators need no recent password for it; a
   * function of the body if only some of its fields are such changes. Default: no. Ignored if nothing is changed.
   */
  readonly isHarmless?: true | ((body: z.output<Body>) => boolean)
  /** Whether members need a recent password too. Default: only operators do. */
  readonly asksMembers?: true
  /** Default: every member may call it. */
  readonly needsOwner?: true
  /** Whether it may take access from people. Default: no. */
  readonly takesAccess?: true
  readonly run: (
    call: CheckedCall<keyof P & CallerKind, z.output<Query>, z.output<Body>>,
  ) => Promise<Returned<Answers>>
}

/** The body of the only successful response; with its status, if an operation has several. */
type Returned<Answers> =
  true extends HasSeveral<keyof Answers> ? Answered : object & { readonly httpStatus?: never }

type HasSeveral<Status, Each = Status> = Each extends Status
  ? [Status] extends [Each]
    ? false
    : true
  : never

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
    takesAccess = false,
    isHarmless = input.method === 'GET',
    asksMembers = false,
    scope = null,
    answers,
    run,
    ...described
  } = input
  const [httpStatus = 200, ...otherStatuses] = Object.keys(answers).map(Number)
  const hasSeveral = otherStatuses.length > 0
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
    takesAccess,
    scope,
    async run({ caller, params, signal, acceptsCsv = false, onProgress = () => {}, ...sent }) {
      if (needsOwner && caller.kind === 'member' && caller.role !== 'owner') {
        throw new Problem('owner_required')
      }
      if (scope !== null) requireScope(caller, scope)
      const param = (name: string): string => paramOf(params, name)
      const checked = {
        // Without a schema both the type and the value are `undefined`.
        query: (query === undefined ? undefined : checkInput(query, sent.query)) as z.output<Query>,
        // Without a schema both are `undefined`, as above.
        body: (body === undefined ? undefined : checkInput(body, sent.body)) as z.output<Body>,
      }
      const needsPassword = asksMembers || !isHarmlessWith(checked.body)
      const password = needsPassword ? requirePassword(caller, { asksMembers }) : null
      const returned = await run({
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
      // The type of `run` says that it returns a status if there are several.
      const answered = hasSeveral ? (returned as Answered) : { httpStatus, body: returned }
      await password?.keepRecent()
      return readsAsOperator(caller.kind) ? answered : ofCustomers.toCustomer(answered)
    },
  }
}

/** The shapes of responses to customers by status, and what removes operators' fields. Made when needed: a start is faster. */
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

/** A parameter of the path by its name. Throws Problem `not_found` for a value that can't be an id. */
function paramOf(params: Readonly<Record<string, string>>, name: string): string {
  const value = params[name]
  if (value === undefined) throw new TypeError(`the path has no parameter ${name}`)
  // No id has a control character, and PostgreSQL would refuse to search for one.
  if (/\p{Cc}/u.test(value)) throw new Problem('not_found')
  return value
}

/** The connection on which an operation reads a few rows: the page has a separate one. */
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
