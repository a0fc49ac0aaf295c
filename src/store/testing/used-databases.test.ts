import { Client } from 'pg'
import { expect, test } from 'vitest'
import { takePostgresDatabase } from './used-databases.ts'

/** Takes a database, runs a statement in it, gives it back; resolves with its address and how many rows it had. */
async function use(statement: string) {
  const { url, remove } = await takePostgresDatabase()
  const client = new Client(url)
  await client.connect()
  const { rows } = await client.query('select name from settings')
  await client.query(statement)
  await client.end()
  await remove()
  return { url, rows: rows.length }
}

test('a used database is used again, with nothing in it', async () => {
  const fill = `insert into settings (name, value) values ('a', 'b')`
  let before = await use(fill)
  // One that is given back while the server still lists its last connection is not used again.
  await expect
    .poll(async () => {
      const [{ url }, next] = [before, await use(fill)]
      before = next
      return next.url === url ? next.rows : 'another database'
    })
    .toBe(0)
})

test.each([
  'alter table settings rename to elsewhere',
  'alter table settings add column later text',
  'alter table requests enable row level security',
  'create index later on requests (model_id)',
  'analyze requests',
])('a database is not used again after: %s', async (statement) => {
  const { url } = await use(statement)
  expect((await use('select 1')).url).not.toBe(url)
})
