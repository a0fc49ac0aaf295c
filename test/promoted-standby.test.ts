import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditView } from '../src/ledger/audit/audit.ts'
import { copyStore } from '../src/store/copy-store.ts'
import { MIGRATIONS, PROGRAM_SCHEMA } from '../src/store/migrations/migrations.ts'
import { openStore } from '../src/store/open-store.ts'
import {
  type PostgresServer,
  type StandbyServer,
  startPostgresServer,
} from '../src/store/testing/postgres-server.ts'
import { readRawRows } from '../src/store/testing/raw-rows.ts'
import { type SeveringProxy, startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import { bundled } from './bundled.ts'
import { type Finished, tollgate } from './tollgate-process.ts'

/**
 * A standby that is promoted while a command works with the store: what is half done is never called whole, and the
 * command says what to do. Commands reach the database by one address, which then leads to the new primary.
 */

const ROWS = 1_000
const OLDER = MIGRATIONS.slice(0, -1)

let folder: string
/** The server that takes writes: after a failover the one that was promoted. */
let primary: PostgresServer
const proxies = new Map<string, SeveringProxy>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-promoted-'))
  primary = await startPostgresServer({ settings: ['max_connections=60', 'fsync=off'] })
  await fill(file('full'))
})
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.close()
  await primary.stop()
  rmSync(folder, { recursive: true, force: true })
})

const file = (name: string) => `sqlite:${join(folder, `${name}.db`)}`

async function fill(url: string): Promise<void> {
  const store = await openStore({ url })
  const settings = Array.from({ length: ROWS }, (_, place) => ({ name: `n${place}`, value: 'v' }))
  await store.db.insertInto('settings').values(settings).execute()
  await store.close()
}

/** Makes the database of each case. */
async function makeDatabases(names: Readonly<Record<string, 'full' | 'empty' | 'older'>>) {
  for (const [name, kind] of Object.entries(names)) {
    await primary.run(`create database ${name}`)
    const url = primary.url(name)
    if (kind === 'full') await fill(url)
    else {
      const migrations = kind === 'older' ? OLDER : MIGRATIONS
      await openStore({ url, migrations }).then((store) => store.close())
    }
    proxies.set(name, await startSeveringProxy(url))
  }
}

function way(name: string): SeveringProxy {
  const proxy = proxies.get(name)
  if (proxy === undefined) throw new Error(`no database ${name}`)
  return proxy
}

/** Resolves when a standby has all that was committed. */
async function arrived(): Promise<void> {
  const asked = 'select 1 from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()'
  while ((await primary.run(asked)).length === 0);
}

/** Kills the primary, promotes the standby, and leads every address there. */
async function failOver(standby: StandbyServer): Promise<void> {
  const lost = primary
  await lost.kill()
  await standby.promote()
  for (const [name, proxy] of proxies) proxy.to(standby.url(name))
  primary = standby
  await lost.stop()
}

function run(args: readonly string[], databaseUrl: string): Promise<Finished> {
  return tollgate(args, {
    folder,
    env: { DATABASE_URL: databaseUrl, PORT: '0' },
    program: bundled('tollgate'),
  })
}

/** Opens a database by its address as a server that starts does. */
async function startAgain(name: string): Promise<void> {
  const store = await openStore({ url: way(name).url, migrateStore: 'always' })
  await store.close()
}

/** Copies once more, as the command does. */
async function copyAgain(from: string, to: string): Promise<void> {
  const { verified } = await copyStore({ from, to, verify: auditView })
  expect(verified.differences).toEqual([])
}

/** By position: the database whose answers stop when the command sends this text to it, and the command. */
async function stalling(
  [name, text]: readonly [string, string],
  start: () => Promise<Finished>,
): Promise<{ readonly ended: Promise<Finished> }> {
  const stalled = Promise.withResolvers<void>()
  way(name).stallAfter(text, stalled.resolve)
  const ended = start()
  const early = ended.then((finished) => {
    throw new Error(`ended before: ${finished.notes}`)
  })
  early.catch(() => undefined)
  await Promise.race([stalled.promise, early])
  return { ended }
}

async function schemaOf(name: string): Promise<number> {
  const client = new Client(primary.url(name))
  await client.connect()
  const { rows } = await client.query<{ newest: number }>(
    'select max(number) as newest from migrations',
  )
  await client.end()
  return Number(rows[0]?.newest)
}

const AWAY = /: Connection terminated unexpectedly\. Check that the database is running/
const UNCONFIRMED =
  /the commit was not confirmed, so the copy has every row or none: `tollgate audit` on it shows which; if it is empty, copy again/

