import { copyFileSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NotSent, StoreUnavailable } from '../../store/store-failure.ts'
import { micros } from '../../vocabulary/money.ts'
import { abandonEarlierInstances } from '../instances/open-instance.ts'
import type { LedgerLimits, OpenHoldInput } from '../ledger.ts'
import type { Bench } from '../testing/bench.ts'
import { createMemoryBench } from '../testing/memory-bench.ts'
import { runLoad, unanswered } from '../testing/run-load.ts'
import { FACTS, holdInput, runScript } from '../testing/script.ts'
import { createSqliteBench, type SqliteBench } from '../testing/sqlite-bench.ts'
import { createLedger, sqliteLedger } from './create-ledger.ts'

const LIMITS: LedgerLimits = {
  openHoldsMax: 4,
  keyRequestsPerMinuteMax: 1_000,
  unbackedAccountRequestsPerMinuteMax: 1_000,
}

let bench: SqliteBench

beforeEach(async () => {
  bench = await createSqliteBench({ limits: LIMITS, busyTimeoutMs: 20 })
})

afterEach(() => bench.auditAndClose())

function holdOf(requestId: string, apiKeyId: string, neededMicros = 10): OpenHoldInput {
  return holdInput(requestId, { apiKeyId, amountMicros: neededMicros })
}

/** An account A with paid credit and so many keys, K1 and on. */
async function setUp(input: { readonly credit: number; readonly keys: number }): Promise<string[]> {
  await bench.createAccount('A')
  const keys = Array.from({ length: input.keys }, (_, place) => `K${place + 1}`)
  for (const key of keys) await bench.createApiKey(key, 'A')
  await runScript(bench, `credit A backed ${input.credit} first`)
  return keys
}

describe('at the same time', () => {
  test('200 requests on credit for exactly 50 open exactly 50', async () => {
    const keys = await setUp({ credit: 500, keys: 50 })
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, place) =>
        bench.ledger.openHold(holdOf(`R${place}`, keys[place % 50] ?? '')),
      ),
    )
    const kinds = verdicts.map((verdict) =>
      verdict.kind === 'opened' ? 'opened' : `${verdict.code} ${verdict.facts.heldMicros}`,
    )
    expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(50)
    expect(kinds.filter((kind) => kind === 'insufficient_credit 500')).toHaveLength(150)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 500 held 500, free 0 held 0')
  })

  test('50 repeats of one reference add its credit once', async () => {
    await bench.createAccount('A')
    const credit = {
      accountId: 'A',
      purse: 'backed',
      amountMicros: micros(70),
      expiresAtMs: null,
      reference: 'order 1',
    } as const
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, () => bench.ledger.addCredit(credit)),
    )
    const kinds = verdicts.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'added')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'exists')).toHaveLength(49)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 70 held 0, free 0 held 0')
  })

  test('a settle frees credit for the opens of its own commit, in either order', async () => {
    await setUp({ credit: 10, keys: 1 })
    await bench.ledger.openHold(holdOf('R1', 'K1'))
    const [opened, settled] = await Promise.all([
      bench.ledger.openHold(holdOf('R2', 'K1')),
      bench.ledger.settle({ requestId: 'R1', resolution: { kind: 'released' }, facts: FACTS }),
    ])
    expect(settled).toMatchObject({ state: 'released', settledNow: true })
    expect(opened).toMatchObject({ kind: 'opened', grantedMicros: 10 })
  })

  test('an impossible command does not affect the others in its batch', async () => {
    await setUp({ credit: 100, keys: 1 })
    const impossible = {
      accountId: 'A',
      purse: 'backed',
      amountMicros: micros(0),
      expiresAtMs: null,
      reference: 'of zero',
    } as const
    const answers = await Promise.allSettled([
      bench.ledger.openHold(holdOf('R1', 'K1')),
      bench.ledger.addCredit(impossible),
      bench.ledger.openHold(holdOf('R2', 'K1')),
    ])
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { kind: 'opened' } },
      { status: 'rejected', reason: { name: 'StoreRefused' } },
      { status: 'fulfilled', value: { kind: 'opened' } },
    ])
    expect(await runScript(bench, 'show K1 →')).toBe('show K1 → spend 0 held 20 open 2')
  })

  test('commands that share a commit answer as they would one after another', async () => {
    const keys = await setUp({ credit: 1_000, keys: 3 })
    const alone = createMemoryBench({ limits: LIMITS })
    await alone.createAccount('A')
    for (const key of keys) await alone.createApiKey(key, 'A')
    await runScript(alone, 'credit A backed 1000 first')
    let opened = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...keys), fc.nat(200)), { maxLength: 30 }),
        async (wishes) => {
          const first = opened
          const holds = wishes.map(([key, needed]) => holdOf(`R${opened++}`, key, needed))
          const runAll = (ledger: Bench['ledger']) =>
            Promise.all(holds.map((hold) => ledger.openHold(hold)))
          expect(await runAll(bench.ledger)).toEqual(await runAll(alone.ledger))
          const ends = Array.from({ length: opened - first }, (_, place) => `R${first + place}`)
          const settleAll = (ledger: Bench['ledger']) =>
            Promise.allSettled(
              ends.map((requestId) =>
                ledger.settle({ requestId, resolution: { kind: 'released' }, facts: FACTS }),
              ),
            )
          const outcome = ({ status }: { readonly status: string }) => status
          expect((await settleAll(bench.ledger)).map(outcome)).toEqual(
            (await settleAll(alone.ledger)).map(outcome),
          )
        },
      ),
      { numRuns: 20 },
    )
  })
})

