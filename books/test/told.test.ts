import { expect, test } from 'vitest'
import { requestText } from '../report.ts'
import { leftText } from '../run.ts'
import { foundBy } from './found-by.ts'

test('each request of a result has its status, its bill and what the gateway charged for it', async () => {
  const [outcome] = await foundBy('plain', 'plain')
  const requests = outcome?.rounds.flatMap(({ requests }) => requests)
  expect(requests).toHaveLength(6)
  expect(requests?.[0]).toEqual({ id: 'plain-1-1', status: 200, billed: 3_500, charged: 4_500 })
})

test('a request is printed with each arrival on its bill and with the row of the gateway', async () => {
  const told: string[] = []
  await foundBy('retried', 'left-early', {
    trace: (...request) => told.push(requestText(...request)),
  })
  expect(told).toHaveLength(5)
  expect(
    told[0]?.replace(/\d+ ms/, '7 ms').replace(/row \S+:/, 'row x:'),
  ).toBe(`  retried-1-1: 200, whole, 7 ms
    bill, arrival 1: refused, 100 tokens in, 0 out: 0
    bill, arrival 2: refused, 100 tokens in, 0 out: 0
    bill, arrival 3: whole, 100 tokens in, 50 out: 3,500
    row x: 3,500`)
  expect(told[4]).toMatch(
    /0, the client left, .*\n.*arrival 1: hung.*: 0\n.*no row that its answer names/,
  )
})

test.each([
  [5_000, 0, ''],
  [30_000, 0.5, ', about 30 s left'],
  [60_000, 0.1, ', about 9 min left'],
  [60_000, 1, ', about 0 s left'],
])('after %i ms with %f of a run done, its end is guessed', (elapsedMs, done, words) => {
  expect(leftText(elapsedMs, done)).toBe(words)
})

test('the running check is printed with the time left, except in the first round', async () => {
  const told: (readonly [string, string])[] = []
  const tell = (now: unknown, left?: string) => {
    if (typeof now === 'string' && left !== undefined) told.push([now, left])
  }
  await foundBy('unpriced', 'none', { rounds: 2, tell })
  expect(told).toEqual([
    ['unpriced', ''],
    ['unpriced', expect.stringMatching(/^, about \d+ s left$/)],
  ])
})