describe('a standby is promoted', () => {
  let reading: Finished
  let writing: Finished
  let auditing: Finished
  let migrating: Finished
  let copied: Finished
  let migrated: Finished

  beforeAll(async () => {
    await makeDatabases({
      reading: 'full',
      writing: 'empty',
      auditing: 'full',
      migrating: 'older',
      copied: 'empty',
      migrated: 'older',
    })
    const standby = await primary.standby('s1')
    way('copied').severAfter('commit\0')
    copied = await run(['copy', '--to', way('copied').url], file('full'))
    way('migrated').severAfter('commit\0')
    migrated = await run(['serve'], way('migrated').url)
    const [toFile, toDatabase] = [file('read'), way('writing').url]
    // All at once, so that none waits long for an answer before the server is lost.
    const [ofReading, ofWriting, ofAudit, ofMigration] = await Promise.all([
      stalling(['reading', 'from "requests"'], () =>
        run(['copy', '--to', toFile], way('reading').url),
      ),
      stalling(['writing', 'analyze "settings"'], () =>
        run(['copy', '--to', toDatabase], file('full')),
      ),
      stalling(['auditing', 'from "accounts"'], () => run(['audit'], way('auditing').url)),
      stalling(['migrating', 'insert into "migrations"'], () =>
        run(['serve'], way('migrating').url),
      ),
    ])
    await arrived()
    await failOver(standby)
    reading = await ofReading.ended
    writing = await ofWriting.ended
    auditing = await ofAudit.ended
    migrating = await ofMigration.ended
  })

  test('while a copy reads: nothing is copied, and a second copy is complete', async () => {
    expect(reading).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(AWAY) })
    expect(reading.notes).toMatch(/^tollgate: nothing was copied: .+, then copy again$/m)
    expect(Object.values(await readRawRows(file('read'))).flat()).toEqual([])
    await copyAgain(way('reading').url, file('read'))
    expect(await readRawRows(file('read'))).toEqual(await readRawRows(primary.url('reading')))
  })

  test('while a copy writes: nothing is copied, and a second copy is complete', async () => {
    expect(writing).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(AWAY) })
    expect(writing.notes).toMatch(/^tollgate: nothing was copied: .+, then copy again$/m)
    expect(Object.values(await readRawRows(primary.url('writing'))).flat()).toEqual([])
    await copyAgain(file('full'), way('writing').url)
    expect(await readRawRows(primary.url('writing'))).toEqual(await readRawRows(file('full')))
  })

  test('after the commit of a copy that was not confirmed: the copy is complete, and is not reported as complete', async () => {
    expect(copied).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(UNCONFIRMED) })
    expect(await readRawRows(primary.url('copied'))).toEqual(await readRawRows(file('full')))
  })

  test('during an audit: the audit fails, and reports nothing as exact', () => {
    expect(auditing).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(AWAY) })
    expect(auditing.notes).toMatch(/DATABASE_URL is right, then try again\.$/m)
  })

  test('during a migration: no part of the migration is stored, and the next start runs it', async () => {
    expect(migrating).toMatchObject({ code: 1, notes: expect.stringMatching(AWAY) })
    expect(await schemaOf('migrating')).toBe(PROGRAM_SCHEMA - 1)
    await startAgain('migrating')
    expect(await schemaOf('migrating')).toBe(PROGRAM_SCHEMA)
  })

  test('after the commit of a migration that was not confirmed: the migration is complete, and the next start opens the store', async () => {
    expect(migrated).toMatchObject({ code: 1, notes: expect.stringMatching(AWAY) })
    expect(await schemaOf('migrated')).toBe(PROGRAM_SCHEMA)
    await startAgain('migrated')
    expect(await schemaOf('migrated')).toBe(PROGRAM_SCHEMA)
  })
})

describe('a standby that was behind is promoted', () => {
  let copied: Finished
  let migrated: Finished

  beforeAll(async () => {
    await makeDatabases({ copy_lost: 'empty', migration_lost: 'older' })
    const standby = await primary.standby('s2')
    await arrived()
    await standby.cutReplication()
    way('copy_lost').severAfter('commit\0')
    copied = await run(['copy', '--to', way('copy_lost').url], file('full'))
    way('migration_lost').severAfter('commit\0')
    migrated = await run(['serve'], way('migration_lost').url)
    await failOver(standby)
  })

  test('after the commit of a copy: the copy has no row, and a second copy is complete', async () => {
    expect(copied).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(UNCONFIRMED) })
    expect(Object.values(await readRawRows(primary.url('copy_lost'))).flat()).toEqual([])
    await copyAgain(file('full'), way('copy_lost').url)
    expect(await readRawRows(primary.url('copy_lost'))).toEqual(await readRawRows(file('full')))
  })

  test('after the commit of a migration: no part of the migration is stored, and the next start runs it', async () => {
    expect(migrated).toMatchObject({ code: 1, notes: expect.stringMatching(AWAY) })
    expect(await schemaOf('migration_lost')).toBe(PROGRAM_SCHEMA - 1)
    await startAgain('migration_lost')
    expect(await schemaOf('migration_lost')).toBe(PROGRAM_SCHEMA)
  })
})
