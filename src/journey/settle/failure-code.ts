import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Outcome } from '../../vocabulary/outcome.ts'
import type { FailureCode, ProblemCode } from '../../vocabulary/problem.ts'

/** Why a request is marked failed, which one answered with 200 may be too; null if it is not. */
export function failureCodeOf(outcome: Outcome, code: ProblemCode | null): FailureCode | null {
  switch (outcome.kind) {
    case 'completed':
      return null
    case 'clientGone':
    case 'leftEarly':
      return 'client_gone'
    case 'timedOut':
      return code ?? 'upstream_timeout'
    case 'lost':
      return code ?? 'upstream_disconnected'
    case 'failed':
    case 'unreadable':
    case 'neverOpened':
      return code ?? 'upstream_error'
    default:
      return assertNever(outcome)
  }
}
