import type { ActivityRequest } from '../../api/answers.ts'

const HOUR_MS = 3_600_000

/** How far back Activity looks; null: as far as there is any. */
export const ACTIVITY_RANGES = {
  '1h': { text: 'Last hour', spanMs: HOUR_MS },
  '24h': { text: 'Last 24 hours', spanMs: 24 * HOUR_MS },
  '7d': { text: 'Last 7 days', spanMs: 7 * 24 * HOUR_MS },
  '30d': { text: 'Last 30 days', spanMs: 30 * 24 * HOUR_MS },
  all: { text: 'All', spanMs: null },
} as const

/** One of them. */
export type ActivityRange = keyof typeof ACTIVITY_RANGES

/** The range of an address that names none. */
export const DEFAULT_RANGE: ActivityRange = '24h'

/** A state of a request. */
export type RequestState = ActivityRequest['state']

/** The states, in the order that a request passes through them, in words. */
export const STATE_WORDS = {
  open: 'Running',
  provisional: 'Provisional',
  final: 'Final',
  unresolved: 'Unresolved',
  released: 'Released',
} as const satisfies Record<RequestState, string>

/** The filters of Activity and the request that is open, as the address has them. */
export interface ActivitySearch {
  readonly range?: ActivityRange
  readonly model?: readonly string[]
  readonly key?: readonly string[]
  readonly state?: readonly RequestState[]
  readonly endpoint?: readonly string[]
  /** Those with an error alone. */
  readonly failed?: true
  /** The id of the open request. */
  readonly request?: string
}

/** Reads an address; what it can't mean is left out. */
export function readActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const { range, request, failed } = search
  const isRange = typeof range === 'string' && Object.hasOwn(ACTIVITY_RANGES, range)
  const isRequest = typeof request === 'string' && request !== ''
  const states = texts(search['state']).filter(isState)
  return {
    ...(isRange ? { range: range as ActivityRange } : {}),
    ...listField('model', texts(search['model'])),
    ...listField('key', texts(search['key'])),
    ...listField('state', states),
    ...listField('endpoint', texts(search['endpoint'])),
    ...(failed === 'true' || failed === true ? { failed: true as const } : {}),
    ...(isRequest ? { request } : {}),
  }
}

function isState(text: string): text is RequestState {
  return Object.hasOwn(STATE_WORDS, text)
}

function texts(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one) => typeof one === 'string' && one !== '') as readonly string[]
}

function listField<Name extends string, T>(
  name: Name,
  values: readonly T[],
): { [K in Name]?: readonly T[] } {
  return (values.length === 0 ? {} : { [name]: values }) as { [K in Name]?: readonly T[] }
}
