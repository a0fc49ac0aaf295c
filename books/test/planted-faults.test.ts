import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdapter } from '../adapter/adapter.ts'
import { CHECKS } from '../checks/checks.ts'
import { type Outcome, runChecks } from '../run.ts'

const TOY = join(import.meta.dirname, 'toy.yaml')
const NAMES = CHECKS.map(({ name }) => name)
/** Checks without a promise: their figures show the fault. */
const FIGURES = ['usable', 'cost']

// All that the toy asks of its store is whether it is there.
const store = createServer((socket) => socket.on('error', () => {}))
beforeAll(() => once(store.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => void store.close())

async function found(fault: string, only: readonly string[]): Promise<readonly Outcome[]> {
  const { port } = store.address() as AddressInfo
  const { checks } = await runChecks({
    adapter: { ...readAdapter(TOY, 'default'), set: { fault } },
    variant: 'default',
    suite: 'test',
    command: 'test',
    only,
    rounds: 1,
    quick: true,
    busy: true,
    binary: `${process.execPath} ${join(import.meta.dirname, 'toy.ts')}`,
    postgres: undefined,
    redis: `redis://127.0.0.1:${port}`,
    tell: () => {},
  })
  return checks
}

describe('a gateway that keeps its books', () => {
  test('passes every check', async () => {
    const checks = await found('none', [])
    const expected = NAMES.map((name) => [
      name,
      name === 'no-usage' ? 'pass' : FIGURES.includes(name) ? 'figure' : 'pass',
    ])
    expect(checks.map(({ check, verdict, words }) => [check, verdict, words])).toEqual(
      expected.map(([name, verdict]) => [name, verdict, expect.any(String)]),
    )
  })
})

describe('a gateway with one planted fault', () => {
  test.each(NAMES.filter((name) => !FIGURES.includes(name)))(
    'fails %s, and tells why',
    async (name) => {
      const [outcome] = await found(name, [name])
      expect([outcome?.verdict, outcome?.words]).toEqual(['fail', expect.any(String)])
    },
  )

  test('that keeps what it reserved lets less of the money be used', async () => {
    const [[honest], [faulty]] = [
      await found('none', ['usable']),
      await found('usable', ['usable']),
    ]
    expect(faulty?.figures?.['single']).toBeLessThan(honest?.figures?.['single'] ?? 0)
  })

  test('that works 20 ms more on a request costs at least that of CPU', async () => {
    const [[honest], [faulty]] = [await found('none', ['cost']), await found('cost', ['cost'])]
    // The kernel counts CPU time in ticks of 10 ms: over 100 requests, 100 µs each.
    expect(faulty?.figures?.['micros']).toBeGreaterThanOrEqual(19_900)
    expect(honest?.figures?.['micros']).toBeLessThan(faulty?.figures?.['micros'] ?? 0)
  })
})
