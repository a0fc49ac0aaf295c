import { type Kysely, sql } from 'kysely'
import type { AuditFindings } from '../ledger/audit/audit.ts'
import type { Difference } from '../ledger/audit/difference.ts'
import type { Tables } from '../store/schema.ts'
import { DAY_HOURS, requestIdsOf, type UsageStep } from '../vocabulary/usage-step.ts'
import { auditErrorsOfDay, auditErrorsOfHour } from './audit-errors.ts'
import { rolledBetween } from './rolled.ts'
import type { FailedOf } from './rolled-errors.ts'
import {
  GROUP_COLUMNS,
  groupOf,
  NO_USAGE,
  ROLLED_COLUMNS,
  RowsByGroup,
  selectSums,
  type UsageRow,
} from './sums.ts'

/**
 * Compares roll-ups with their sources: hours with the existing requests, days with hours, the sums of all accounts with
 * the sums of each, failed requests with the counts by error code, the charges of each key (rolled up or not) with its
 * entries, and late costs with their requests.
 */
export async function auditUsage(view: Kysely<Tables>, findings: AuditFindings): Promise<void> {
  const hours = await rolledBetween(view, { step: 'hour', from: 0 })
  const days = await rolledBetween(view, { step: 'day', from: Number.MIN_SAFE_INTEGER })
  for (const [hour, requests] of hours) {
    const rows = await rowsOf(view, { step: 'hour', number: hour })
    findings.found(await auditHour(view, { hour, requests, rows }))
    findings.read(rows.length)
  }
  const charges = new KeyCharges()
  for (const [day, requests] of days) {
    const rows = await rowsOf(view, { step: 'day', number: day })
    for (const row of rows) if (row.api_key_id !== '') charges.addCharted(row)
    // Requests that were pruned before there were roll-ups have no hours.
    if (day >= 0) findings.found(await auditDay(view, { day, requests, rows }))
    findings.read(rows.length)
  }
  for (const ids of notRolled([...days.keys()])) {
    for (const row of await requestCharges(view, ids)) charges.addCharted(row)
  }
  for (const row of await entryCharges(view)) charges.setPosted(row)
  findings.found(charges.differences())
  findings.found(await auditLateCosts(view))
}

async function auditLateCosts(view: Kysely<Tables>): Promise<readonly Difference[]> {
  const { rows } = await sql<{
    readonly id: string
    readonly stored: string | null
    readonly recomputed: string | null
  }>`
    select requests.id as id, ${exactText('late')} as stored, ${exactText('requests')} as recomputed
    from requests left join late_costs as late on late.id = requests.id
    where requests.late_cost_usd is not null
      and (late.id is null or late.cost_micros <> requests.cost_micros
        or late.cost_rest_pico <> requests.cost_rest_pico
        or late.account_id <> requests.account_id or late.api_key_id <> requests.api_key_id
        or late.model_id <> requests.model_id or late.endpoint <> requests.endpoint
        or late.upstream <> requests.upstream)
      and requests.cost_micros is not null`.execute(view)
  return rows.map((row) => ({ what: 'late_costs.cost', ...row }))
}

function exactText(table: string) {
  const column = (name: string) => sql`cast(${sql.ref(`${table}.${name}`)} as text)`
  return sql`${column('cost_micros')} || ' ' || ${column('cost_rest_pico')}`
}

async function rowsOf(
  view: Kysely<Tables>,
  { step, number }: { readonly step: UsageStep; readonly number: number },
): Promise<readonly UsageRow[]> {
  const table = step === 'hour' ? 'usage_hours' : 'usage_days'
  const groups = sql.raw(GROUP_COLUMNS[step].join(', '))
  const { rows } = await sql<UsageRow>`
    select ${groups}, ${selectSums(table)} from ${sql.table(table)}
    where ${sql.ref(step)} = ${number} group by ${groups}`.execute(view)
  return rows
}

interface Rolled {
  /** How many it had. */
  readonly requests: number
  readonly rows: readonly UsageRow[]
}

