import { HOUR_MS } from '../../../src/vocabulary/clock.ts'
import {
  type DateRange,
  type MovingRange,
  readDateRange,
  searchOf,
} from '../../../src/vocabulary/date-range.ts'
import type { ActivityRequest } from '../../api/answers.ts'
import { flagOf, setFields, textOf, textsOf } from '../../format/address.ts'

/** Ranges that end now; null: the range is one of UTC days. */
export const LAST_HOURS = {
  '1h': { text: 'Last hour', spanMs: HOUR_MS },
  '24h': { text: 'Last 24 hours', spanMs: 24 * HOUR_MS },
} as const

type LastHours = keyof typeof LAST_HOURS

/** How far back Activity looks. */
export type ActivityRange = DateRange | { readonly kind: 'hours'; readonly range: LastHours }

/** The range of an address without one. */
const DEFAULT_RANGE: ActivityRange = { kind: 'hours', range: '24h' }

type RangeSearch = Readonly<Partial<Record<'range' | 'from' | 'to', unknown>>>

/** The range of an address. */
export function rangeOf(search: RangeSearch): ActivityRange {
  return readRange(search) ?? DEFAULT_RANGE
}

/** The range of an address; null: it has none. */
function readRange(search: RangeSearch): ActivityRange | null {
  const { range } = search
  return range === '1h' || range === '24h' ? { kind: 'hours', range } : readDateRange(search)
}

/** A range as query parameters. */
export function activityRangeSearch(
  range: ActivityRange,
): Pick<ActivitySearch, 'range' | 'from' | 'to'> {
  return range.kind === 'hours' ? { range: range.range } : searchOf(range)
}

/** A state of a request. */
export type RequestState = ActivityRequest['state']

/** The states in words, in the order in which a request passes through them. */
export const STATE_WORDS = {
  open: 'Running',
  provisional: 'Provisional',
  final: 'Final',
  unresolved: 'Unresolved',
  released: 'Released',
} as const satisfies Record<RequestState, string>

/** The query parameters of Activity: its filters, and the request that is open. */
export interface ActivitySearch {
  readonly range?: MovingRange | LastHours
  readonly from?: string
  readonly to?: string
  /** Only requests of this account, in the list of all accounts. */
  readonly account?: string
  /** For operators. */
  readonly upstream?: readonly string[]
  readonly model?: readonly string[]
  readonly key?: readonly string[]
  readonly state?: readonly RequestState[]
  readonly endpoint?: readonly string[]
  readonly tag?: readonly string[]
  /** Only requests with an error. */
  readonly failed?: true
  /** The id of the open request. */
  readonly request?: string
}

/** Reads an address, and leaves out invalid parts. */
export function readActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const range = readRange(search)
  const states = textsOf(search['state'])?.filter(isState) ?? []
  return {
    ...(range === null ? {} : activityRangeSearch(range)),
    ...setFields({
      model: textsOf(search['model']),
      key: textsOf(search['key']),
      state: states.length === 0 ? undefined : states,
      endpoint: textsOf(search['endpoint']),
      tag: textsOf(search['tag']),
      failed: flagOf(search['failed']),
      request: textOf(search['request']),
    }),
  }
}

/** Reads the filters of an operator's screen, which also has upstreams. */
export function readOperatorActivitySearch(search: Record<string, unknown>): ActivitySearch {
  return { ...readActivitySearch(search), ...setFields({ upstream: textsOf(search['upstream']) }) }
}

/** Reads the filters of the screen of all accounts, which can also be one account. */
export function readAllActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const { account } = search
  const read = readOperatorActivitySearch(search)
  const isOne = typeof account === 'string' && account.startsWith('acct_')
  return isOne ? { ...read, account } : read
}

function isState(text: string): text is RequestState {
  return Object.hasOwn(STATE_WORDS, text)
}
