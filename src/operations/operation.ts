import type { z } from 'zod'
import type { Arrival } from '../vocabulary/arrival.ts'
import { Problem, type ProblemCode } from '../vocabulary/problem.ts'
import { checkInput } from './check-input.ts'

/** One method on one path: what it takes, what it answers and how, in one place for all who ask. */
export interface Operation {
  /** Its name, in documents and logs. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the root, parameters in braces: `/v1/admin/accounts/{account_id}`. */
  readonly path: string
  readonly summary: string
  /** Null: its query string is not looked at. */
  readonly query: z.ZodType | null
  /** Null: its body is not looked at. */
  readonly body: z.ZodType | null
  /** What it answers, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** What it may refuse with, beside what every operation of its kind may. */
  readonly problems: readonly ProblemCode[]
  /** Throws Problem. */
  run(clientRequest: OperationRequest): Promise<Answered>
}

/** A client's request for an operation, nothing of it checked. */
interface OperationRequest extends Arrival {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  /** The value of its JSON; undefined where the operation takes none. */
  readonly body: unknown
}

/** What an operation answers. */
export interface Answered {
  readonly httpStatus: number
  readonly body: object
}

/** A client's request once it is checked. */
interface CheckedRequest<Query, Body, Who> {
  /** Who sends it; undefined where nobody is asked. */
  readonly who: Who
  /**
   * A parameter of the path; throws where the path has none of this name, and Problem `not_found` for
   * control characters in it.
   */
  param(name: string): string
  readonly query: Query
  readonly body: Body
}

interface OperationInput<Query extends z.ZodType, Body extends z.ZodType, Who>
  extends Omit<Operation, 'query' | 'body' | 'problems' | 'run'> {
  /** Default: the query string is not looked at. */
  readonly query?: Query
  /** Default: the body is not looked at. */
  readonly body?: Body
  /** Default: none. */
  readonly problems?: readonly ProblemCode[]
  /** Tells who sends a request, before anything else of it is checked. Throws Problem. */
  readonly authenticate?: (arrival: Arrival) => Promise<Who>
  readonly run: (
    clientRequest: CheckedRequest<z.output<Query>, z.output<Body>, Who>,
  ) => Promise<Answered>
}

/** Makes an operation that checks what it is sent before it runs. */
export function operation<
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
  Who = undefined,
>(input: OperationInput<Query, Body, Who>): Operation {
  const { query, body, problems = [], authenticate, run, ...told } = input
  return {
    ...told,
    query: query ?? null,
    body: body ?? null,
    problems,
    async run({ params, ...sent }) {
      return run({
        // Without it the type is `undefined`, and so is the value: here and below.
        who: (await authenticate?.(sent)) as Who,
        param(name) {
          const value = params[name]
          if (value === undefined) throw new TypeError(`the path has no parameter ${name}`)
          // No id has one, and PostgreSQL would not even look for it.
          if (/\p{Cc}/u.test(value)) throw new Problem('not_found')
          return value
        },
        // As above.
        query: (query === undefined ? undefined : checkInput(query, sent.query)) as z.output<Query>,
        // As above.
        body: (body === undefined ? undefined : checkInput(body, sent.body)) as z.output<Body>,
      })
    },
  }
}
