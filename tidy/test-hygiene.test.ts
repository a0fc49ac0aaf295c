import { expect, test } from 'vitest'
import { checkTestHygiene } from './test-hygiene.ts'
import { judgeToyTree } from './toy-tree.ts'

test.each([
  [`vi.mock('./ledger.ts')`, 'use the real part'],
  [`vi.doMock('./ledger.ts')`, 'use the real part'],
  ['await new Promise((resolve) => setTimeout(resolve, 50))', 'waits for time'],
  ['globalThis.setTimeout(done, 50)', 'waits for time'],
  ['setInterval(poll, 50)', 'waits for time'],
  [`import { setTimeout as sleep } from 'node:timers/promises'`, 'await the event itself'],
  [`test.only('adds', () => {})`, '.only leaves tests out'],
  [`test.skip('adds', () => {})`, '.skip leaves tests out'],
  [`test.todo('adds')`, '.todo leaves tests out'],
  [`describe.skip('sums', () => {})`, '.skip leaves tests out'],
  [`it.skipIf(isSlow)('adds', () => {})`, '.skipIf leaves tests out'],
  [`test.concurrent.only('adds', () => {})`, '.only leaves tests out'],
  [`test.only.each([1])('adds', () => {})`, '.only leaves tests out'],
  [`xit('adds', () => {})`, 'leaves tests out'],
  [`test('adds', (context) => { context.skip() })`, 'a test that cannot run fails'],
  ['expect(sum).toBeCloseTo(0.3)', 'compare exactly'],
  [`test('adds', () => {}, 5_000)`, 'a busy machine meets'],
  [`test('adds', async () => {}, LIMIT_MS)`, 'a busy machine meets'],
  [`test('adds', { timeout: 5_000 }, () => {})`, 'a busy machine meets'],
  [`test.each([1])('adds', function () {}, 5_000)`, 'a busy machine meets'],
  [`describe('sums', { timeout: limitMs }, () => {})`, 'a busy machine meets'],
  ['beforeEach(() => {}, 5_000)', 'a busy machine meets'],
  [`expect.poll(() => 1, { timeout: 5_000, interval: 5 }).toBe(1)`, 'a busy machine meets'],
  ['vi.waitFor(() => sum)', 'a busy machine meets'],
  ['vi.setConfig({ testTimeout: 5_000 })', 'a busy machine meets'],
  ['fetch(url, { signal: AbortSignal.timeout(5_000) })', 'a busy machine meets'],
])('%s fails', async (text, reason) => {
  expect(await judgeToyTree(checkTestHygiene, { 'src/a.test.ts': text })).toEqual([
    expect.stringContaining(reason),
  ])
})

test('whole tests pass, and timers outside of tests are no concern', async () => {
  const verdict = await judgeToyTree(checkTestHygiene, {
    'src/a.test.ts': `
      test.each([1, 2])('adds', () => { expect(sum).toBe(3) })
      vi.useFakeTimers()
      const spied = vi.fn()
      rows.only
      expect.poll(() => sum, { interval: 5 }).toBe(1)
      test('waits', { concurrent: true }, () => {})
    `,
    'src/a.ts': 'setTimeout(() => {}, 50)',
  })
  expect(verdict).toEqual([])
})
