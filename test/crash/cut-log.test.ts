import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import type { BatchedLedger } from '../../src/ledger/engines/batched-ledger.ts'
import { createLedger, sqliteLedger } from '../../src/ledger/engines/create-ledger.ts'
import { SqliteEngine } from '../../src/ledger/engines/sqlite-engine.ts'
import { openInstance } from '../../src/ledger/instances/open-instance.ts'
import { LEDGER_LIMITS_DEFAULT } from '../../src/ledger/ledger.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../../src/ledger/testing/script.ts'
import { benchOnStore } from '../../src/ledger/testing/store-bench.ts'
import { openStore } from '../../src/store/open-store.ts'
import { openSqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { micros } from '../../src/vocabulary/money.ts'
import type { RequestState } from '../../src/vocabulary/outcome.ts'

const CREDIT_MICROS = 1_000_000
const GRANTED_MICROS = 100
// Their numbers of opened and settled holds repeat after these.
const COMMITS = 12
// Commits after which the whole store is opened, with its four threads.
const SERVED_EVERY = 6
const DEAD_INSTANCE = 'inst_dead'
const KEYS = ['K0', 'K1', 'K2', 'K3']
const LIMITS = { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 1_000 }

// The file format of SQLite: https://www.sqlite.org/fileformat2.html#walformat
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PAGE_BYTES_AT = 8
const COMMIT_MARK_AT = 4

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-cut-log-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** The ledger as it must be after so many commits: the account's balance, and each request's state. */
interface Expected {
  readonly balanceMicros: number
  readonly states: ReadonlyMap<string, RequestState>
}

/** The two files of a store, as a crash may leave them. */
interface Files {
  readonly database: Buffer
  readonly log: Buffer
}

test('a process that dies at any byte of its log leaves every commit before that byte, exact, and none after', async () => {
  const { files, expected } = await commitSome()
  const frames = framesOf(files.log)
  // Each commit is its own, or the model would not tell which of them are there.
  expect(frames.filter(({ ends }) => ends)).toHaveLength(COMMITS)
  let commits = 0
  let recovered = 0
  for (const [place, { start, end, ends }] of frames.entries()) {
    const torn = tornFrame(files.log, { start, end, place })
    const whole = files.log.subarray(0, end)
    checkRecovered(writeFiles({ ...files, log: torn }), expected[commits])
    if (ends) commits++
    const file = writeFiles({ ...files, log: whole })
    const isServed = ends && commits % SERVED_EVERY === 0
    if (isServed) await checkServed(file, expected[commits])
    else checkRecovered(file, expected[commits])
    recovered += 2
  }
  expect(commits).toBe(COMMITS)
  expect(recovered).toBeGreaterThan(4 * COMMITS)
})

/** Opens and settles holds, several a commit, and returns the ledger after each of them. */
async function commitSome(): Promise<{ files: Files; expected: readonly Expected[] }> {
  const file = join(folder, 'made.db')
  await prepare(file)
  const ledger = sqliteLedger({ file, limits: LIMITS })
  const states = new Map<string, RequestState>()
  let balanceMicros = CREDIT_MICROS
  const expected: Expected[] = [{ balanceMicros, states: new Map() }]
  for (let commit = 1; commit <= COMMITS; commit++) {
    const opened = Array.from({ length: 1 + (commit % 3) }, (_, place) => `R${commit}-${place}`)
    const open = [...states].filter(([, state]) => state === 'open')
    const settled = open.slice(0, commit % 4).map(([requestId]) => requestId)
    await Promise.all([
      ...opened.map((requestId, place) => openHold(ledger, { requestId, place })),
      ...settled.map((requestId) => settle(ledger, { requestId, chargeMicros: commit })),
    ])
    for (const requestId of opened) states.set(requestId, 'open')
    for (const requestId of settled) states.set(requestId, 'final')
    balanceMicros -= commit * settled.length
    expected.push({ balanceMicros, states: new Map(states) })
  }
  // While the ledger is open, as a kill would find them: its close empties the log.
  const files = { database: readFileSync(file), log: readFileSync(`${file}-wal`) }
  await ledger.close()
  return { files, expected }
}

/** Overwrites the earlier files, which no process has open any longer. */
function writeFiles({ database, log }: Files): string {
  const file = join(folder, 'left.db')
  writeFileSync(file, database)
  writeFileSync(`${file}-wal`, log)
  return file
}

/** A store with an account, its keys and its credit, and an empty log. */
async function prepare(file: string): Promise<void> {
  const store = await openStore({ url: `sqlite:${file}` })
  const ledger = createLedger({ location: store.location })
  const bench = benchOnStore({ store, ledger, remove: async () => {} })
  await bench.createAccount('A')
  for (const apiKey of KEYS) await bench.createApiKey(apiKey, 'A')
  await runScript(bench, `credit A backed ${CREDIT_MICROS} first`)
  await bench.close()
}

function openHold(
  ledger: BatchedLedger,
  { requestId, place }: { readonly requestId: string; readonly place: number },
) {
  return ledger.openHold({
    ...holdInput(requestId),
    accountId: 'A',
    apiKeyId: KEYS[place % KEYS.length] ?? '',
    instanceId: DEAD_INSTANCE,
    neededMicros: micros(GRANTED_MICROS),
    leastMicros: micros(GRANTED_MICROS),
    freeCreditQualifies: false,
    freeCreditAloneRunsOnLess: false,
  })
}

function settle(
  ledger: BatchedLedger,
  { requestId, chargeMicros }: { readonly requestId: string; readonly chargeMicros: number },
) {
  const charge = micros(chargeMicros)
  const resolution = { kind: 'final', chargeMicros: charge, costUsd: costOfCharge(charge) } as const
  return ledger.settle({ requestId, resolution, facts: FACTS })
}

interface Frame {
  readonly start: number
  readonly end: number
  /** Whether it is the last of a commit. */
  readonly ends: boolean
}

function framesOf(log: Buffer): readonly Frame[] {
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(PAGE_BYTES_AT)
  const frames: Frame[] = []
  for (let start = LOG_HEADER_BYTES; start + frameBytes <= log.length; start += frameBytes) {
    const ends = log.readUInt32BE(start + COMMIT_MARK_AT) !== 0
    frames.push({ start, end: start + frameBytes, ends })
  }
  return frames
}

/** A log whose last frame is there in part: cut off, filled up with nothing, or with something else. */
function tornFrame(
  log: Buffer,
  { start, end, place }: Pick<Frame, 'start' | 'end'> & { readonly place: number },
): Buffer {
  // Another byte each time, over the whole length of a frame.
  const at = start + 1 + ((place * 977) % (end - start - 1))
  const rests = [Buffer.alloc(0), Buffer.alloc(end - at), Buffer.alloc(end - at, 0x5a)]
  return Buffer.concat([log.subarray(0, at), rests[place % rests.length] ?? Buffer.alloc(0)])
}

/** Opens a store as the writer does, and ends what the dead process left open. */
function checkRecovered(file: string, expected: Expected | undefined): void {
  const connection = openSqliteConnection({ file })
  const { verdicts } = new SqliteEngine(connection).apply(
    [{ kind: 'abandonInstance', input: DEAD_INSTANCE }],
    { nowMs: Date.now(), limits: LIMITS },
  )
  const requests = connection.prepare('select id, state from all_requests').all()
  const states = new Map(requests.map(({ id, state }) => [String(id), String(state)]))
  const account = connection.prepare('select * from accounts').get()
  const entries = connection.prepare('select sum(amount_micros) as sum from entries').get()
  expect({
    verdict: verdicts[0],
    states,
    balanceMicros: account?.['backed_balance_micros'],
    postedMicros: entries?.['sum'],
    heldMicros: account?.['backed_held_micros'],
    integrity: connection.prepare('pragma integrity_check').get(),
  }).toEqual({
    verdict: openOf(expected),
    states: statesAfter(expected),
    balanceMicros: expected?.balanceMicros,
    postedMicros: expected?.balanceMicros,
    heldMicros: openOf(expected) * GRANTED_MICROS,
    integrity: { integrity_check: 'ok' },
  })
  connection.close()
}

/** Opens a store with all that `serve` opens it with, and has it audited. */
async function checkServed(file: string, expected: Expected | undefined): Promise<void> {
  const store = await openStore({ url: `sqlite:${file}` })
  const ledger = createLedger({ location: store.location })
  const abandoned: number[] = []
  const failures: unknown[] = []
  const instance = await openInstance({
    store,
    ledger,
    instanceId: 'inst_next',
    clock: systemClock,
    onAbandoned: (count) => abandoned.push(count),
    onFailure: (cause) => failures.push(cause),
  })
  expect({ abandoned, failures }).toEqual({ abandoned: [openOf(expected)], failures: [] })
  const { requests } = await listRequests(store.db, { limit: 1_000 })
  expect(new Map(requests.map(({ id, state }) => [id, state]))).toEqual(statesAfter(expected))
  expect((await auditStore(store)).differences).toEqual([])
  await instance.close()
  await ledger.close()
  await store.close()
}

function openOf(expected: Expected | undefined): number {
  return [...(expected?.states.values() ?? [])].filter((state) => state === 'open').length
}

function statesAfter(expected: Expected | undefined): ReadonlyMap<string, RequestState> {
  const states = [...(expected?.states ?? [])]
  return new Map(states.map(([id, state]) => [id, state === 'open' ? 'unresolved' : state]))
}
