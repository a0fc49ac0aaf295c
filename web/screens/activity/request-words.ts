import { assertNever } from '../../../src/vocabulary/assert-never.ts'
import type { ActivityRequest, NamedRequest } from '../../api/answers.ts'
import { STATE_WORDS } from './search.ts'

/** The name of a request's key; null: it is not known here. */
export type KeyNameOf = (request: ActivityRequest | NamedRequest) => string | null

/** The state of a request in a word, and the colour of its chip. */
interface RequestWord {
  readonly word: string
  readonly tone: 'busy' | 'info' | 'good' | 'wait' | 'off' | 'bad'
}

/** An error is shown in place of the state of the charge, unless the charge is not final. */
export function requestWord({ state, error_code, http_status }: ActivityRequest): RequestWord {
  const word = STATE_WORDS[state]
  if (state === 'open') return { word, tone: 'busy' }
  if (state === 'unresolved') return { word, tone: 'wait' }
  if (error_code !== null) {
    return { word: http_status === null ? 'Failed' : `Failed ${http_status}`, tone: 'bad' }
  }
  if (state === 'provisional') return { word, tone: 'info' }
  return { word, tone: state === 'final' ? 'good' : 'off' }
}

/** The meaning of the state for the money. */
export function stateNote(request: ActivityRequest): string {
  const { state, charge } = request
  switch (state) {
    case 'open':
      return 'running; its amount is held'
    case 'provisional':
      return `${isEstimate(request) ? 'an estimate is charged' : 'charged'}; the provider’s record can still correct it`
    case 'final':
      return charge === 0 ? 'nothing was charged' : 'the charge no longer changes'
    case 'unresolved':
      return 'its cost is not known yet; its amount is held'
    case 'released':
      return 'the hold was released; nothing was charged'
    default:
      return assertNever(state)
  }
}

/** Whether the charge is an estimate. A request without a charge is not marked. */
export function isEstimate({ estimated, charge }: ActivityRequest): boolean {
  return estimated && charge !== 0
}

/** Whether the figures of a request may still change. */
export function isUnsettled({ state }: ActivityRequest): boolean {
  return state === 'open' || state === 'provisional' || state === 'unresolved'
}

/** The duration of a request in milliseconds; null while it runs. */
export function takenMs({ opened_at, ended_at }: ActivityRequest): number | null {
  return ended_at ? Date.parse(ended_at) - Date.parse(opened_at) : null
}
