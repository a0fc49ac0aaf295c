import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  copyFile,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HANG_LIMITS } from '../../test/hang-limits.ts'
import { SchemaMismatch } from './migrate.ts'
import { MIGRATIONS, type Migration, PROGRAM_SCHEMA } from './migrations/migrations.ts'
import { type OpenStoreInput, openStore } from './open-store.ts'
import type { Tables } from './schema.ts'
import { ACCOUNTS } from './schema.ts'
import {
  claimUpstream,
  readSetting,
  settingOnce,
  UpstreamMismatch,
  writeSetting,
} from './settings.ts'
import type { Store } from './store.ts'
import { StoreRefused, StoreUnavailable } from './store-failure.ts'

const CHILD = fileURLToPath(new URL('./testing/open-store-child.ts', import.meta.url))

const NEXT: Migration = {
  number: PROGRAM_SCHEMA + 1,
  name: 'next',
  async up(db) {
    await db.schema.createTable('later').addColumn('id', 'text').execute()
  },
}
const BROKEN: Migration = {
  number: PROGRAM_SCHEMA + 1,
  name: 'broken',
  async up(db) {
    await db.schema.createTable('half_made').addColumn('id', 'text').execute()
    throw new Error('the second half failed')
  },
}

let folder: string
let file: string
let opened: Store[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-store-'))
  file = join(folder, 'store.db')
  opened = []
})

afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await rm(folder, { recursive: true })
})

async function open(input: OpenStoreInput = {}): Promise<Store> {
  const store = await openStore({ url: `sqlite:${file}`, ...input })
  opened.push(store)
  return store
}

async function schemaOf({ db }: Store): Promise<string> {
  const { rows } = await sql<{ sql: string }>`
    select sql from sqlite_schema where sql is not null order by type desc, name`.execute(db)
  return `${rows.map((row) => `${row.sql};`).join('\n')}\n`
}

async function tableNames({ db }: Store): Promise<string[]> {
  return (await db.introspection.getTables()).map(({ name }) => name)
}

describe('migrations', () => {
  test('make the schema that is committed in schema.sql', async () => {
    const committed = await readFile(new URL('./schema.sql', import.meta.url), 'utf8')
    expect(await schemaOf(await open())).toBe(committed)
  })

  test('are numbered from the schema of 0.2.0 on without gaps', () => {
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, place) => place + 26))
  })

  test.each([13, 20])(
    'do not begin with schema %d, of 0.1.0 or a checkout before 0.2.0: the error names 0.2.0 as the first step',
    async (number) => {
      const { db } = await open()
      await db.deleteFrom('migrations').execute()
      await db.insertInto('migrations').values({ number, name: 'old', applied_at_ms: 1 }).execute()
      for (const migrateStore of ['ifEmpty', 'always'] as const) {
        await expect(open({ migrateStore })).rejects.toThrow(
          `the store has schema ${number}, and this program migrates only stores of schema 26 (release 0.2.0) or newer: ` +
            'start `tollgate serve` of 0.2.0 once, which migrates the store, and then this program',
        )
      }
      expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('before'))
    },
  )

  test('are harmless when they run again, or in several processes at once', async () => {
    // However long the others take.
    const patient = { busyTimeoutMs: HANG_LIMITS.testTimeout }
    const stores = await Promise.all([open(patient), open(patient), open(patient)])
    const [first] = stores
    if (first === undefined) throw new Error('no store')
    await writeSetting(first.db, { name: 'maintenance', value: 'on' })
    const again = await open()
    expect(await readSetting(again.db, 'maintenance')).toBe('on')
    expect(await again.db.selectFrom('migrations').select('number').execute()).toEqual(
      MIGRATIONS.map(({ number }) => ({ number })),
    )
    expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('before'))
  })

  test('wait for another program that makes the same new store at this moment', async () => {
    const other = new DatabaseSync(file)
    other.exec('begin immediate')
    const opening = open({ busyTimeoutMs: HANG_LIMITS.testTimeout })
    // In the time that this takes, the first try of the other one was refused.
    await Promise.race([opening, open({ url: `sqlite:${join(folder, 'other.db')}` })])
    other.exec('rollback')
    other.close()
    expect(await tableNames(await opening)).toContain('migrations')
  })

  test('of a newer program are refused', async () => {
    await open({ migrations: [...MIGRATIONS, NEXT] })
    await expect(open()).rejects.toThrow(SchemaMismatch)
    await expect(open({ migrateStore: 'always' })).rejects.toThrow(/run the newer program/)
  })

  test('of a newer program are refused in a sentence with the newest copy that this program can use', async () => {
    await open()
    await open({ migrations: [...MIGRATIONS, NEXT], migrateStore: 'always' })
    const copy = `${file}.before-${NEXT.number}`
    await expect(open()).rejects.toThrow(`stop it and restore ${copy}, the copy that was made`)
    await copyFile(copy, `${copy}.2`)
    await copyFile(copy, `${file}.before-27`)
    await copyFile(copy, `${file}.before-${NEXT.number + 1}`)
    await expect(open()).rejects.toThrow(`restore ${copy}.2, the copy that was made`)
    for (const name of await readdir(folder))
      if (name.includes('before')) await rm(join(folder, name))
    await expect(open()).rejects.toThrow('restore the backup that was made before the upgrade')
  })

  test('migrate an older store only on request, and copy it aside before', async () => {
    const before = await open()
    await writeSetting(before.db, { name: 'maintenance', value: 'on' })
    const newer = { migrations: [...MIGRATIONS, NEXT] }
    await expect(open(newer)).rejects.toThrow(/start `tollgate serve` once/)
    expect(await tableNames(before)).not.toContain('later')

    const after = await open({ ...newer, migrateStore: 'always' })
    expect(await tableNames(after)).toContain('later')
    expect(await readSetting(after.db, 'maintenance')).toBe('on')
    const copy = await open({ url: `sqlite:${file}.before-${NEXT.number}` })
    expect(await tableNames(copy)).not.toContain('later')
    expect(await readSetting(copy.db, 'maintenance')).toBe('on')
  })

  test('create a store that only its owner may read, and leave the mode of an existing one', async () => {
    const opened = await open()
    await writeSetting(opened.db, { name: 'maintenance', value: 'on' })
    for (const name of [file, `${file}-wal`]) expect((await stat(name)).mode & 0o777).toBe(0o600)
    await opened.close()
    await chmod(file, 0o640)
    await open()
    expect((await stat(file)).mode & 0o777).toBe(0o640)
  })

  test('make a copy of the store that only its owner can read, even if others can read the store', async () => {
    await open()
    await chmod(file, 0o640)
    await open({ migrations: [...MIGRATIONS, NEXT], migrateStore: 'always' })
    expect((await stat(`${file}.before-${NEXT.number}`)).mode & 0o777).toBe(0o600)
  })

  test('that fail leave the store as it was, and a copy of each try', async () => {
    const before = await open()
    const broken: OpenStoreInput = { migrations: [...MIGRATIONS, BROKEN], migrateStore: 'always' }
    await expect(open(broken)).rejects.toThrow('the second half failed')
    await expect(open(broken)).rejects.toThrow('the second half failed')
    expect(await tableNames(before)).not.toContain('half_made')
    const copies = (await readdir(folder)).filter((name) => name.includes('before'))
    expect(copies.sort()).toEqual([
      `store.db.before-${BROKEN.number}`,
      `store.db.before-${BROKEN.number}.2`,
    ])
  })
})

