import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openStore } from '../src/store/open-store.ts'
import { TABLES, UNCOPIED_TABLES } from '../src/store/schema.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'

/** The rows of the table about lost writes: the write, what becomes of it, and its tables. */
async function documentedWrites() {
  const page = await readFile(new URL('../docs/scale.md', import.meta.url), 'utf8')
  const rows = page.slice(page.indexOf('| Lost write |')).split('\n\n')[0]?.split('\n').slice(2)
  return (rows ?? []).map((row) => {
    const [, write = '', becomes = '', tables = ''] = row.split('|').map((cell) => cell.trim())
    return { write, becomes, tables: [...tables.matchAll(/`(\w+)`/g)].map(([, name]) => name) }
  })
}

test('docs/scale.md says of each table of the store what becomes of its writes that a failover lost', async () => {
  const writes = await documentedWrites()
  const documented = [...new Set(writes.flatMap(({ tables }) => tables))].sort()
  expect(documented).toEqual([...TABLES, ...UNCOPIED_TABLES].map(({ name }) => name).sort())
})

test('the database notes changes of just those tables whose lost changes are repeated, ended or refused by docs/scale.md', async () => {
  const database = await createPostgresDatabase()
  const store = await openStore({ url: database.url })
  try {
    const { rows } = await sql<{ readonly name: string }>`
      select distinct tgrelid::regclass::text as name from pg_trigger
      where tgfoid = 'note_taken_access'::regproc order by 1`.execute(store.db)
    const noted = (await documentedWrites())
      .filter(({ becomes }) => /^repeated|refused|\bends?\b|expires|is disabled/.test(becomes))
      .filter(({ becomes }) => !becomes.includes('provider'))
      .flatMap(({ tables }) => tables)
    // The messages of a webhook are deleted with it.
    const expected = new Set(noted.filter((name) => name !== 'webhook_deliveries'))
    expect(rows.map(({ name }) => name)).toEqual([...expected].sort())
  } finally {
    await store.close()
    await database.remove()
  }
})
