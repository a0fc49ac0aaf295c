import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { entriesOf } from '../../src/ledger/testing/entries-of.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import { openStore } from '../../src/store/open-store.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { bundled } from '../bundled.ts'
import { chatAt, type Finished, type ServeProcess, serve, tollgate } from '../tollgate-process.ts'
import { CHARGE_MICROS, startCrowd } from './crowd.ts'

/**
 * From 0.2.0 to this version, under load. `tollgate-0.2.0.tar.gz` is the program of 0.2.0 as its compiler made it; it
 * runs on the packages of today. That file never changes.
 */

const run = promisify(execFile)
const CREDIT_MICROS = 1_000_000_000
const ADMIN_TOKEN = 'the-admin-token-of-both-versions-of-this-test'

/** The folder of 0.2.0. */
let earlier: string
let closing: AsyncDisposableStack
let folder: string
let simulator: Simulator
let database: TestDatabase
let accountId: string
let apiKeys: string[]

beforeAll(async () => {
  earlier = mkdtempSync(join(tmpdir(), 'tollgate-0.2.0-'))
  await run('tar', ['-xzf', join(import.meta.dirname, 'tollgate-0.2.0.tar.gz'), '-C', earlier])
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(earlier, 'node_modules'))
})
afterAll(() => rmSync(earlier, { recursive: true }))

beforeEach(async () => {
  closing = new AsyncDisposableStack()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-upgrade-'))
  closing.defer(() => rmSync(folder, { recursive: true }))
  simulator = await startSimulator()
  closing.defer(() => simulator.close())
  simulator.script({ costUsd: 0.001, lookupCostUsd: 0.001, times: 'always' })
})
afterEach(() => closing.disposeAsync())

type Version = '0.2.0' | 'this'

const inputOf = (version: Version) => ({
  folder,
  page: 'off' as const,
  program: version === 'this' ? bundled('tollgate') : join(earlier, 'src', 'main.js'),
  env: {
    DATABASE_URL: database.url,
    UPSTREAM_BASE_URL: simulator.baseUrl,
    UPSTREAM_API_KEY: 'upstream-key',
    ADMIN_API_TOKEN: ADMIN_TOKEN,
    TOLLGATE_REQUESTS_PER_MINUTE: '1000000',
  },
})

async function start(version: Version): Promise<ServeProcess> {
  const server = await serve(inputOf(version))
  // No process outlives its test, however that ends.
  closing.defer(async () => void (await server.stop('SIGKILL')))
  return server
}

function command(version: Version, ...args: readonly string[]): Promise<Finished> {
  return tollgate(args, inputOf(version))
}

/** An empty database. */
async function openDatabase(engine: string): Promise<void> {
  const found = TEST_DATABASES.find((one) => one.engine === engine)
  if (found === undefined) throw new Error(`no engine ${engine}`)
  database = await found.create()
  closing.defer(() => database.remove())
  // A test's database has the tables of today.
  if (engine === 'PostgreSQL') {
    await onPostgres('drop schema public cascade; create schema public')
  }
}

