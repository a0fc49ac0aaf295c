import type { z } from 'zod'
import { Problem, type ProblemCode } from '../vocabulary/problem.ts'
import { checkInput } from './check-input.ts'

/** Who calls an operation: an admin, by token or on the command line, or an API key for its own account. */
export type Caller =
  | { readonly kind: 'admin' }
  | { readonly kind: 'key'; readonly apiKeyId: string; readonly accountId: string }

/** The kinds of callers. */
export type CallerKind = Caller['kind']

/** Below which path the routes of each kind of caller are. */
interface PathPrefix {
  readonly admin: '/v1/admin'
  readonly key: '/v1'
}

/**
 * Who may call an operation, and the path of its route for each: from the root, parameters in braces,
 * such as `/v1/admin/accounts/{account_id}`.
 */
type Paths = { readonly [Kind in CallerKind]?: `${PathPrefix[Kind]}/${string}` }

/** What people may do: input, rule and response, once for HTTP, its documents and the command line. */
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
  /** The shape of each successful response, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** The refusals of its own, beside those of its callers and of its input. */
  readonly problems: readonly ProblemCode[]
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
  /** Called with the number of rows or models that a long operation has read so far. */
  readonly onProgress?: (done: number) => void
}

/** A successful response. */
export interface Answered {
  readonly httpStatus: number
  readonly body: object
}

/** A call whose input has been checked. */
interface CheckedCall<Kind extends CallerKind, Query, Body> {
  readonly caller: Extract<Caller, { kind: Kind }>
  /**
   * The account that the call is for: the caller's own, or the `{account_id}` of an admin's path. Throws
   * as `param` does.
   */
  readonly accountId: string
  /**
   * A parameter of the path. Throws TypeError where the path has no such parameter, and Problem
   * `not_found` where its value has control characters.
   */
  param(name: string): string
  readonly query: Query
  readonly body: Body
  readonly onProgress: (done: number) => void
}

interface OperationInput<P extends Paths, Query extends z.ZodType, Body extends z.ZodType>
  extends Pick<Operation, 'name' | 'method' | 'summary' | 'answers'> {
  readonly paths: P
  /** Default: the query string is ignored. */
  readonly query?: Query
  /** Default: the body is ignored. */
  readonly body?: Body
  /** A body for documents. Default: none, for operations that take none. */
  readonly example?: z.input<Body>
  /** Default: none. */
  readonly problems?: readonly ProblemCode[]
  readonly run: (
    call: CheckedCall<keyof P & CallerKind, z.output<Query>, z.output<Body>>,
  ) => Promise<Answered>
}

/** Makes an operation that checks its input before it runs. */
export function operation<
  const P extends Paths,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(input: OperationInput<P, Query, Body>): Operation {
  const { query, body, example, problems = [], run, ...described } = input
  return {
    ...described,
    query: query ?? null,
    body: body ?? null,
    example: typeof example === 'object' && example !== null ? example : undefined,
    problems,
    async run({ caller, params, onProgress = () => {}, ...sent }) {
      const param = (name: string): string => {
        const value = params[name]
        if (value === undefined) throw new TypeError(`the path has no parameter ${name}`)
        // No id has one, and PostgreSQL would not even look for it.
        if (/\p{Cc}/u.test(value)) throw new Problem('not_found')
        return value
      }
      return run({
        // A caller reaches an operation only by the path of its kind.
        caller: caller as Extract<Caller, { kind: keyof P & CallerKind }>,
        get accountId() {
          return caller.kind === 'admin' ? param('account_id') : caller.accountId
        },
        param,
        // Without a schema the type is `undefined`, and so is the value: here and below.
        query: (query === undefined ? undefined : checkInput(query, sent.query)) as z.output<Query>,
        // As above.
        body: (body === undefined ? undefined : checkInput(body, sent.body)) as z.output<Body>,
        onProgress,
      })
    },
  }
}