describe('a store that cannot be opened is reported', () => {
  test('if its folder cannot be created', async () => {
    await writeFile(file, 'a file where a folder should be')
    await expect(open({ url: `sqlite:${file}/store.db` })).rejects.toBeInstanceOf(StoreUnavailable)
  })

  test('if the file is not a database', async () => {
    await writeFile(
      file,
      'this is not a database, and it is longer than a header of one is'.repeat(9),
    )
    await expect(open()).rejects.toBeInstanceOf(StoreUnavailable)
  })

  test('where its folder is read-only', async () => {
    await chmod(folder, 0o555)
    try {
      expect(await openInOtherProcess()).toBe('StoreUnavailable\n')
    } finally {
      await chmod(folder, 0o755)
    }
  })

  test('where its file is read-only', async () => {
    await (await open()).close()
    await chmod(file, 0o444)
    await chmod(folder, 0o555)
    try {
      expect(await openInOtherProcess()).toBe('StoreUnavailable\n')
    } finally {
      await chmod(folder, 0o755)
    }
  })
})

/** Opens the store in a process that permissions apply to: they do not to root. */
async function openInOtherProcess(): Promise<string> {
  const otherUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const child = spawn(process.execPath, [CHILD, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...otherUser,
  })
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return output
}

describe('connections', () => {
  test('write ahead, sync every commit and enforce foreign keys', async () => {
    const { db } = await open()
    const pragma = async (name: string) =>
      Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {})
    expect(await pragma('journal_mode')).toEqual(['wal'])
    expect(await pragma('synchronous')).toEqual([2])
    expect(await pragma('foreign_keys')).toEqual([1])
  })

  test('of reports and snapshots cannot write', async () => {
    const store = await open()
    const write = (db: Kysely<Tables>) => sql`delete from settings`.execute(db)
    await expect(write(store.reports)).rejects.toThrow(/readonly/)
    await expect(store.snapshot(write)).rejects.toThrow(/readonly/)
  })

  test('of a snapshot see one moment, despite writes meanwhile', async () => {
    const store = await open()
    await writeSetting(store.db, { name: 'maintenance', value: 'off' })
    const seen = await store.snapshot(async (view) => {
      const before = await readSetting(view, 'maintenance')
      await writeSetting(store.db, { name: 'maintenance', value: 'on' })
      return [before, await readSetting(view, 'maintenance')]
    })
    expect(seen).toEqual(['off', 'off'])
    expect(await readSetting(store.reports, 'maintenance')).toBe('on')
  })

  test('run a transaction alone, without other statements in it, and completely or not at all', async () => {
    const store = await open()
    const inside = Promise.withResolvers<void>()
    const leave = Promise.withResolvers<void>()
    const failed = store.db.transaction().execute(async (trx) => {
      await writeSetting(trx, { name: 'maintenance', value: 'on' })
      inside.resolve()
      await leave.promise
      throw new Error('changed my mind')
    })
    await inside.promise
    const outside = writeSetting(store.db, { name: 'upstream', value: 'simulator' })
    leave.resolve()
    await expect(failed).rejects.toThrow('changed my mind')
    await outside
    expect(await readSetting(store.db, 'maintenance')).toBeNull()
    expect(await readSetting(store.db, 'upstream')).toBe('simulator')
  })

  test('wait for a write of another process, up to the time-out', async () => {
    const store = await open({ busyTimeoutMs: 1 })
    const blocker = new DatabaseSync(file)
    blocker.exec('begin immediate')
    const write = () => writeSetting(store.db, { name: 'maintenance', value: 'on' })
    await expect(write()).rejects.toBeInstanceOf(StoreUnavailable)
    blocker.exec('rollback')
    blocker.close()
    await write()
  })

  test('hardly wait for a lock behind one that has waited for it in vain, until a write has had it', async () => {
    const busyTimeoutMs = 2_000
    const store = await open({ busyTimeoutMs })
    const blocker = new DatabaseSync(file)
    blocker.exec('begin immediate')
    const startedAtMs = performance.now()
    const write = () => writeSetting(store.db, { name: 'maintenance', value: 'on' })
    const writes = Array.from({ length: 10 }, write)
    const refused = Promise.allSettled(writes)
    expect(await readSetting(store.db, 'maintenance')).toBeNull()
    expect(performance.now() - startedAtMs).toBeLessThan(writes.length * busyTimeoutMs)
    expect(new Set((await refused).map(({ status }) => status))).toEqual(new Set(['rejected']))
    blocker.exec('rollback')
    await write()
    blocker.exec('begin immediate')
    const lockedAtMs = performance.now()
    await expect(write()).rejects.toBeInstanceOf(StoreUnavailable)
    expect(performance.now() - lockedAtMs).toBeGreaterThan(busyTimeoutMs / 2)
    blocker.close()
  })

  test('refuse free credit below zero or promised twice, and holds below zero', async () => {
    const { db } = await open()
    const account = ACCOUNTS.record({ ...ACCOUNTS.start, id: 'A', name: 'A', createdAtMs: 0 })
    const insert = (figures: { free: number; freeHeld: number; backedHeld: number }) =>
      db
        .insertInto('accounts')
        .values({
          ...account,
          backed_balance_micros: -1,
          backed_held_micros: figures.backedHeld,
          free_balance_micros: figures.free,
          free_held_micros: figures.freeHeld,
        })
        .execute()
    await expect(insert({ free: -1, freeHeld: -1, backedHeld: 0 })).rejects.toThrow(/CHECK/)
    await expect(insert({ free: 1, freeHeld: 2, backedHeld: 0 })).rejects.toThrow(/CHECK/)
    await expect(insert({ free: 0, freeHeld: 0, backedHeld: -1 })).rejects.toThrow(/CHECK/)
    await insert({ free: 1, freeHeld: 1, backedHeld: 0 })
  })

  test('distinguish a refused statement from a failed store', async () => {
    const { db } = await open()
    await db.insertInto('settings').values({ name: 'upstream', value: 'x' }).execute()
    const again = db.insertInto('settings').values({ name: 'upstream', value: 'y' }).execute()
    await expect(again).rejects.toBeInstanceOf(StoreRefused)
  })
})

