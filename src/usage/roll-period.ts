import { CompiledQuery, type Kysely, sql } from 'kysely'
import { paced } from '../ledger/activity/entry-sums.ts'
import { PROGRAM_SCHEMA } from '../store/migrations/migrations.ts'
import type { Tables } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { insertText } from '../store/table.ts'
import { USAGE_DAYS, USAGE_ERRORS, USAGE_HOURS } from '../store/usage-tables.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import { DAY_HOURS, requestIdsOf, type UsageStep } from '../vocabulary/usage-step.ts'
import { rolledBetween } from './rolled.ts'
import { ErrorsByGroup, type FailedOf } from './rolled-errors.ts'
import { GROUP_COLUMNS, RowsByGroup, selectSums, type UsageRow } from './sums.ts'

/** The parts that rolling works with. */
export interface RollInput {
  readonly store: Store
  readonly nowMs: number
  /** Lets others have the store after a statement that took so long. Throws if rolling must stop. */
  readonly pause: (tookMs: number) => Promise<void>
}

// Parts of an hour that are read at a time, and accounts of a day.
const HOUR_PARTS = 6
const PART_MS = HOUR_MS / HOUR_PARTS
const ACCOUNTS_AT_ONCE = 20

// Rows that a statement writes: few, because a writer of SQLite waits for it.
const ROWS_AT_ONCE = 50

/**
 * Rolls up an hour that gets no more requests: reads it without a lock, writes its rows a few at a time,
 * which do not count until the last statement says that they are complete. Another process that rolls the same
 * hour writes the same rows. Returns whether it is rolled; not where a request in it is not settled.
 */
export async function rollHour(input: RollInput, hour: number): Promise<boolean> {
  const rows = new RowsByGroup('hour')
  const errors = new ErrorsByGroup({ step: 'hour', number: hour })
  for (let part = 0; part < HOUR_PARTS; part++) {
    const groups = await paced(input, () => readPart(input.store.reports, { hour, part }))
    for (const { unsettled, ...row } of groups) {
      if (unsettled > 0) return false
      for (const each of [row, { ...row, account_id: '' }]) {
        rows.add(each)
        errors.add({ ...each, api_key_id: '' })
      }
    }
  }
  await writeSums(input, { step: 'hour', number: hour, rows: rows.all })
  await writeRows(input, { table: USAGE_ERRORS, rows: errors.all, ...ERRORS_ROLLED })
  let requests = 0
  for (const row of rows.all) if (row.account_id !== '') requests += row.requests
  return paced(input, () => markHour(input, { hour, requests }))
}

/**
 * Rolls up a day all of whose hours are rolled, as {@link rollHour}, account by account. Returns whether it
 * is rolled; not where requests came or went since its hours were.
 */
export async function rollDay(input: RollInput, day: number): Promise<boolean> {
  const { reports } = input.store
  const ofAll = new RowsByGroup('day')
  const errors = new ErrorsByGroup({ step: 'day', number: day })
  const accountIds = await paced(input, () => accountsOf(reports, day))
  for (const some of slicesOf(accountIds, ACCOUNTS_AT_ONCE)) {
    const rows = await paced(input, () => readDay(reports, { day, accountIds: some }))
    const ofKeys = new RowsByGroup('day')
    for (const row of rows) {
      const [ofAccount, ofEvery] = [
        { ...row, api_key_id: '' },
        { ...row, account_id: '', api_key_id: '' },
      ]
      ofKeys.add(row)
      ofKeys.add(ofAccount)
      ofAll.add(ofEvery)
      for (const each of [row, ofAccount, ofEvery]) errors.add(each)
    }
    await writeSums(input, { step: 'day', number: day, rows: ofKeys.all })
  }
  await writeSums(input, { step: 'day', number: day, rows: ofAll.all })
  await writeRows(input, { table: USAGE_ERRORS, rows: errors.all, ...ERRORS_ROLLED })
  return paced(input, () => markDay(input, day))
}