/** Has a 0.2.0 make an account with two keys and credit. */
async function makeAccount({ address }: ServeProcess): Promise<void> {
  const post = async (path: string, fields: object): Promise<Record<string, string>> => {
    const answer = await fetch(`${address}/v1/admin/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body: JSON.stringify(fields),
    })
    const text = await answer.text()
    expect(answer.status, text).toBe(201)
    return JSON.parse(text)
  }
  accountId = (await post('accounts', { name: 'Ada' }))['id'] ?? ''
  const ofAccount = `accounts/${accountId}`
  apiKeys = []
  for (const name of ['one', 'two']) {
    apiKeys.push((await post(`${ofAccount}/keys`, { name }))['key'] ?? '')
  }
  await post(`${ofAccount}/credit`, { kind: 'backed', amount: CREDIT_MICROS, reference: 'first' })
}

async function onPostgres(text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/**
 * Every figure is exact, each request whose charge a client got is charged once, by that amount, and nothing else is
 * charged.
 */
async function expectCharged(answered: readonly string[]): Promise<void> {
  const store = await openStore({ url: database.url, migrateStore: 'always' })
  const { checked, differences } = await auditStore(store, { checks: AUDIT_CHECKS })
  const { requests } = await listRequests(store.db, { limit: 100_000 })
  const entries = await entriesOf(store.db, accountId)
  await store.close()
  expect(differences).toEqual([])
  expect(checked).toMatchObject({ accounts: 1, apiKeys: 2 })
  const charges = new Map(requests.map((row) => [row.id, row.backedChargeMicros]))
  for (const requestId of answered) expect(charges.get(requestId)).toBe(CHARGE_MICROS)
  const chargedMicros = [...charges.values()].reduce((sum, charge) => sum + charge, 0)
  const balanceMicros = entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
  expect(balanceMicros).toBe(CREDIT_MICROS - chargedMicros)
  expect(chargedMicros % CHARGE_MICROS).toBe(0)
}

const OLDER_PROGRAM =
  /the store has schema \d+ and this program knows none above 26: run the newer program, or stop it and restore/

test('on SQLite, this version replaces a running 0.2.0, and the copy that its log names restores 0.2.0', async () => {
  await openDatabase('SQLite')
  const file = database.url.replace('sqlite:', '')
  const old = await start('0.2.0')
  await makeAccount(old)
  const crowd = startCrowd([old.address], apiKeys)
  await crowd.answered(60)
  await expect(serve(inputOf('this'))).rejects.toThrow(
    /another tollgate serves from .*stop it first/,
  )
  expect(await old.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  const answeredByOld = crowd.requestIds.length

  const current = await start('this')
  expect(JSON.parse(await current.logged('is migrated now'))).toMatchObject({ from: 26 })
  expect(JSON.parse(await current.logged('the store is migrated'))).toMatchObject({
    copy: `${file}.before-27`,
  })
  crowd.moveTo([current.address])
  await crowd.answered(60)
  for (const args of [['serve'], ['audit']]) {
    const { code, notes } = await command('0.2.0', ...args)
    expect(notes).toMatch(args[0] === 'serve' ? /another tollgate serves from/ : OLDER_PROGRAM)
    expect(code).toBe(1)
  }
  await crowd.leave()
  expect(await current.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  await expectCharged(crowd.requestIds)
  expect((await command('0.2.0', 'serve')).notes).toMatch(OLDER_PROGRAM)

  for (const suffix of ['-wal', '-shm', '']) rmSync(`${file}${suffix}`, { force: true })
  copyFileSync(`${file}.before-27`, file)
  const audited = await command('0.2.0', 'audit')
  expect(audited.out + audited.notes).toMatch(/^exact: 1 account, 2 keys, /)
  const back = await start('0.2.0')
  expect(await back.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  await expectCharged(crowd.requestIds.slice(0, answeredByOld))
})

test('on PostgreSQL, two processes of 0.2.0 are replaced one at a time, and this version starts when both have stopped', async () => {
  await openDatabase('PostgreSQL')
  const [first, second] = [await start('0.2.0'), await start('0.2.0')]
  await makeAccount(first)
  const crowd = startCrowd([first.address, second.address], apiKeys)
  await crowd.answered(60)
  expect(await first.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  crowd.moveTo([second.address])
  await expect(serve(inputOf('this'))).rejects.toThrow(
    /a gateway of an older version uses this store, .*: stop all gateways of older versions, then start this one again\. Nothing was changed/,
  )
  await crowd.answered(20)
  expect(await onPostgres('select max(number) as number from migrations')).toEqual([{ number: 26 }])
  expect(await second.stop('SIGTERM')).toEqual({ code: 0, signal: null })

  const [third, fourth] = [await start('this'), await start('this')]
  crowd.moveTo([third.address, fourth.address])
  await crowd.answered(60)
  expect((await command('0.2.0', 'serve')).notes).toMatch(OLDER_PROGRAM)
  await crowd.leave()
  for (const server of [third, fourth]) {
    expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  }
  await expectCharged(crowd.requestIds)
})

test('on PostgreSQL, a 0.2.0 that was frozen during a call, and taken for stopped, settles it after the migration, stores no heartbeat and therefore opens no hold', async () => {
  await openDatabase('PostgreSQL')
  simulator.reset()
  simulator.script({ hold: 'beforeHeaders', costUsd: 0.001, lookupCostUsd: 0.001 })
  const frozen = await start('0.2.0')
  await makeAccount(frozen)
  const answering = chatAt(frozen, apiKeys[0] ?? '', { max_tokens: 16 })
  await simulator.gate().arrived()
  frozen.signal('SIGSTOP')
  await onPostgres('update instances set heartbeat_at_ms = heartbeat_at_ms - 60000')
  const current = await start('this')
  frozen.signal('SIGCONT')
  simulator.gate().release()
  const answer = await answering
  expect([answer.status, await answer.json()]).toMatchObject([200, { object: 'chat.completion' }])
  expect(await frozen.logged('the heartbeat could not be stored')).toContain('program_schema')
  expect(await current.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  await frozen.stop('SIGKILL')
  const uncosted = 'backed_charge_micros > 0 and cost_micros is null'
  expect(await onPostgres(`select id from requests where ${uncosted}`)).toHaveLength(1)
  await expectCharged([answer.headers.get('x-request-id') ?? ''])
})
