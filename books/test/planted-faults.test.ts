import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdapter } from '../adapter/adapter.ts'
import { CHECKS } from '../checks/checks.ts'
import { type Outcome, runChecks } from '../run.ts'

const TOY = join(import.meta.dirname, 'toy.yaml')
const GROUPS = [...new Set(CHECKS.map(({ group }) => group))]
/** Checks without a promise: their figures show the fault. */
const FIGURES = ['usable', 'cost']
const PROMISES = CHECKS.map(({ name }) => name).filter((name) => !FIGURES.includes(name))

// All that the toy asks of its store is whether it is there.
const store = createServer((socket) => socket.on('error', () => {}))
beforeAll(() => once(store.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => void store.close())

async function found(fault: string, only: string): Promise<readonly Outcome[]> {
  const { port } = store.address() as AddressInfo
  const { checks } = await runChecks({
    adapter: { ...readAdapter(TOY, 'default'), set: { fault } },
    variant: 'default',
    suite: 'test',
    command: 'test',
    only: [only],
    rounds: 1,
    quick: true,
    // Only what is kept for ever uses all of it up.
    patienceMs: fault === 'none' ? 30_000 : 1_500,
    busy: true,
    binary: `${process.execPath} ${join(import.meta.dirname, 'toy.ts')}`,
    postgres: undefined,
    redis: `redis://127.0.0.1:${port}`,
    tell: () => {},
  })
  return checks
}

// Each run has a toy and a provider of its own, and mostly waits: some run side by side.
describe.concurrent('a gateway that keeps its books', () => {
  test.each(GROUPS)('passes every check of %s', async (group) => {
    const names = CHECKS.filter((check) => check.group === group).map(({ name }) => name)
    const expected = names.map((name) => [name, FIGURES.includes(name) ? 'figure' : 'pass'])
    const checks = await found('none', group)
    expect(checks.map(({ check, verdict, words }) => [check, verdict, words])).toEqual(
      expected.map(([name, verdict]) => [name, verdict, expect.any(String)]),
    )
  })
})

describe.concurrent('a gateway with one planted fault', () => {
  test.each(PROMISES)('fails %s, and tells why', async (name) => {
    const [outcome] = await found(name, name)
    expect([outcome?.verdict, outcome?.words]).toEqual(['fail', expect.any(String)])
  })

  test('that keeps what it reserved lets less of the money be used', async () => {
    const [[honest], [faulty]] = [await found('none', 'usable'), await found('usable', 'usable')]
    expect(faulty?.figures?.['single']).toBeLessThan(honest?.figures?.['single'] ?? 0)
  })

  test('that lets too much be spent is not blamed for what stays reserved', async () => {
    const [outcome] = await found('last-cent', 'phantom')
    expect([outcome?.verdict, outcome?.words]).toEqual(['pass', expect.any(String)])
  })

  test('that works 5 ms more on a request costs at least that of CPU', async () => {
    const [[honest], [faulty]] = [await found('none', 'cost'), await found('cost', 'cost')]
    // The kernel counts CPU time in ticks of 10 ms: over 100 requests, 100 µs each.
    expect(faulty?.figures?.['micros']).toBeGreaterThanOrEqual(4_900)
    expect(honest?.figures?.['micros']).toBeLessThan(faulty?.figures?.['micros'] ?? 0)
  })
})
