import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Asking, ask } from '../client.ts'
import { microsOf, openLine } from './bill.ts'
import { type Provider, startProvider } from './provider.ts'
import { promptOf, type Scripted, scriptOf } from './script.ts'

let provider: Provider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())

interface Case {
  readonly ending: string
  readonly scripted: Scripted
  /** Worked out by hand: input 10, cache read 1, cache write 12, output 50 micro-dollars a token. */
  readonly micros: number
  readonly how?: Partial<Asking> & {
    readonly stream?: true
    readonly cap?: number
    readonly path?: string
    /** Leaves when it has come to the provider. */
    readonly leavesThere?: true
  }
}

const CASES: readonly Case[] = [
  { ending: 'a whole answer', scripted: {}, micros: 100 * 10 + 50 * 50 },
  { ending: 'a whole stream', scripted: {}, micros: 3_500, how: { stream: true } },
  {
    ending: 'tokens read from a cache',
    scripted: { in: 1_000, cached: 900 },
    micros: 1_000 + 900 + 2_500,
  },
  {
    ending: 'tokens written to a cache',
    scripted: { in: 1_000, written: 900 },
    micros: 1_000 + 10_800 + 2_500,
    how: { path: '/v1/messages' },
  },
  { ending: 'hidden reasoning', scripted: { out: 200, reason: 180 }, micros: 1_000 + 10_000 },
  {
    ending: 'an answer that the cap cuts',
    scripted: { out: 4_000 },
    micros: 1_500,
    how: { cap: 10 },
  },
  {
    ending: 'a client that leaves before the first token',
    scripted: { wait: 60_000 },
    micros: 1_000,
    how: { stream: true, leavesThere: true },
  },
  {
    ending: 'a client that leaves after the last token and before the counts',
    scripted: { usage: 'late' },
    micros: 3_500,
    how: { stream: true, leaveAt: (text) => text.includes('"stop"') },
  },
  {
    ending: 'a stream broken off after 30 tokens',
    scripted: { out: 100, fault: 'drop', after: 30 },
    micros: 2_500,
    how: { stream: true },
  },
  { ending: 'an answer lost at its end', scripted: { fault: 'lost' }, micros: 3_500 },
  {
    ending: 'a stream lost at its end',
    scripted: { fault: 'lost' },
    micros: 3_500,
    how: { stream: true },
  },
  { ending: 'a 500', scripted: { fault: '500' }, micros: 0 },
  { ending: 'a 429', scripted: { fault: '429' }, micros: 0 },
  {
    ending: 'no answer until the client leaves',
    scripted: { fault: 'hang' },
    micros: 0,
    how: { leavesThere: true },
  },
  { ending: 'counts of zero', scripted: { usage: 'zero' }, micros: 0 },
]

const linesOf = (wanted: string) => provider.bill.filter(({ id }) => id === wanted)

function send(id: string, { scripted, how = {} }: Omit<Case, 'ending' | 'micros'>) {
  const { stream, cap, path = '/v1/chat/completions', leavesThere, ...asking } = how
  const messages = [{ role: 'user', content: promptOf(scriptOf(id, scripted)) }]
  const body = JSON.stringify({ model: 'books-1', messages, stream, max_tokens: cap })
  const leaveAfter = leavesThere && expect.poll(() => linesOf(id)).toHaveLength(1)
  return ask({ ...asking, leaveAfter, url: `http://127.0.0.1:${provider.port}${path}`, body })
}

test.each(CASES)('the bill of $ending is $micros micro-dollars', async ({ micros, ...given }) => {
  await send(given.ending, given)
  await expect.poll(() => linesOf(given.ending).filter(({ end }) => end === 'running')).toEqual([])
  expect(microsOf(...linesOf(given.ending))).toBe(micros)
})

test('a call that hangs bills nothing while it is still waited for', () => {
  const script = scriptOf('hangs', { fault: 'hang' })
  const line = openLine([], { id: 'hangs', model: 'books-1', script, json: '', outMax: 50 })
  expect([line.end, microsOf(line)]).toEqual(['running', 0])
})

test('a fault of two arrivals is over at the third, and each arrival is a line', async () => {
  const given = { scripted: { fault: '500', times: 2 } } as const
  const seen = [
    await send('again-1-1', given),
    await send('again-1-1', given),
    await send('again-1-1', given),
  ]
  expect(seen.map(({ httpStatus }) => httpStatus)).toEqual([500, 500, 200])
  const bill = await ask({ url: `http://127.0.0.1:${provider.port}/bill?prefix=again-` })
  const lines: { arrival: number; end: string; micros: number }[] = JSON.parse(bill.text)
  expect(lines.map(({ arrival, end, micros }) => [arrival, end, micros])).toEqual([
    [1, 'refused', 0],
    [2, 'refused', 0],
    [3, 'whole', 3_500],
  ])
})
