import { echoed } from '../vocabulary/echoed.ts'
import { Problem } from '../vocabulary/problem.ts'

/** The 404 of an id that names nothing of a kind. */
export function notFound(
  kind: 'account' | 'API key' | 'credit code' | 'request that opened a hold',
  namedId: string,
): Problem {
  const shown = echoed(namedId)
  const named = shown === null ? 'this id' : `the id "${shown}"`
  return new Problem('not_found', { message: `No ${kind} has ${named}.` })
}
