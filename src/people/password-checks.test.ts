import { beforeEach, expect, test } from 'vitest'
import type { StartTimer } from '../vocabulary/clock.ts'
import { type Checked, PasswordChecks } from './passwords.ts'

const BUSY = expect.objectContaining({ code: 'service_unavailable' })

let checks: PasswordChecks
let timers: Parameters<StartTimer>[0][]
/** Names of the checks that run or have run, in order, and what ends the running ones. */
let begun: string[]
let ends: Map<string, () => void>
let refused: string[]

beforeEach(() => {
  timers = []
  begun = []
  ends = new Map()
  refused = []
  checks = new PasswordChecks((timer) => {
    timers.push(timer)
    return () => {}
  })
})

function begin(name: string, checked: Checked): Promise<string> {
  const run = checks.run(checked, async () => {
    begun.push(name)
    await new Promise<void>((resolve) => ends.set(name, resolve))
    return name
  })
  run.catch(() => refused.push(name))
  return run
}

/** Resolves once all pending work has ended. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Ends each check as it begins, until none waits. */
async function drain(): Promise<void> {
  let ended = 0
  while (ended < begun.length) {
    ends.get(begun[ended++] ?? '')?.()
    await settled()
  }
}

async function flood(count: number, addressOf: (nth: number) => string): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    void begin(`flood ${nth}`, { address: addressOf(nth) }).catch(() => undefined)
  }
  await settled()
}

test('a known user is checked before a flood of strangers', async () => {
  await flood(100, (nth) => `198.51.100.${nth}`)
  void begin('Ada', { knownUserId: 'user_ada' })
  await drain()
  expect(begun.indexOf('Ada')).toBe(2)
})

test('strangers take turns by network, in each the newest first', async () => {
  await flood(34, (nth) => `198.51.100.${nth}`)
  void begin('early', { address: '203.0.113.7' })
  void begin('late', { address: '203.0.113.8' })
  await drain()
  expect(begun.slice(2, 6)).toEqual(['flood 33', 'late', 'flood 32', 'early'])
})

test.each([
  ['of IPv4 addresses', (nth: number) => `198.51.100.${nth % 250}`],
  ['of one IPv6 /48', (nth: number) => `2001:db8:1:${nth.toString(16)}:0:0:0:0/64`],
])('a flood from one network %s gives way to a stranger of another', async (_, addressOf) => {
  await flood(1_000, addressOf)
  const ada = begin('Ada', { address: '203.0.113.7' })
  await drain()
  expect(await ada).toBe('Ada')
  // Two run, and 32 wait: one of the flood left for Ada.
  expect(begun).toHaveLength(34)
})

test('a check that gives way is refused two seconds later, and at most 256 wait for that', async () => {
  await flood(34 + 300, () => '198.51.100.1')
  await settled()
  expect(timers.map(({ delayMs }) => delayMs)).toEqual(new Array(256).fill(2_000))
  expect(refused).toHaveLength(300 - 256)
  for (const { run } of timers.splice(0)) run()
  await settled()
  expect(refused).toHaveLength(300)
  void begin('next', { address: '198.51.100.1' })
  await settled()
  expect(timers).toHaveLength(1)
})

test('eight checks of known users can wait, and the user with the most checks gives way', async () => {
  void begin('first', { knownUserId: 'user_eve' })
  void begin('second', { knownUserId: 'user_eve' })
  const eves = Array.from({ length: 8 }, (_, nth) =>
    begin(`eve ${nth}`, { knownUserId: 'user_eve' }),
  )
  const ada = begin('Ada', { knownUserId: 'user_ada' })
  await settled()
  for (const { run } of timers) run()
  await expect(eves[0]).rejects.toEqual(BUSY)
  await drain()
  expect(await ada).toBe('Ada')
})
