import { describe, expect, test } from 'vitest'
import { CHECKS } from '../run.ts'
import { foundBy } from './found-by.ts'

const GROUPS = [...new Set(CHECKS.map(({ group }) => group))]
/** Checks without a promise: their figures show the fault. */
const FIGURES = ['usable', 'cost']
const PROMISES = CHECKS.map(({ name }) => name).filter((name) => !FIGURES.includes(name))

const runs = new Map<string, ReturnType<typeof foundBy>>()

/** The outcomes of a run, which is made once for all tests that look at it. */
function foundOnce(only: string, fault: string): ReturnType<typeof foundBy> {
  const name = `${only} ${fault}`
  const run = runs.get(name) ?? foundBy(only, fault)
  runs.set(name, run)
  return run
}

/** The outcome of one check on the toy without a fault. */
async function honestOf(check: string) {
  const group = CHECKS.find(({ name }) => name === check)?.group ?? ''
  return (await foundOnce(group, 'none')).find((outcome) => outcome.check === check)
}

// Each run has a toy and a provider of its own, and mostly waits: some run side by side.
describe.concurrent('a gateway that keeps its books', () => {
  test.each(GROUPS)('passes every check of %s', async (group) => {
    const names = CHECKS.filter((check) => check.group === group).map(({ name }) => name)
    const expected = names.map((name) => [name, FIGURES.includes(name) ? 'figure' : 'pass'])
    const checks = await foundOnce(group, 'none')
    expect(checks.map(({ check, verdict, words }) => [check, verdict, words])).toEqual(
      expected.map(([name, verdict]) => [name, verdict, expect.any(String)]),
    )
  })
})

describe.concurrent('a gateway with one planted fault', () => {
  test.each(PROMISES)('fails %s, and tells why', async (name) => {
    const [outcome] = await foundOnce(name, name)
    expect([outcome?.verdict, outcome?.words]).toEqual(['fail', expect.any(String)])
  })

  test('that keeps what it reserved lets less of the money be used', async () => {
    const [honest, [faulty]] = [await honestOf('usable'), await foundOnce('usable', 'usable')]
    expect(faulty?.figures?.['single']).toBeLessThan(honest?.figures?.['single'] ?? 0)
  })

  test('that lets too much be spent is not blamed for what stays held', async () => {
    const [outcome] = await foundOnce('phantom', 'last-cent')
    expect([outcome?.verdict, outcome?.words]).toEqual(['pass', expect.any(String)])
  })

  test('that charges for clients that left is seen to charge for a first run that hangs', async () => {
    const [honest, [faulty]] = [await honestOf('retried'), await foundOnce('retried', 'left-early')]
    expect(honest?.figures).toMatchObject({ hungArrivals: 2, hungCharged: 0, hungBilled: 0 })
    expect(faulty?.figures).toMatchObject({ hungArrivals: 2, hungBilled: 0 })
    expect(faulty?.figures?.['hungCharged']).toBeGreaterThan(0)
  })

  test('that forgets charges in a crash gets a report of how much it forgot and how much stays held', async () => {
    const [honest, [faulty], [holding]] = [
      await honestOf('kill'),
      await foundOnce('kill', 'kill'),
      await foundOnce('kill', 'phantom'),
    ]
    expect(honest?.words).toMatch(/0 held 0[.\d]* min after the start; a charge survives after 0/)
    expect(faulty?.words).toMatch(/; no charge of the last \d+ s survives$/)
    expect(holding?.figures?.['held']).toBeGreaterThan(0)
  })

  test('that works 5 ms more on a request costs at least that of CPU', async () => {
    const [honest, [faulty]] = [await honestOf('cost'), await foundOnce('cost', 'cost')]
    // The kernel counts CPU time in ticks of 10 ms: over 100 requests, 100 µs each.
    expect(faulty?.figures?.['micros']).toBeGreaterThanOrEqual(4_900)
    expect(honest?.figures?.['micros']).toBeLessThan(faulty?.figures?.['micros'] ?? 0)
  })
})