describe('a store that fails', () => {
  test('fails the commands of that commit alone, and the next commit succeeds', async () => {
    await setUp({ credit: 100, keys: 1 })
    const blocker = new DatabaseSync(bench.file)
    blocker.exec('begin immediate')
    await expect(bench.ledger.openHold(holdOf('R1', 'K1'))).rejects.toBeInstanceOf(StoreUnavailable)
    blocker.exec('rollback')
    blocker.close()
    expect(await bench.ledger.openHold(holdOf('R2', 'K1'))).toMatchObject({ kind: 'opened' })
    await bench.ledger.sure()
    expect(await runScript(bench, 'show R1 →')).toBe('show R1 → none')
  })

  test('leaves no hold of a request whose open was refused', async () => {
    await setUp({ credit: 100, keys: 1 })
    // The commit that this ledger gets no answer to is made by another one.
    const other = sqliteLedger({ file: bench.file, limits: LIMITS })
    await other.openHold(holdOf('R1', 'K1'))
    await other.close()
    const blocker = new DatabaseSync(bench.file)
    blocker.exec('begin immediate')
    await expect(bench.ledger.openHold(holdOf('R1', 'K1'))).rejects.toBeInstanceOf(StoreUnavailable)
    blocker.exec('rollback')
    blocker.close()
    await bench.ledger.sure()
    expect(await bench.request('R1')).toMatchObject({ state: 'released', httpStatus: 503 })
  })

  test('that is closed answers the commands that it has taken and takes no more', async () => {
    await setUp({ credit: 100, keys: 1 })
    const other = sqliteLedger({ file: bench.file, limits: LIMITS })
    const taken = other.openHold(holdOf('R1', 'K1'))
    await other.close()
    expect(await taken).toMatchObject({ kind: 'opened' })
    await expect(other.openHold(holdOf('R2', 'K1'))).rejects.toBeInstanceOf(StoreUnavailable)
  })

  test('whose disk is full loses nothing that it answered', async () => {
    const keys = await setUp({ credit: 1_000_000_000, keys: 8 })
    // A limit on the size of files is the disk that ends; without the trap it would be a signal.
    const script = 'trap "" XFSZ; ulimit -f 2000; exec "$0" "$@"'
    const lines = await runLoad({ shell: script, url: `sqlite:${bench.file}`, keys })
    expect(lines.at(-1)).toBe('unavailable')
    expect(lines.length).toBeGreaterThan(100)
    await abandonEarlierInstances({
      db: bench.db,
      ledger: bench.ledger,
      instanceId: 'inst_next',
    })
    expect(await unanswered(bench, lines)).toEqual([])
  })
})

