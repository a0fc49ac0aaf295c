import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HoldLedger, Settled, SettleInput } from '../../ledger/ledger.ts'
import { FACTS } from '../../ledger/testing/script.ts'
import { CommandImpossible, StoreRefused, StoreUnavailable } from '../../store/store-failure.ts'
import { micros } from '../../vocabulary/money.ts'
import { type HeldSettle, Settler } from './settler.ts'

const INPUT: HeldSettle = {
  requestId: 'req_1',
  upstream: 'openrouter',
  feeBasisPoints: 500,
  resolution: { kind: 'released' },
  facts: { ...FACTS, httpStatus: 502, errorCode: 'upstream_error' },
}

const SETTLED: Settled = {
  state: 'released',
  chargedMicros: micros(0),
  overrunMicros: micros(0),
  settledNow: true,
}

const WAIT_MS = 5_000

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A ledger whose answers the test gives, in the order of the requests. */
class AskedLedger implements HoldLedger {
  readonly abandoned: { requestId: string; answer: PromiseWithResolvers<void> }[] = []
  readonly asked: { input: SettleInput; answer: PromiseWithResolvers<Settled> }[] = []

  settle(input: SettleInput): Promise<Settled> {
    const answer = Promise.withResolvers<Settled>()
    this.asked.push({ input, answer })
    return answer.promise
  }

  abandon(requestId: string): Promise<void> {
    const answer = Promise.withResolvers<void>()
    this.abandoned.push({ requestId, answer })
    return answer.promise
  }

  openHold(): never {
    throw new Error('a settler opens no hold')
  }

  noteGeneration(): never {
    throw new Error('a settler notes no generation')
  }

  /** Answers the latest request, and waits until the answer has arrived. */
  async answer(settled: Settled | Error): Promise<void> {
    const latest = this.asked.at(-1)?.answer
    if (settled instanceof Error) latest?.reject(settled)
    else latest?.resolve(settled)
    await vi.advanceTimersByTimeAsync(0)
  }
}

function start() {
  const ledger = new AskedLedger()
  const failures: string[] = []
  const durable: string[] = []
  const settler = new Settler({
    ledger,
    waitMs: WAIT_MS,
    onFailure: (requestId, cause) => failures.push(`${requestId} ${cause}`),
    onSettled: (settled, { requestId }) => durable.push(`${requestId} ${settled.state}`),
  })
  return { ledger, settler, failures, durable }
}

test('a settle is queued in the ledger in the tick that requests it', () => {
  const { ledger, settler } = start()
  void settler.settle(INPUT)
  expect(ledger.asked.map(({ input }) => input)).toEqual([INPUT])
})

test('while the store is down a settle is retried, at growing intervals, until the store answers', async () => {
  const { ledger, settler, failures, durable } = start()
  const settled = settler.settle(INPUT)
  const pauses = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
  for (const pauseMs of pauses) {
    const tries = ledger.asked.length
    await ledger.answer(new StoreUnavailable('gone'))
    await vi.advanceTimersByTimeAsync(pauseMs - 1)
    expect(ledger.asked).toHaveLength(tries)
    await vi.advanceTimersByTimeAsync(1)
    expect(ledger.asked).toHaveLength(tries + 1)
  }
  expect(durable).toEqual([])
  await ledger.answer(SETTLED)
  expect(await settled).toBe(SETTLED)
  expect(new Set(ledger.asked.map(({ input }) => input))).toEqual(new Set([INPUT]))
  expect(failures).toEqual(pauses.map(() => 'req_1 StoreUnavailable: gone'))
  expect(durable).toEqual(['req_1 released'])
  await settler.drained()
})

test.each([
  ['the store refuses', new StoreRefused('value too long')],
  ['fails in any other way', new TypeError('a bug')],
])(
  'a settle that %s is retried every ten seconds for a quarter of an hour, and is reported once',
  async (_, cause) => {
    const { ledger, settler, failures, durable } = start()
    const settled = settler.settle(INPUT)
    for (let tries = 1; tries <= 90; tries++) {
      expect(ledger.asked).toHaveLength(tries)
      await ledger.answer(cause)
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(failures).toEqual([`req_1 ${cause}`])
    await ledger.answer(cause)
    expect(await settled).toBeNull()
    await settler.drained()
    expect(durable).toEqual([])
  },
)

test('a settle that the store refused is durable as soon as the store takes it', async () => {
  const { ledger, settler, durable } = start()
  const settled = settler.settle(INPUT)
  await ledger.answer(new StoreRefused('cannot lock rows on a standby'))
  await vi.advanceTimersByTimeAsync(10_000)
  await ledger.answer(SETTLED)
  expect(await settled).toBe(SETTLED)
  expect(durable).toEqual(['req_1 released'])
})

test('a settle that a rule refuses is not retried, and its promise does not reject', async () => {
  const { ledger, settler, failures, durable } = start()
  const cause = new CommandImpossible('no hold of req_1 was opened')
  const settled = settler.settle(INPUT)
  await ledger.answer(cause)
  expect(await settled).toBeNull()
  await settler.drained()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ledger.asked).toHaveLength(1)
  expect(failures).toEqual([`req_1 ${cause}`])
  expect(durable).toEqual([])
})