/** Says of hours without requests that they are rolled. */
export async function markEmptyHours(
  input: RollInput,
  { fromHour, untilHour }: { readonly fromHour: number; readonly untilHour: number },
): Promise<void> {
  for (let hour = fromHour; hour < untilHour; hour += ROWS_AT_ONCE) {
    const hours = Math.min(ROWS_AT_ONCE, untilHour - hour)
    const values = Array.from({ length: hours }, (_, place) => ({
      step: 'hour' as const,
      number: hour + place,
      requests: 0,
      rolled_at_ms: input.nowMs,
      program_schema: PROGRAM_SCHEMA,
    }))
    await paced(input, () =>
      input.store.db
        .insertInto('usage_rolled')
        .values(values)
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    )
  }
}

/**
 * Makes an hour count as not rolled, and its day, so that both are rolled again. Returns whether it did: not where
 * requests of the day were pruned, which are in no sums but these. From then on no request of the day is pruned.
 */
export async function unrollHour(db: Kysely<Tables>, hour: number): Promise<boolean> {
  const day = Math.floor(hour / DAY_HOURS)
  const change = db.transaction().execute(async (trx) => {
    // Waits for a pruner that works on the day, and is looked at only after that.
    await trx
      .deleteFrom('usage_rolled')
      .where(({ eb, and, or }) =>
        or([
          and([eb('step', '=', 'hour'), eb('number', '=', hour)]),
          and([eb('step', '=', 'day'), eb('number', '=', day)]),
        ]),
      )
      .execute()
    const pruned = await rolledBetween(trx, { step: 'pruned', from: day, until: day + 1 })
    if (pruned.size > 0) throw new WasPruned()
  })
  return change.then(
    () => true,
    (error: unknown) => {
      if (error instanceof WasPruned) return false
      throw error
    },
  )
}

/** Rolls a transaction back. */
class WasPruned extends Error {}

const HOUR_GROUPS = sql.raw(GROUP_COLUMNS.hour.join(', '))
const DAY_GROUPS = sql.raw(GROUP_COLUMNS.day.join(', '))

async function readPart(
  db: Kysely<Tables>,
  { hour, part }: { readonly hour: number; readonly part: number },
): Promise<readonly (UsageRow & FailedOf & { readonly unsettled: number })[]> {
  const atPart = (place: number) =>
    firstIdOf({ prefix: 'req', timeMs: hour * HOUR_MS + place * PART_MS })
  const { rows } = await sql<UsageRow & FailedOf & { readonly unsettled: number }>`
    select ${HOUR_GROUPS}, error_code, max(id) as latest_id, ${selectSums('requests')},
      cast(sum(case when state = 'final' or state = 'released' then 0 else 1 end) as bigint) as unsettled
    from all_requests where id >= ${atPart(part)} and id < ${atPart(part + 1)}
    group by ${HOUR_GROUPS}, error_code`.execute(db)
  return rows
}

async function accountsOf(db: Kysely<Tables>, day: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('usage_hours')
    .select('account_id')
    .distinct()
    .where('hour', '>=', day * DAY_HOURS)
    .where('hour', '<', (day + 1) * DAY_HOURS)
    .where('account_id', '<>', '')
    .orderBy('account_id')
    .execute()
  return rows.map((row) => row.account_id)
}

async function readDay(
  db: Kysely<Tables>,
  { day, accountIds }: { readonly day: number; readonly accountIds: readonly string[] },
): Promise<readonly (UsageRow & FailedOf & { readonly api_key_id: string })[]> {
  const { fromId, untilId } = requestIdsOf({
    fromHour: day * DAY_HOURS,
    untilHour: (day + 1) * DAY_HOURS,
  })
  const { rows } = await sql<UsageRow & FailedOf & { readonly api_key_id: string }>`
    select ${DAY_GROUPS}, error_code, max(id) as latest_id, ${selectSums('requests')} from requests
    where account_id in (${sql.join(accountIds)}) and id >= ${fromId} and id < ${untilId}
    group by ${DAY_GROUPS}, error_code`.execute(db)
  return rows
}

function writeSums(
  input: RollInput,
  {
    step,
    number,
    rows,
  }: { readonly step: UsageStep; readonly number: number; readonly rows: readonly UsageRow[] },
): Promise<void> {
  const table = step === 'hour' ? USAGE_HOURS : USAGE_DAYS
  const records = rows.map((row) => ({ ...row, [step]: number }))
  return writeRows(input, { table, rows: records, stepSql: `'${step}'`, numberColumn: step })
}

type StoredValues = Readonly<Record<string, string | number | null | undefined>>

