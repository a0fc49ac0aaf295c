import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach } from 'vitest'
import { copyStore } from '../copy-store.ts'
import { openStore } from '../open-store.ts'
import { insertRawRows, type RawRow, type RawRows } from './raw-rows.ts'
import { MADE_DATABASES } from './test-databases.ts'

/** The engine of a copied store. */
export type Engine = 'SQLite' | 'PostgreSQL'

/** The stores of a test file. Each is removed after the test that made it. */
export function storesOfFile() {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  return {
    /** Makes an empty store with its tables, and with these rows. Returns its address. */
    async newStore(engine: string, rows: RawRows = {}): Promise<string> {
      const database = await MADE_DATABASES.find((one) => one.engine === engine)?.create()
      if (database === undefined) throw new Error(`no engine ${engine}`)
      closing.push(() => database.remove())
      await insertRawRows(database.url, rows)
      return database.url
    },
    /** Closes something after the test, before the stores that were made earlier are removed. */
    closeAfter: (close: () => unknown) => void closing.push(close),
  }
}

/** Copies a store, and finds nothing wrong with the copy. By position: the addresses of both. */
export function copy(from: string, to: string) {
  return copyStore({ from, to, verify: async () => {} })
}

/** Runs statements that no command would, on a SQLite store. */
export function onSqliteFile(url: string, statements: string): void {
  const connection = new DatabaseSync(url.replace('sqlite:', ''), {
    enableForeignKeyConstraints: false,
  })
  connection.exec(statements)
  connection.close()
}

/** Runs a statement on any store. */
export async function onStore(url: string, statement: string): Promise<void> {
  const store = await openStore({ url })
  await sql.raw(statement).execute(store.db)
  await store.close()
}

/** An account with credit. */
export const ACCOUNT: RawRow = {
  id: 'acct_1',
  name: 'Ada',
  created_at_ms: 1,
  backed_balance_micros: 5,
  has_backed_credit: 1,
  entry_count: 1,
}
/** The entry of that credit. */
export const ENTRY: RawRow = {
  account_id: 'acct_1',
  number: 1,
  kind: 'top_up',
  purse: 'backed',
  amount_micros: 5,
  reference: 'r',
  created_at_ms: 1,
}
/** A store with three rows. */
export const ROWS: RawRows = {
  accounts: [ACCOUNT],
  entries: [ENTRY],
  settings: [{ name: 'maintenance', value: 'off' }],
}