test('a rule that refuses a settle after an outage of the store also ends the retries', async () => {
  const { ledger, settler } = start()
  const settled = settler.settle(INPUT)
  await ledger.answer(new StoreUnavailable('gone'))
  await vi.advanceTimersByTimeAsync(100)
  await ledger.answer(new CommandImpossible('no hold'))
  expect(await settled).toBeNull()
})

test('`settleInTime` resolves when the settle is durable, and leaves at most one timer', async () => {
  const { ledger, settler } = start()
  for (let count = 0; count < 100; count++) {
    const settled = settler.settleInTime(INPUT)
    await ledger.answer(SETTLED)
    expect(await settled).toBe(SETTLED)
    expect(vi.getTimerCount()).toBe(1)
  }
  await vi.advanceTimersByTimeAsync(WAIT_MS)
  expect(vi.getTimerCount()).toBe(0)
})

test('each `settleInTime` resolves after its own `waitMs`', async () => {
  const { settler } = start()
  const ended: string[] = []
  for (const requestId of ['req_1', 'req_2', 'req_3']) {
    void settler.settleInTime({ ...INPUT, requestId }).then(() => ended.push(requestId))
    await vi.advanceTimersByTimeAsync(1_000)
  }
  await vi.advanceTimersByTimeAsync(WAIT_MS - 3_001)
  expect(ended).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(ended).toEqual(['req_1'])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(ended).toEqual(['req_1', 'req_2', 'req_3'])
})

test('`settleInTime` resolves after `waitMs` while the settle continues', async () => {
  const { ledger, settler, durable } = start()
  const settled = settler.settleInTime(INPUT)
  await vi.advanceTimersByTimeAsync(WAIT_MS)
  expect(await settled).toBeNull()
  let drained = false
  const whenDrained = settler.drained().then(() => {
    drained = true
  })
  await vi.advanceTimersByTimeAsync(0)
  expect(drained).toBe(false)
  await ledger.answer(SETTLED)
  await whenDrained
  expect(durable).toEqual(['req_1 released'])
})

test('`drained` waits for all settles, also settles that began meanwhile', async () => {
  const { ledger, settler } = start()
  void settler.settle(INPUT)
  const order: string[] = []
  const whenDrained = settler.drained().then(() => order.push('drained'))
  const second = settler.settle({ ...INPUT, requestId: 'req_2' })
  void second.then(() => order.push('second'))
  ledger.asked[0]?.answer.resolve(SETTLED)
  await vi.advanceTimersByTimeAsync(0)
  expect(order).toEqual([])
  await ledger.answer(SETTLED)
  await whenDrained
  expect(order).toEqual(['second', 'drained'])
})

describe('a stop', () => {
  test('waits for settles that become durable in time', async () => {
    const { ledger, settler, durable } = start()
    void settler.settle(INPUT)
    const left = settler.stop(30_000)
    await ledger.answer(new StoreUnavailable('gone'))
    await vi.advanceTimersByTimeAsync(100)
    await ledger.answer(SETTLED)
    expect(await left).toEqual([])
    expect(durable).toEqual(['req_1 released'])
  })

  test('ends while the store is down, reports the settles that are left, and retries none', async () => {
    const { ledger, settler } = start()
    const settled = settler.settle(INPUT)
    settler.abandon('req_2')
    const left = settler.stop(30_000)
    await ledger.answer(new StoreUnavailable('gone'))
    ledger.abandoned.at(-1)?.answer.reject(new StoreUnavailable('gone'))
    for (let tries = 0; tries < 20; tries++) {
      await vi.advanceTimersByTimeAsync(10_000)
      await ledger.answer(new StoreUnavailable('gone'))
      ledger.abandoned.at(-1)?.answer.reject(new StoreUnavailable('gone'))
    }
    expect(await left).toEqual(['req_1'])
    expect(await settled).toBeNull()
    const asked = [ledger.asked.length, ledger.abandoned.length]
    await vi.advanceTimersByTimeAsync(60_000)
    expect([ledger.asked.length, ledger.abandoned.length]).toEqual(asked)
  })

  test('waits for a store whose file was moved away only until the file is back', async () => {
    const { ledger, settler } = start()
    const settled = settler.settle(INPUT)
    const moved = new StoreUnavailable('moved', { fault: 'moved' })
    await ledger.answer(moved)
    const left = settler.stop(30_000)
    await vi.advanceTimersByTimeAsync(100)
    // The file may have been put back since.
    await ledger.answer(moved)
    expect(await left).toEqual(['req_1'])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await settled).toBeNull()
    expect(ledger.asked).toHaveLength(2)
  })
})

describe('a hold that is abandoned before its attempt has ended', () => {
  test('is queued in the ledger in the same tick, and retried until the ledger answers', async () => {
    const { ledger, settler } = start()
    settler.abandon('req_1')
    expect(ledger.abandoned.map(({ requestId }) => requestId)).toEqual(['req_1'])
    ledger.abandoned[0]?.answer.reject(new StoreUnavailable('away'))
    await vi.advanceTimersByTimeAsync(100)
    expect(ledger.abandoned).toHaveLength(2)
    ledger.abandoned[1]?.answer.resolve()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(ledger.abandoned).toHaveLength(2)
  })

  test('is no longer retried once its settle is queued', async () => {
    const { ledger, settler } = start()
    settler.abandon('req_1')
    ledger.abandoned[0]?.answer.reject(new StoreUnavailable('away'))
    void settler.settle(INPUT)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(ledger.abandoned).toHaveLength(1)
    await ledger.answer(new CommandImpossible('over'))
  })
})