async function auditHour(
  view: Kysely<Tables>,
  { hour, requests, rows }: Rolled & { readonly hour: number },
): Promise<readonly Difference[]> {
  const { fromId, untilId } = requestIdsOf({ fromHour: hour, untilHour: hour + 1 })
  const groups = sql.raw(GROUP_COLUMNS.hour.join(', '))
  const { rows: byCode } = await sql<UsageRow & FailedOf>`
    select ${groups}, error_code, max(id) as latest_id, ${selectSums('requests')} from requests
    where id >= ${fromId} and id < ${untilId} group by ${groups}, error_code`.execute(view)
  const present = addedUp(byCode)
  const where = `usage_hours ${hour}`
  // If a day was pruned before costs were rolled up, its hours have neither costs nor upstreams.
  const isOld = rows.some(({ upstream }) => upstream === '')
  const recomputed = withAll(isOld ? addedUp(present.map(asOld)) : present)
  // Requests may have been pruned since: then only days and their entries have their sums.
  const wasPruned = countOf(present) < requests
  return [
    ...differencesOf(where, [['requests', countOf(rows), requests]]),
    ...compare(where, { stored: rows, recomputed: wasPruned ? withAll(rows) : recomputed }),
    ...(await auditErrorsOfHour(view, { hour, rows, present: wasPruned || isOld ? null : byCode })),
  ]
}

function asOld(row: UsageRow): UsageRow {
  const { cost_micros, cost_rest_pico } = NO_USAGE
  return { ...row, upstream: '', cost_micros, cost_rest_pico, uncosted: row.requests }
}

async function auditDay(
  view: Kysely<Tables>,
  { day, requests, rows }: Rolled & { readonly day: number },
): Promise<readonly Difference[]> {
  const groups = sql.raw(GROUP_COLUMNS.hour.join(', '))
  const { rows: recomputed } = await sql<UsageRow>`
    select ${groups}, ${selectSums('usage_hours')} from usage_hours
    where hour >= ${day * DAY_HOURS} and hour < ${(day + 1) * DAY_HOURS}
      and hour in (select number from usage_rolled where step = 'hour')
    group by ${groups}`.execute(view)
  const where = `usage_days ${day}`
  const ofKeys = rows.filter(({ api_key_id }) => api_key_id !== '')
  return [
    ...differencesOf(where, [['requests', countOf(ofKeys), requests]]),
    ...compare(where, { stored: withAll(addedUp(ofKeys)), recomputed }),
    ...compare(where, { stored: rows.filter((row) => row.api_key_id === ''), recomputed }),
    ...(await auditErrorsOfDay(view, { day, rows })),
  ]
}

function countOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, row) => (row.account_id === '' ? sum : sum + row.requests), 0)
}

/** The rows of accounts, and those of all accounts that follow from them. */
function withAll(rows: readonly UsageRow[]): readonly UsageRow[] {
  const own = rows.filter(({ account_id }) => account_id !== '')
  return [...own, ...addedUp(own.map((row) => ({ ...row, account_id: '' })))]
}

/** Rows of the same account, model, endpoint and upstream added together. */
function addedUp(rows: readonly UsageRow[]): readonly UsageRow[] {
  const sums = new RowsByGroup('hour')
  for (const row of rows) sums.add(row)
  return sums.all
}

function compare(
  where: string,
  {
    stored,
    recomputed,
  }: { readonly stored: readonly UsageRow[]; readonly recomputed: readonly UsageRow[] },
): readonly Difference[] {
  const byGroup = (each: readonly UsageRow[]) =>
    new Map(each.map((row) => [groupOf('hour', row), row]))
  const [rows, expected] = [byGroup(stored), byGroup(recomputed)]
  const groups = new Set([...rows.keys(), ...expected.keys()])
  return [...groups].flatMap((group) => {
    const [row, other] = [rows.get(group) ?? NO_USAGE, expected.get(group) ?? NO_USAGE]
    return differencesOf(
      `${where} ${group}`,
      ROLLED_COLUMNS.map((name) => [name, row[name], other[name]] as const),
    )
  })
}

