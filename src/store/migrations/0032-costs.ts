import { type CreateTableBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import { timeOfId } from '../../vocabulary/ids.ts'
import { requestIdsOf } from '../../vocabulary/usage-step.ts'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'
import { AMOUNTS, WAITS } from './0026-base.ts'

const DAY_HOURS = 24
const HOUR_MS = 3_600_000

// A statement names this many requests at most.
const LATE_AT_ONCE = 1_000

/**
 * The cost of each request in columns that add up, and roll-ups that have costs and distinguish upstreams. What is rolled
 * up is rolled up again in the background, but for days of which requests were pruned: their costs are not known.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await addCosts(db)
  await keepLateCosts(db)
  await forgetWholeDays(db)
  await makeAgain(db, 'usage_hours', ['hour', 'account_id', 'model_id', 'endpoint'])
  await makeAgain(db, 'usage_days', ['day', 'account_id', 'api_key_id', 'model_id', 'endpoint'])
}

async function addCosts(db: Kysely<Tables>): Promise<void> {
  await db.schema.alterTable('requests').addColumn('cost_micros', 'bigint').execute()
  await db.schema.alterTable('requests').addColumn('cost_rest_pico', 'bigint').execute()
  const cost = sql`coalesce(cost_usd, late_cost_usd)`
  const point = isPostgres(db) ? sql`strpos(${cost}, '.')` : sql`instr(${cost}, '.')`
  const whole = sql`case when ${point} = 0 then ${cost} else substr(${cost}, 1, ${point} - 1) end`
  const places = sql`(case when ${point} = 0 then '' else substr(${cost}, ${point} + 1) end || '0000000000000')`
  const placesAt = ({ from, length }: { readonly from: number; readonly length: number }) =>
    sql`cast(substr(${places}, ${sql.lit(from)}, ${sql.lit(length)}) as bigint)`
  const isRoundedUp = sql`case when ${placesAt({ from: 13, length: 1 })} >= 5 then 1 else 0 end`
  const rest = sql`(${placesAt({ from: 7, length: 6 })} + ${isRoundedUp})`
  const wholeMicros = sql`(cast(${whole} as bigint) * 1000000 + ${placesAt({ from: 1, length: 6 })})`
  await set(db, {
    micros: sql`${wholeMicros} + ${rest} / 1000000`,
    rest: sql`${rest} % 1000000`,
    // No real cost has more than nine digits of dollars.
    where: sql`${cost} is not null and ${cost} not like '-%' and length(${whole}) <= 9`,
  })
  const charge = sql`(backed_charge_micros + free_charge_micros)`
  const basis = sql`(10000 + fee_basis_points)`
  const left = sql`(${charge} * 10000 % ${basis})`
  await set(db, {
    micros: sql`${charge} * 10000 / ${basis}`,
    rest: sql`(2 * ${left} * 1000000 + ${basis}) / (2 * ${basis})`,
    where: sql`${cost} is null and ${charge} > 0`,
  })
}

async function set(
  db: Kysely<Tables>,
  { micros, rest, where }: Readonly<Record<'micros' | 'rest' | 'where', RawBuilder<unknown>>>,
): Promise<void> {
  await sql`update requests set cost_micros = ${micros}, cost_rest_pico = ${rest} where ${where}`.execute(
    db,
  )
}

async function keepLateCosts(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('late_costs')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('hour', 'bigint', (column) => column.notNull())
    .addColumn('day', 'bigint', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('api_key_id', 'text', (column) => column.notNull())
    .addColumn('model_id', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('upstream', 'text', (column) => column.notNull())
    .addColumn('cost_micros', 'bigint', (column) => column.notNull())
    .addColumn('cost_rest_pico', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('late_costs_by_day')
    .on('late_costs')
    .columns(['day', 'account_id'])
    .execute()
  // The time in an id is read only here.
  for (let afterId = ''; ; ) {
    const { rows } = await sql<{ readonly id: string }>`
      select id from requests
      where late_cost_usd is not null and cost_usd is null and cost_micros is not null and id > ${afterId}
      order by id limit ${sql.lit(LATE_AT_ONCE)}`.execute(db)
    for (const { id } of rows) {
      const hour = Math.floor((timeOfId(id) ?? 0) / HOUR_MS)
      await sql`
        insert into late_costs (id, hour, day, account_id, api_key_id, model_id, endpoint, upstream,
          cost_micros, cost_rest_pico)
        select id, ${sql.lit(hour)}, ${sql.lit(Math.floor(hour / DAY_HOURS))}, account_id, api_key_id, model_id,
          endpoint, upstream, cost_micros, cost_rest_pico
        from requests where id = ${id}`.execute(db)
    }
    const last = rows.at(-1)
    if (last === undefined) return
    afterId = last.id
  }
}

/** Makes days count as not rolled all of whose requests are there, with their hours. */
export async function forgetWholeDays(db: Kysely<Tables>): Promise<void> {
  const { rows: days } = await sql<{ readonly day: number; readonly pruned_from: number | null }>`
    select hours.day as day, whole.requests as pruned_from
    from (select distinct number / ${sql.lit(DAY_HOURS)} as day from usage_rolled where step = 'hour') as hours
    left join usage_rolled as whole on whole.step = 'day' and whole.number = hours.day`.execute(db)
  for (const { day, pruned_from } of days) {
    // A day that is not rolled up has no pruned requests.
    if (pruned_from !== null && (await countOf(db, Number(day))) < Number(pruned_from)) continue
    const from = sql.lit(Number(day) * DAY_HOURS)
    const until = sql.lit((Number(day) + 1) * DAY_HOURS)
    await sql`
      delete from usage_rolled where (step = 'day' and number = ${sql.lit(Number(day))})
        or (step = 'hour' and number >= ${from} and number < ${until})`.execute(db)
  }
}

async function countOf(db: Kysely<Tables>, day: number): Promise<number> {
  const { fromId, untilId } = requestIdsOf({
    fromHour: day * DAY_HOURS,
    untilHour: (day + 1) * DAY_HOURS,
  })
  const { rows } = await sql<{ readonly requests: number }>`
    select count(*) as requests from requests where id >= ${fromId} and id < ${untilId}`.execute(db)
  return Number(rows[0]?.requests)
}

/** By position: the table, then its key, which begins with a number. SQLite changes no primary key: the table is made again. */
async function makeAgain(
  db: Kysely<Tables>,
  table: 'usage_hours' | 'usage_days',
  keyColumns: readonly string[],
): Promise<void> {
  const [step = ''] = keyColumns
  const before = `${table}_before`
  await db.schema.alterTable(table).renameTo(before).execute()
  let built: CreateTableBuilder<string, string> = db.schema.createTable(table)
  for (const [place, name] of [...keyColumns, 'upstream'].entries()) {
    built = built.addColumn(name, place === 0 ? 'bigint' : 'text', (column) => column.notNull())
  }
  built = built.addColumn('requests', 'bigint', (column) => column.notNull())
  for (const name of [...AMOUNTS.slice(1), 'cost_micros', 'cost_rest_pico', 'uncosted']) {
    built = built.addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0))
  }
  for (const name of WAITS) {
    built = built.addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
  }
  // Rows are read only by their key, and the key is most of a row: SQLite keeps it once.
  if (!isPostgres(db)) built = built.modifyEnd(sql`without rowid`)
  await built.addPrimaryKeyConstraint(`${table}_groups`, [...keyColumns, 'upstream']).execute()
  const kept = sql.join([...keyColumns, ...AMOUNTS, ...WAITS].map((name) => sql.ref(name)))
  await sql`
    insert into ${sql.table(table)} (${kept}, upstream, uncosted)
    select ${kept}, '', requests from ${sql.table(before)}
    where ${sql.ref(step)} in (select number from usage_rolled where step = ${sql.lit(step)})`.execute(
    db,
  )
  await db.schema.dropTable(before).execute()
}
