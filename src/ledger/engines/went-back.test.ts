import fc from 'fast-check'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import {
  createRewoundDatabase,
  type RewoundDatabase,
} from '../../store/testing/rewound-database.ts'
import { type SeveringProxy, startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import type { LedgerLimits } from '../ledger.ts'
import { connected } from '../testing/connected.ts'
import { OWNERS, randomScript, SETUP } from '../testing/random-script.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../testing/script.ts'
import { benchOnStore, type StoreBench } from '../testing/store-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'
import type { StoreGap } from './went-back.ts'

const LIMITS: LedgerLimits = {
  openHoldsMax: 100,
  keyRequestsPerMinuteMax: 1_000,
  unbackedAccountRequestsPerMinuteMax: 1_000,
}

let database: RewoundDatabase
/** The way of the ledger to its database. */
let proxy: SeveringProxy
let bench: StoreBench
let ledger: BatchedLedger
let gaps: StoreGap[]
let nowMs: number
/** Resolves with the next gap. */
let told: PromiseWithResolvers<StoreGap>

beforeEach(open)
afterEach(async () => {
  vi.useRealTimers()
  await bench.close()
})

async function open(): Promise<void> {
  database = await createRewoundDatabase()
  proxy = await startSeveringProxy(database.url)
  gaps = []
  nowMs = 0
  told = Promise.withResolvers()
  const store = await openStore({ url: database.url })
  ledger = postgresLedger({
    url: proxy.url,
    limits: LIMITS,
    clock: { nowMs: () => nowMs },
    unsureRetryMs: 1,
    idleDelayMs: 1,
    lockTimeoutMs: 3_500,
    wentBack: {
      instanceId: 'I',
      onWentBack(gap) {
        gaps.push(gap)
        told.resolve(gap)
      },
    },
  })
  const setNowMs = (moment: number): void => {
    nowMs = moment
  }
  const remove = async (): Promise<void> => {
    await proxy.close()
    await database.remove()
  }
  bench = benchOnStore({ store, ledger, setNowMs, remove })
}

const FINAL_70 = {
  requestId: 'R1',
  resolution: { kind: 'final', chargeMicros: micros(70), costUsd: costOfCharge(micros(70)) },
  facts: FACTS,
} as const

/** A ledger on the same database, whose commits are not confirmed to the first. */
function besides(): BatchedLedger {
  return postgresLedger({ url: database.url, limits: LIMITS, clock: { nowMs: () => nowMs } })
}

/** Opens a hold whose commit is not confirmed to the ledger, and returns what the ledger asks for again. */
async function openUnconfirmed() {
  const asked = holdInput('R1', { amountMicros: 100 })
  const other = besides()
  await other.openHold(asked)
  await other.close()
  return asked
}

describe('a database that went back', () => {
  test('has every request that was answered again, charged as it was, and says what was gone', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    await runScript(bench, 'open R1 K 100\nopen R2 K 50')
    await database.keep()
    await connected(ledger)
    expect(gaps).toEqual([])
    await runScript(
      bench,
      `at 2
      settle R1 final 70
      open R3 K 30
      at 3
      open R4 K 20
      settle R4 provisional 9
      credit A backed 5 second`,
    )
    await database.goBack()
    await connected(ledger)
    expect(gaps).toEqual([
      {
        fromMs: 2_000,
        untilMs: 3_000,
        commits: 5,
        isAtLeast: false,
        requests: 3,
        chargeMicros: 79,
        commands: 1,
        lost: 0,
      },
    ])
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 926 held 80, free 0 held 0')
    expect(await bench.request('R3')).toMatchObject({ state: 'open', openedAtMs: 2_000 })
    expect(await bench.request('R4')).toMatchObject({ state: 'provisional', openedAtMs: 3_000 })
    await runScript(bench, 'settle R2 final 50\nsettle R3 released')
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 876 held 0, free 0 held 0')
    await bench.audit()
  })

  test('has credit again that was added before a hold that was asked for twice', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first\nopen R1 K 100')
    await database.keep()
    await connected(ledger)
    await runScript(bench, 'credit A backed 5 second')
    await runScript(bench, 'open R1 K 100')
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commands: 1, lost: 0 }])
    const references = (await bench.entries('A')).map(({ reference }) => reference)
    expect(references).toEqual(['first', 'second'])
    await bench.audit()
  })

  test('has credit again that was added beside a hold whose first answer was lost', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    const asked = await openUnconfirmed()
    await database.keep()
    await connected(ledger)
    const second = { accountId: 'A', purse: 'backed', reference: 'second' } as const
    await Promise.all([
      ledger.openHold(asked),
      ledger.addCredit({ ...second, amountMicros: micros(5), expiresAtMs: null }),
    ])
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commits: 1, requests: 0, commands: 1, lost: 0 }])
    const references = (await bench.entries('A')).map(({ reference }) => reference)
    expect(references).toEqual(['first', 'second'])
    expect(await runScript(bench, 'settle R1 final 70 →')).toBe('settle R1 final 70 → final 70')
    await bench.audit()
  })

  test('has a hold again whose first answer was lost, wherever the database went back to', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    await database.keep()
    await connected(ledger)
    const asked = await openUnconfirmed()
    await ledger.openHold(asked)
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commits: 1, requests: 1, lost: 0 }])
    expect(await runScript(bench, 'settle R1 final 70 →')).toBe('settle R1 final 70 → final 70')
    await bench.audit()
  })

  test('has the end of a request again whose first answer was lost', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first\nopen R1 K 100')
    await database.keep()
    await connected(ledger)
    const other = besides()
    await other.settle(FINAL_70)
    await other.close()
    expect(await ledger.settle(FINAL_70)).toMatchObject({ settledNow: false })
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commits: 1, requests: 1, chargeMicros: 70, lost: 0 }])
    expect(await bench.request('R1')).toMatchObject({ state: 'final', backedChargeMicros: 70 })
    await bench.audit()
  })

  test('has lost nothing where a hold is gone that was released because its answer was lost', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    await database.keep()
    await connected(ledger)
    const asked = await openUnconfirmed()
    ledger.releaseUnsure(asked)
    await ledger.sure()
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commits: 1, requests: 0, commands: 0, lost: 0 }])
    await bench.audit()
  })

  test('holds no credit of a hold that was given back, also where the answer about that was lost too', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    const asked = await openUnconfirmed()
    await database.keep()
    await connected(ledger)
    const giver = besides()
    const resolution = { kind: 'released' } as const
    await giver.settle({ requestId: 'R1', resolution, facts: FACTS })
    await giver.close()
    ledger.releaseUnsure(asked)
    await ledger.sure()
    await database.goBack()
    await connected(ledger)
    expect(await bench.request('R1')).toMatchObject({ state: 'released' })
    await bench.audit()
  })

  test('is noticed by a gateway that has no request', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    await database.keep()
    await connected(ledger)
    await runScript(bench, 'open R1 K 100\nsettle R1 final 70')
    await database.goBack()
    expect(await told.promise).toMatchObject({ requests: 1, chargeMicros: 70, lost: 0 })
    expect(await bench.request('R1')).toMatchObject({ state: 'final' })
  })

  test('has accounts, keys and codes of operators again, that no request shows', async () => {
    await ledger.createAccount({ id: 'A', name: 'before' })
    await database.keep()
    await connected(ledger)
    await ledger.updateAccount({ id: 'A', name: 'after' })
    await ledger.createAccount({ id: 'B', name: 'new' })
    await database.goBack()
    await connected(ledger)
    expect(gaps).toMatchObject([{ commits: 2, requests: 0, commands: 2, lost: 0 }])
    expect((await bench.account('A')).name).toBe('after')
    expect((await bench.account('B')).name).toBe('new')
  })

  test('books the free credit that is left, and the rest as backed, below zero if it must be', async () => {
    await runScript(bench, 'account A\nkey K A\ncredit A free 100 gift until 100')
    await database.keep()
    await connected(ledger)
    await runScript(bench, 'open R1 K 60 free\nsettle R1 final 60')
    proxy.shut()
    await database.goBack()
    // Another gateway has spent the credit meanwhile.
    const other = besides()
    const hold = holdInput('other', {
      instanceId: 'J',
      amountMicros: 100,
      freeCreditQualifies: true,
    })
    await other.openHold({ ...hold, neededMicros: micros(90), leastMicros: micros(90) })
    await other.settle({
      requestId: 'other',
      resolution: { kind: 'final', chargeMicros: micros(90), costUsd: costOfCharge(micros(90)) },
      facts: FACTS,
    })
    await other.close()
    proxy.open()
    await connected(ledger)
    expect(gaps).toMatchObject([{ requests: 1, chargeMicros: 60, lost: 0 }])
    expect(await runScript(bench, 'show A →')).toBe('show A → backed -50 held 0, free 0 held 0')
    await bench.audit()
  })

  test('whose loss another gateway books first loses nothing: what needs it is tried again', async () => {
    await database.keep()
    const way = await startSeveringProxy(database.url)
    const other = postgresLedger({
      url: way.url,
      limits: LIMITS,
      clock: { nowMs: () => nowMs },
      wentBack: { instanceId: 'J', onWentBack: () => {} },
    })
    await other.createAccount({ id: 'A', name: 'new' })
    await connected(ledger)
    await ledger.addApiKey({
      id: 'K',
      accountId: 'A',
      name: 'key',
      keyHash: 'hash',
      displayPrefix: 'sk',
    })
    way.shut()
    await database.goBack()
    await connected(ledger)
    expect(gaps).toEqual([])
    way.open()
    expect(await told.promise).toMatchObject({ commits: 1, commands: 1, lost: 0 })
    expect(await bench.apiKey('K')).toMatchObject({ accountId: 'A' })
    await other.close()
    await way.close()
  })

  test('is booked again between commits, never within one', async () => {
    await runScript(bench, 'account A')
    await database.keep()
    const other = besides()
    await other.createAccount({ id: 'B', name: 'new' })
    await other.close()
    await connected(ledger)
    const apiKey = { id: 'K', accountId: 'B', name: 'key', keyHash: 'hash', displayPrefix: 'sk' }
    await ledger.addApiKey(apiKey)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await database.goBack()
    await connected(ledger)
    // No gateway books the account of the key again, so that booking the key is tried again each second.
    const locking = new Client(database.url)
    await locking.connect()
    await locking.query(`begin; select from accounts where id = 'A' for update`)
    const credited = runScript(bench, 'credit A backed 1 first →')
    await expect.poll(() => waitingFor(locking), { interval: 10 }).toBe(1)
    // The transaction of the credit is under way: another one on its connection breaks it.
    proxy.severBefore('begin isolation level')
    vi.advanceTimersByTime(1_000)
    await locking.end()
    expect(await credited).toBe('credit A backed 1 first → added top_up 1')
    vi.useRealTimers()
    await connected(ledger)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 1 held 0, free 0 held 0')
    await bench.audit()
  })
})