function differencesOf(
  place: string,
  figures: readonly (readonly [name: string, stored: number, recomputed: number])[],
): readonly Difference[] {
  const [table = '', ...rest] = place.split(' ')
  return figures
    .filter(([, stored, recomputed]) => stored !== recomputed)
    .map(([name, stored, recomputed]) => {
      return { what: `${table}.${name}`, id: rest.join(' '), stored, recomputed }
    })
}

interface ChargesRow {
  readonly api_key_id?: string
  readonly backed_charge_micros: number
  readonly free_charge_micros: number
  readonly written_off_micros: number
}

const CHARGES = ['backed_charge_micros', 'free_charge_micros', 'written_off_micros'] as const

/** By key: the sum of charts, and the sum of its entries. */
class KeyCharges {
  readonly #keys = new Map<string, { charted: number[]; posted: number[] }>()

  addCharted(row: ChargesRow): void {
    CHARGES.forEach((name, place) => {
      const { charted } = this.#of(row.api_key_id ?? '')
      charted[place] = (charted[place] ?? 0) + row[name]
    })
  }

  setPosted(row: ChargesRow): void {
    const { posted } = this.#of(row.api_key_id ?? '')
    CHARGES.forEach((name, place) => {
      posted[place] = row[name]
    })
  }

  differences(): readonly Difference[] {
    return [...this.#keys].flatMap(([apiKeyId, { charted, posted }]) =>
      differencesOf(
        `usage ${apiKeyId}`,
        CHARGES.map((name, place) => [name, charted[place] ?? 0, posted[place] ?? 0] as const),
      ),
    )
  }

  #of(apiKeyId: string): { charted: number[]; posted: number[] } {
    const known = this.#keys.get(apiKeyId) ?? { charted: [], posted: [] }
    this.#keys.set(apiKeyId, known)
    return known
  }
}

/** Runs of ids; null: there is no end. */
interface Ids {
  readonly fromId: string
  readonly untilId: string | null
}

/** The IDs between rolled days: some may belong to no day. */
function notRolled(days: readonly number[]): readonly Ids[] {
  const runs: Ids[] = []
  let fromId = ''
  for (const day of days.filter((some) => some >= 0)) {
    const ids = requestIdsOf({ fromHour: day * DAY_HOURS, untilHour: (day + 1) * DAY_HOURS })
    if (ids.fromId > fromId) runs.push({ fromId, untilId: ids.fromId })
    fromId = ids.untilId
  }
  return [...runs, { fromId, untilId: null }]
}

async function requestCharges(
  view: Kysely<Tables>,
  { fromId, untilId }: Ids,
): Promise<readonly ChargesRow[]> {
  const until = untilId === null ? sql`` : sql`and id < ${untilId}`
  const { rows } = await sql<ChargesRow>`
    select api_key_id, ${sql.join(CHARGES.map((name) => sumOf(name, sql.ref(name))))}
    from requests where id >= ${fromId} ${until} group by api_key_id`.execute(view)
  return rows
}

async function entryCharges(view: Kysely<Tables>): Promise<readonly ChargesRow[]> {
  const of = (purse: string) =>
    sql`case when kind <> 'write_off' and purse = ${sql.lit(purse)} then -amount_micros else 0 end`
  const { rows } = await sql<ChargesRow>`
    select api_key_id, ${sumOf('backed_charge_micros', of('backed'))},
      ${sumOf('free_charge_micros', of('free'))},
      ${sumOf('written_off_micros', sql`case when kind = 'write_off' then amount_micros else 0 end`)}
    from entries where api_key_id is not null group by api_key_id`.execute(view)
  return rows
}

function sumOf(name: string, expression: ReturnType<typeof sql.ref>) {
  return sql`cast(sum(${expression}) as bigint) as ${sql.ref(name)}`
}
