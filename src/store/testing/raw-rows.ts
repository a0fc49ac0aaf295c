import { CompiledQuery, sql } from 'kysely'
import { allowOlderPrograms } from '../migrate.ts'
import { openStore } from '../open-store.ts'

/** Columns that the database computes from others: no program reads or writes them. */
export const COMPUTED: ReadonlySet<string> = new Set(['accounts.credit_state'])

/** A row with a value for each of its columns. */
export type RawRow = Readonly<Record<string, string | number | bigint | null>>

/** Rows by their table; absent tables are empty. */
export type RawRows = Readonly<Record<string, readonly RawRow[]>>

/** Inserts rows unchanged, in the order of the tables, also rows that only an earlier program could write. */
export async function insertRawRows(url: string, tables: RawRows): Promise<void> {
  const store = await openStore({ url })
  try {
    if (store.location.kind === 'postgres') await allowOlderPrograms(store.db)
    for (const [name, rows] of Object.entries(tables)) {
      for (const row of rows) {
        const columns = Object.keys(row)
        const places = columns.map((_, place) =>
          store.location.kind === 'postgres' ? `$${place + 1}` : '?',
        )
        const text = `insert into "${name}" (${columns.join(', ')}) values (${places.join(', ')})`
        await store.db.executeQuery(CompiledQuery.raw(text, Object.values(row)))
      }
    }
  } finally {
    await store.close()
  }
}

/** Every row of every table but `migrations`, each as JSON whose values are exact, in an order of its own. */
export async function readRawRows(url: string): Promise<Record<string, string[]>> {
  const store = await openStore({ url })
  try {
    const tables = await store.db.introspection.getTables()
    const read: Record<string, string[]> = {}
    for (const { name, columns, isView } of tables) {
      if (name === 'migrations' || isView) continue
      const stored = columns.filter((column) => !COMPUTED.has(`${name}.${column.name}`))
      const names = stored.map((column) => column.name).sort()
      const texts = names.map((column) => `cast("${column}" as text) as "${column}"`)
      const query = sql.raw<object>(`select ${texts.join(', ')} from "${name}"`)
      const { rows } = await query.execute(store.db)
      read[name] = rows.map((row) => JSON.stringify(row)).sort()
    }
    return read
  } finally {
    await store.close()
  }
}