/** How many connections wait for a row that another has locked. */
async function waitingFor(locking: Client): Promise<number> {
  // Within a transaction the server would answer what it answered first.
  await locking.query('select pg_stat_clear_snapshot()')
  const { rowCount } = await locking.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rowCount ?? 0
}

/** The lines of a script whose commits were confirmed. */
function acknowledged(answers: string) {
  const opened = new Set<string>()
  const settled = new Map<string, string>()
  const credits = new Set<string>()
  for (const line of answers.split('\n')) {
    const [action = '', answer = ''] = line.split('→').map((text) => text.trim())
    const [kind, id = '', , , reference] = action.split(/\s+/)
    if (kind === 'open' && answer.startsWith('opened')) opened.add(id)
    if (kind === 'settle' && /^(final|provisional|released|unresolved) \d+/.test(answer)) {
      settled.set(id, settled.get(id) ?? answer.split(' ').slice(0, 2).join(' '))
    }
    if (kind === 'credit' && answer.startsWith('added'))
      credits.add(`${action.split(/\s+/)[1]} ${reference}`)
  }
  return { opened, settled, credits }
}

test('after a random script every command that was answered is there, however far the database went back', async () => {
  await bench.close()
  await fc.assert(
    fc.asyncProperty(randomScript, fc.nat(), async (script, place) => {
      await open()
      await runScript(bench, SETUP)
      const lines = script.split('\n')
      const at = place % (lines.length + 1)
      const before = await runScript(bench, lines.slice(0, at).join('\n'))
      await database.keep()
      await connected(ledger)
      const after = await runScript(bench, lines.slice(at).join('\n'))
      await database.goBack()
      await connected(ledger)
      const { opened, settled, credits } = acknowledged(`${before}\n${after}`)
      expect(gaps.map(({ lost }) => lost).filter((lost) => lost > 0)).toEqual([])
      for (const id of opened) expect(await bench.request(id), id).toBeDefined()
      for (const [id] of settled) expect((await bench.request(id))?.state, id).not.toBe('open')
      for (const account of new Set(OWNERS.values())) {
        const entries = await bench.entries(account)
        const references = new Set(entries.map(({ reference }) => `${account} ${reference}`))
        for (const credit of credits) {
          if (credit.startsWith(`${account} `)) expect(references).toContain(credit)
        }
      }
      await bench.audit()
      await bench.close()
    }),
    { numRuns: 10, endOnFailure: true },
  )
  await open()
})