interface WrittenRows {
  readonly table: typeof USAGE_HOURS | typeof USAGE_DAYS | typeof USAGE_ERRORS
  readonly rows: readonly StoredValues[]
  /** SQL for a row that is written. */
  readonly stepSql: string
  readonly numberColumn: string
}

const ERRORS_ROLLED = { stepSql: 'excluded.step', numberColumn: 'number' } as const

async function writeRows(input: RollInput, { table, rows, ...rolled }: WrittenRows): Promise<void> {
  const { db, location } = input.store
  const names = table.columns.map(({ name }) => name)
  const conflict = onConflict({ table, ...rolled })
  const nameOf = (row: StoredValues) => table.key.map(({ name }) => row[name]).join(' ')
  // In one order, so that two that write the same rows never wait for each other in a circle.
  const sorted = rows.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  for (const some of slicesOf(sorted, ROWS_AT_ONCE)) {
    const text = insertText({ table, rows: some.length, kind: location.kind }) + conflict
    const values = some.flatMap((row) => names.map((name) => row[name]))
    await paced(input, () => db.executeQuery(CompiledQuery.raw(text, values)))
  }
}

/** Rows of an earlier try are replaced, unless they count already. */
function onConflict({ table, stepSql, numberColumn }: Omit<WrittenRows, 'rows'>): string {
  const isKey = (name: string) => table.key.some((column) => column.name === name)
  const set = table.columns
    .filter(({ name }) => !isKey(name))
    .map(({ name }) => `${name} = excluded.${name}`)
  return ` on conflict (${table.key.map(({ name }) => name).join(', ')}) do update set ${set.join(', ')}
    where not exists (select 1 from usage_rolled where step = ${stepSql} and number = excluded.${numberColumn})`
}

/**
 * Marks the rows of an hour as complete, if they are: another may have read it before its last request came, and
 * have written some rows since.
 */
async function markHour(
  { store, nowMs }: RollInput,
  { hour, requests }: { readonly hour: number; readonly requests: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into usage_rolled (step, number, requests, rolled_at_ms, program_schema)
    select 'hour', cast(${hour} as bigint), cast(${requests} as bigint), cast(${nowMs} as bigint), ${OF_PROGRAM}
    from (select ${countOf("account_id <> ''")} as own, ${countOf("account_id = ''")} as of_all,
        ${FAILED} as failed from usage_hours where hour = ${hour}) as counts
    where own = ${requests} and of_all = ${requests} and failed = ${codesOf({ step: 'hour', number: hour })}
    on conflict do nothing`.execute(store.db)
  return numAffectedRows === 1n
}

/** Says that the rows of a day are whole, if all of its hours are rolled and had as many requests. */
async function markDay({ store, nowMs }: RollInput, day: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into usage_rolled (step, number, requests, rolled_at_ms, program_schema)
    select 'day', cast(${day} as bigint), requests, cast(${nowMs} as bigint), ${OF_PROGRAM}
    from (select count(*) as hours, cast(sum(requests) as bigint) as requests
      from usage_rolled where step = 'hour'
      and number >= ${day * DAY_HOURS} and number < ${(day + 1) * DAY_HOURS}) as rolled,
      (select ${countOf("api_key_id <> ''")} as of_keys,
        ${countOf("api_key_id = '' and account_id <> ''")} as own,
        ${countOf("account_id = ''")} as of_all, ${FAILED} as failed
      from usage_days where day = ${day}) as counts
    where hours = ${DAY_HOURS} and of_keys = requests and own = requests and of_all = requests
      and failed = ${codesOf({ step: 'day', number: day })}
    on conflict do nothing`.execute(store.db)
  return numAffectedRows === 1n
}

/** The requests of some rows. */
function countOf(rows: string) {
  return sql`coalesce(sum(case when ${sql.raw(rows)} then requests else 0 end), 0)`
}

const OF_PROGRAM = sql.lit(PROGRAM_SCHEMA)

const FAILED = sql`coalesce(sum(failed), 0)`

/** The failed requests of all rows of an hour or day, by their codes. */
function codesOf({ step, number }: { readonly step: UsageStep; readonly number: number }) {
  return sql`(select coalesce(sum(requests), 0) from usage_errors
    where step = ${step} and number = ${number})`
}