describe('a process that is killed', () => {
  test('loses nothing that it answered, and its open holds become unresolved', async () => {
    const keys = await setUp({ credit: 1_000_000_000, keys: 16 })
    const lines = await runLoad({
      shell: 'exec "$0" "$@"',
      url: `sqlite:${bench.file}`,
      keys,
      killAt: 3_000,
    })
    expect(lines.length).toBeGreaterThanOrEqual(3_000)
    const db = bench.db
    const abandoned = await abandonEarlierInstances({
      db,
      ledger: bench.ledger,
      instanceId: 'inst_next',
    })
    const open = await db
      .selectFrom('all_requests')
      .select('id')
      .where('state', '=', 'open')
      .execute()
    const unresolved = await db
      .selectFrom('all_requests')
      .select('id')
      .where('state', '=', 'unresolved')
      .execute()
    expect(open).toEqual([])
    expect(unresolved).toHaveLength(abandoned)
    expect(await unanswered(bench, lines)).toEqual([])
  })
})

const NOT_OPENED = 'is not the file that this server opened'

test('a writer that begins later writes nothing to a file that has replaced the store', async () => {
  await setUp({ credit: 100, keys: 1 })
  const { file } = bench
  const later = createLedger({ location: bench.store.location, limits: LIMITS })
  renameSync(file, `${file}.away`)
  copyFileSync(`${file}.away`, file)
  const bytes = readFileSync(file)
  const refused = later.openHold(holdOf('R1', 'K1'))
  await expect(refused).rejects.toThrow(NOT_OPENED)
  await expect(refused).rejects.toMatchObject({ fault: 'moved' })
  expect(readFileSync(file)).toEqual(bytes)
  renameSync(`${file}.away`, file)
  expect(await later.openHold(holdOf('R1', 'K1'))).toMatchObject({ kind: 'opened' })
  await later.close()
})

test.each([
  ['moved away', NOT_OPENED, (_file: string) => {}],
  ['replaced by an older copy', NOT_OPENED, (file: string) => copyFileSync(`${file}.away`, file)],
  ['replaced by a link to itself', 'ELOOP', (file: string) => symlinkSync(file, file)],
])(
  'nothing is answered from a file that was %s, or written to it, until the file is back',
  async (_, why, replace) => {
    await setUp({ credit: 100, keys: 1 })
    const { file } = bench
    renameSync(file, `${file}.away`)
    replace(file)
    for (const requestId of ['R1', 'R2']) {
      const refused = bench.ledger.openHold(holdOf(requestId, 'K1'))
      await expect(refused).rejects.toThrow(why)
      await expect(refused).rejects.toBeInstanceOf(NotSent)
      expect(bench.ledger.isUnsure(requestId)).toBe(false)
    }
    rmSync(file, { force: true })
    renameSync(`${file}.away`, file)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 100 held 0, free 0 held 0')
    expect(await bench.ledger.openHold(holdOf('R3', 'K1'))).toMatchObject({ kind: 'opened' })
  },
)

test.each(['-wal', '-shm'])(
  'no hold is granted once %s next to the file was removed or replaced, and refused requests leave nothing',
  async (end) => {
    await setUp({ credit: 100, keys: 1 })
    const path = bench.file + end
    renameSync(path, `${path}.away`)
    for (const replace of [() => {}, () => copyFileSync(`${path}.away`, path)]) {
      replace()
      const refused = bench.ledger.openHold(holdOf('R1', 'K1'))
      await expect(refused).rejects.toThrow(`${path} is not the file that this server uses`)
      await expect(refused).rejects.toMatchObject({ fault: 'moved' })
      await expect(refused).rejects.toBeInstanceOf(NotSent)
    }
    renameSync(`${path}.away`, path)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 100 held 0, free 0 held 0')
    expect(await bench.ledger.openHold(holdOf('R1', 'K1'))).toMatchObject({ kind: 'opened' })
  },
)