describe('settings', () => {
  test('that are written once keep their first value', async () => {
    const { db } = await open()
    const once = (value: string) => settingOnce(db, { name: 'account_tag_secret', value })
    expect(await Promise.all([once('a'), once('b'), once('c')])).toEqual(['a', 'a', 'a'])
  })

  test('keep play money from a real upstream, and real money from the simulator', async () => {
    const { db } = await open()
    await claimUpstream(db, 'simulator')
    await claimUpstream(db, 'simulator')
    await expect(claimUpstream(db, 'https://up.example/v1')).rejects.toThrow(UpstreamMismatch)
    await writeSetting(db, { name: 'upstream', value: 'https://up.example/v1' })
    await claimUpstream(db, 'https://other.example/v1')
    await expect(claimUpstream(db, 'simulator')).rejects.toThrow(/other\.example/)
  })
})

test('nothing is read from a file that has replaced the store, by connections from before or from after', async () => {
  const store = await open()
  const reads: (() => Promise<unknown>)[] = [
    () => readSetting(store.db, 'upstream'),
    () => readSetting(store.reports, 'upstream'),
    () => readSetting(store.pages({ owner: 'user_1' }), 'upstream'),
    () => readSetting(store.searches({ owner: 'user_1' }), 'upstream'),
    () => store.snapshot((view) => readSetting(view, 'upstream')),
  ]
  await reads[1]?.()
  await rename(file, `${file}.away`)
  await copyFile(`${file}.away`, file)
  for (const read of reads) await expect(read()).rejects.toMatchObject({ fault: 'moved' })
  await rename(`${file}.away`, file)
  for (const read of reads) await read()
})
