import fc from 'fast-check'
import { Client } from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { micros } from '../../vocabulary/money.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { registerInstance, stopInstance } from '../instances/open-instance.ts'
import { removeOldMarks } from '../store-gaps.ts'
import { expectAcknowledged } from '../testing/acknowledged.ts'
import { connected } from '../testing/connected.ts'
import { randomScript, SETUP } from '../testing/random-script.ts'
import { RewoundBench } from '../testing/rewound-bench.ts'
import { costOfCharge, FACTS, holdInput } from '../testing/script.ts'

const PAID = 'account A\nkey K A\ncredit A backed 1000 first'

const FINAL_70 = {
  requestId: 'R1',
  resolution: { kind: 'final', chargeMicros: micros(70), costUsd: costOfCharge(micros(70)) },
  facts: FACTS,
} as const

describe('a database that went back', () => {
  // Closing it audits the ledger.
  const world = ofEach(RewoundBench.open)
  afterEach(() => void vi.useRealTimers())

  /** Opens a hold whose commit is not confirmed to the ledger, and returns what the ledger asks for again. */
  async function openUnconfirmed() {
    const asked = holdInput('R1', { amountMicros: 100 })
    const other = world.beside()
    await other.openHold(asked)
    await other.close()
    return asked
  }

  test('counts requests in the next period that are booked again under a clock that was set back before it', async () => {
    await world.run(`${PAID}\nset K allowance 100/day UTC\nopen req_z0 K 1`)
    await world.keep()
    await world.run('at 86401\nopen req_z1 K 10\nsettle req_z1 final 10\nat 86300')
    await world.goBack()
    const script = `at 86410
      open req_z2 K 91 → key_limit_reached needs 91 of 90, held 0, resets 172800
      open req_z2 K 90 → opened 90 = backed 90 + free 0`
    expect(await world.run(script)).toBe(script)
  })

  test('gets back every answered request with its charge, and the loss is reported', async () => {
    await world.run(PAID)
    await world.run('open R1 K 100\nopen R2 K 50')
    await world.keep()
    expect(world.gaps).toEqual([])
    await world.run(`at 2
      settle R1 final 70
      open R3 K 30
      at 3
      open R4 K 20
      settle R4 provisional 9
      credit A backed 5 second`)
    await world.goBack()
    expect(world.gaps).toEqual([
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
    expect(await world.run('show A →')).toBe('show A → backed 926 held 80, free 0 held 0')
    expect(await world.bench.request('R3')).toMatchObject({ state: 'open', openedAtMs: 2_000 })
    expect(await world.bench.request('R4')).toMatchObject({
      state: 'provisional',
      openedAtMs: 3_000,
    })
    await world.run('settle R2 final 50\nsettle R3 released')
    expect(await world.run('show A →')).toBe('show A → backed 876 held 0, free 0 held 0')
  })

  test('gets back credit that was added before a repeated hold', async () => {
    await world.run(`${PAID}\nopen R1 K 100`)
    await world.keep()
    await world.run('credit A backed 5 second')
    await world.run('open R1 K 100')
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commands: 1, lost: 0 }])
    const references = (await world.bench.entries('A')).map(({ reference }) => reference)
    expect(references).toEqual(['first', 'second'])
  })

  test('gets back credit that was added with a hold whose first answer was lost', async () => {
    await world.run(PAID)
    const asked = await openUnconfirmed()
    await world.keep()
    const second = { accountId: 'A', purse: 'backed', reference: 'second' } as const
    await Promise.all([
      world.ledger.openHold(asked),
      world.ledger.addCredit({ ...second, amountMicros: micros(5), expiresAtMs: null }),
    ])
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commits: 1, requests: 0, commands: 1, lost: 0 }])
    const references = (await world.bench.entries('A')).map(({ reference }) => reference)
    expect(references).toEqual(['first', 'second'])
    expect(await world.run('settle R1 final 70 →')).toBe('settle R1 final 70 → final 70')
  })

  test('gets back a hold whose first answer was lost, wherever the database went back to', async () => {
    await world.run(PAID)
    await world.keep()
    const asked = await openUnconfirmed()
    await world.ledger.openHold(asked)
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commits: 1, requests: 1, lost: 0 }])
    expect(await world.run('settle R1 final 70 →')).toBe('settle R1 final 70 → final 70')
  })

  test('gets back the end of a request whose first answer was lost', async () => {
    await world.run(`${PAID}\nopen R1 K 100`)
    await world.keep()
    const other = world.beside()
    await other.settle(FINAL_70)
    await other.close()
    expect(await world.ledger.settle(FINAL_70)).toMatchObject({ settledNow: false })
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commits: 1, requests: 1, chargeMicros: 70, lost: 0 }])
    expect(await world.bench.request('R1')).toMatchObject({
      state: 'final',
      backedChargeMicros: 70,
    })
  })

  test('has lost nothing if the missing hold was released because its answer was lost', async () => {
    await world.run(PAID)
    await world.keep()
    const asked = await openUnconfirmed()
    world.ledger.releaseUnsure(asked)
    await world.ledger.sure()
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commits: 1, requests: 0, commands: 0, lost: 0 }])
  })

  test('holds no credit for a released hold, even if the answer to the release was lost too', async () => {
    await world.run(PAID)
    const asked = await openUnconfirmed()
    await world.keep()
    const giver = world.beside()
    const resolution = { kind: 'released' } as const
    await giver.settle({ requestId: 'R1', resolution, facts: FACTS })
    await giver.close()
    world.ledger.releaseUnsure(asked)
    await world.ledger.sure()
    await world.goBack()
    expect(await world.bench.request('R1')).toMatchObject({ state: 'released' })
  })

  test('is noticed by a gateway that has no request', async () => {
    await world.run(PAID)
    await world.keep()
    await world.run('open R1 K 100\nsettle R1 final 70')
    await world.loseAll()
    expect(await world.foundGap.promise).toMatchObject({ requests: 1, chargeMicros: 70, lost: 0 })
    expect(await world.bench.request('R1')).toMatchObject({ state: 'final' })
  })

  test('gets back accounts, keys and codes that operators created and no request used', async () => {
    await world.ledger.createAccount({ id: 'A', name: 'before' })
    await world.keep()
    await world.ledger.updateAccount({ id: 'A', name: 'after' })
    await world.ledger.createAccount({ id: 'B', name: 'new' })
    await world.goBack()
    expect(world.gaps).toMatchObject([{ commits: 2, requests: 0, commands: 2, lost: 0 }])
    expect((await world.bench.account('A')).name).toBe('after')
    expect((await world.bench.account('B')).name).toBe('new')
  })

  test('charges the remaining free credit first and paid credit for the rest, below zero if necessary', async () => {
    await world.run('account A\nkey K A\ncredit A free 100 gift until 100')
    await world.keep()
    await world.run('open R1 K 60 free\nsettle R1 final 60')
    world.proxy.shut()
    await world.loseAll()
    // Another gateway has spent the credit meanwhile.
    const other = world.beside()
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
    world.proxy.open()
    await connected(world.ledger)
    expect(world.gaps).toMatchObject([{ requests: 1, chargeMicros: 60, lost: 0 }])
    expect(await world.run('show A →')).toBe('show A → backed -50 held 0, free 0 held 0')
  })

  test('whose loss another gateway books first loses nothing: dependent commands are retried', async () => {
    await world.keep()
    const way = await startSeveringProxy(world.url)
    const other = world.beside({ url: way.url, instanceId: 'J' })
    await other.createAccount({ id: 'A', name: 'new' })
    await connected(world.ledger)
    await world.ledger.addApiKey({
      id: 'K',
      accountId: 'A',
      name: 'key',
      keyHash: 'hash',
      displayPrefix: 'sk',
    })
    way.shut()
    await world.goBack()
    expect(world.gaps).toEqual([])
    way.open()
    expect(await world.foundGap.promise).toMatchObject({ commits: 1, commands: 1, lost: 0 })
    expect(await world.bench.apiKey('K')).toMatchObject({ accountId: 'A' })
    await other.close()
    await way.close()
  })

  test('is not assumed by a gateway that others declared dead while it was cut off: it undoes no later change', async () => {
    const { db } = world.bench.store
    const instance = { id: 'I', nowMs: Date.now() }
    await registerInstance(db, instance)
    await world.ledger.createAccount({ id: 'A', name: 'new' })
    await world.ledger.updateAccount({ id: 'A', disabled: false })
    world.proxy.shut()
    await stopInstance(db, instance)
    // As each gateway does when it starts.
    await removeOldMarks(db, Date.now() + 29 * DAY_MS)
    const other = world.beside()
    await other.updateAccount({ id: 'A', disabled: true })
    await other.close()
    world.proxy.open()
    await connected(world.ledger)
    expect(world.gaps).toEqual([])
    expect(await world.bench.account('A')).toMatchObject({ disabled: true })
    const marks = () => db.selectFrom('commit_marks').select('instance_id').execute()
    expect(await marks()).toEqual([{ instance_id: 'I' }])
    await removeOldMarks(db, Date.now() + 31 * DAY_MS)
    expect(await marks()).toEqual([])
  })

  test('is booked again between commits, never within one', async () => {
    await world.run('account A')
    await world.keep()
    const other = world.beside()
    await other.createAccount({ id: 'B', name: 'new' })
    await other.close()
    await connected(world.ledger)
    const apiKey = { id: 'K', accountId: 'B', name: 'key', keyHash: 'hash', displayPrefix: 'sk' }
    await world.ledger.addApiKey(apiKey)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await world.goBack()
    // No gateway books the account of the key again, so that booking the key is tried again each second.
    const locking = new Client(world.url)
    await locking.connect()
    await locking.query(`begin; select from accounts where id = 'A' for update`)
    const credited = world.run('credit A backed 1 first →')
    await expect.poll(() => waitingFor(locking), { interval: 10 }).toBe(1)
    // The transaction of the credit is under way: another one on its connection breaks it.
    world.proxy.severBefore('begin isolation level')
    vi.advanceTimersByTime(1_000)
    await locking.end()
    expect(await credited).toBe('credit A backed 1 first → added top_up 1')
    vi.useRealTimers()
    await connected(world.ledger)
    expect(await world.run('show A →')).toBe('show A → backed 1 held 0, free 0 held 0')
  })
})

/** How many connections wait for a row that another has locked. */
async function waitingFor(locking: Client): Promise<number> {
  // Within a transaction the server would repeat its first answer.
  await locking.query('select pg_stat_clear_snapshot()')
  const { rowCount } = await locking.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rowCount ?? 0
}

test('after a random script every answered command is restored, however far the database went back', async () => {
  await fc.assert(
    fc.asyncProperty(randomScript, fc.nat(), async (script, place) => {
      const world = await RewoundBench.open()
      await world.run(SETUP)
      const lines = script.split('\n')
      const at = place % (lines.length + 1)
      const before = await world.run(lines.slice(0, at).join('\n'))
      await world.keep()
      const after = await world.run(lines.slice(at).join('\n'))
      await world.goBack()
      expect(world.gaps.map(({ lost }) => lost).filter((lost) => lost > 0)).toEqual([])
      await expectAcknowledged(world.bench, `${before}\n${after}`)
      await world.close()
    }),
    { numRuns: 10, endOnFailure: true },
  )
})
