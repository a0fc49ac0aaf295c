import { type Kysely, sql } from 'kysely'
import type { Difference } from '../ledger/audit/difference.ts'
import type { Tables } from '../store/schema.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import { ErrorsByGroup, type ErrorsRow, type FailedOf } from './rolled-errors.ts'
import type { UsageRow } from './sums.ts'

const GROUP = ['account_id', 'api_key_id', 'model_id', 'endpoint', 'upstream'] as const

/**
 * Compares failed requests by error code of one hour: with the failed requests of each group, and by code with the
 * requests, of each account and of all.
 */
export async function auditErrorsOfHour(
  view: Kysely<Tables>,
  {
    hour,
    rows,
    present,
  }: {
    readonly hour: number
    readonly rows: readonly UsageRow[]
    /** Its requests by group and code; null: some were pruned. */
    readonly present: readonly (UsageRow & FailedOf)[] | null
  },
): Promise<readonly Difference[]> {
  const errors = await errorsIn(view, { step: 'hour', from: hour, until: hour + 1 })
  const place = { step: 'hour', number: hour } as const
  const failed = compare(place, { stored: countsOf(errors), recomputed: failedOf(rows) })
  // A partly pruned day that was rolled up before codes were counted has no known codes.
  if (present === null || errors.some(({ code }) => code === '')) return failed
  const expected = new ErrorsByGroup(place)
  for (const row of present) {
    expected.add({ ...row, api_key_id: '' })
    expected.add({ ...row, account_id: '', api_key_id: '' })
  }
  const recomputed = countsOf(expected.all, true)
  return [...failed, ...compare(place, { stored: countsOf(errors, true), recomputed })]
}

/**
 * Compares failed requests by error code of one day: with the failed requests of each group, and by code with those of
 * its hours, where all keys are together, and by key.
 */
export async function auditErrorsOfDay(
  view: Kysely<Tables>,
  { day, rows }: { readonly day: number; readonly rows: readonly UsageRow[] },
): Promise<readonly Difference[]> {
  const place = { step: 'day', number: day } as const
  const errors = await errorsIn(view, { step: 'day', from: day, until: day + 1 })
  const hours = { from: day * DAY_HOURS, until: (day + 1) * DAY_HOURS }
  const ofHours = countsOf(await errorsIn(view, { step: 'hour', ...hours }), true)
  const ofKeys = errors.filter(({ api_key_id }) => api_key_id !== '')
  const together = errors.filter(({ api_key_id }) => api_key_id === '')
  const byKey = ofKeys.map((row) => ({ ...row, api_key_id: '' }))
  const ofAccounts = together.filter(({ account_id }) => account_id !== '')
  return [
    ...compare(place, { stored: countsOf(errors), recomputed: failedOf(rows) }),
    ...compare(place, { stored: countsOf(together, true), recomputed: ofHours }),
    ...compare(place, { stored: countsOf(byKey, true), recomputed: countsOf(ofAccounts, true) }),
  ]
}

async function errorsIn(
  view: Kysely<Tables>,
  { step, from, until }: Pick<ErrorsRow, 'step'> & Readonly<Record<'from' | 'until', number>>,
): Promise<readonly ErrorsRow[]> {
  // Rows of an hour that is not rolled count for nothing.
  return await view
    .selectFrom('usage_errors')
    .selectAll()
    .where('step', '=', step)
    .where('number', '>=', from)
    .where('number', '<', until)
    .where(
      sql<boolean>`number in (select number from usage_rolled where step = ${sql.lit(step)}
        and number >= ${from} and number < ${until})`,
    )
    .execute()
}

type Counts = ReadonlyMap<string, number>

/** By position: rows, and whether codes are apart. */
function countsOf(rows: readonly ErrorsRow[], isByCode = false): Counts {
  const counts = new Map<string, number>()
  for (const row of rows) {
    const name = [...GROUP.map((column) => row[column]), isByCode ? row.code : 'failed'].join(' ')
    counts.set(name, (counts.get(name) ?? 0) + row.requests)
  }
  return counts
}

function failedOf(rows: readonly UsageRow[]): Counts {
  const failed = rows.filter((row) => row.failed > 0)
  return new Map(
    failed.map((row) => {
      const group = { ...row, api_key_id: row.api_key_id ?? '' }
      return [[...GROUP.map((column) => group[column]), 'failed'].join(' '), row.failed]
    }),
  )
}

function compare(
  { step, number }: Pick<ErrorsRow, 'step' | 'number'>,
  { stored, recomputed }: Readonly<Record<'stored' | 'recomputed', Counts>>,
): readonly Difference[] {
  return [...new Set([...stored.keys(), ...recomputed.keys()])]
    .map((name) => ({
      what: 'usage_errors.requests',
      id: `${step} ${number} ${name}`,
      stored: stored.get(name) ?? 0,
      recomputed: recomputed.get(name) ?? 0,
    }))
    .filter((each) => each.stored !== each.recomputed)
}
