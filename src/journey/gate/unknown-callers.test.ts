import { expect, test } from 'vitest'
import { UnknownCallers } from './unknown-callers.ts'

const START_MS = 1_790_000_000_000

function counting({ addressesMax = 100, requestsPerMinuteMax = 3 } = {}) {
  const clock = { now: START_MS, nowMs: () => clock.now }
  const callers = new UnknownCallers({
    clock,
    addressOf: ({ peerAddress = '' }) => peerAddress,
    requestsPerMinuteMax,
    addressesMax,
  })
  const refused = (peerAddress: string): string => {
    const { code, retryAfterSeconds } = callers.refusal(
      { headers: {}, peerAddress },
      { code: 'invalid_api_key' },
    )
    return retryAfterSeconds === null ? code : `${code} ${retryAfterSeconds}`
  }
  const isOver = (peerAddress: string): boolean => callers.isOver({ headers: {}, peerAddress })
  return { clock, callers, refused, isOver }
}

test('an address has a limit in a minute, and its refusal names the exact wait', () => {
  const { clock, refused, isOver } = counting()
  expect(refused('a')).toBe('invalid_api_key')
  clock.now += 20_000
  expect([refused('a'), isOver('a'), refused('a'), isOver('a')]).toEqual([
    'invalid_api_key',
    false,
    'invalid_api_key',
    true,
  ])
  expect(refused('a')).toBe('rate_limited 40')
  clock.now += 39_000
  expect(refused('a')).toBe('rate_limited 1')
  clock.now += 1_000
  expect([isOver('a'), refused('a'), refused('a')]).toEqual([
    false,
    'invalid_api_key',
    'rate_limited 20',
  ])
})

test('an address that never pauses reaches its limit in every minute', () => {
  const { clock, refused } = counting()
  const answered = new Map<string, number>()
  for (let second = 0; second < 600; second++) {
    const [code = ''] = refused('a').split(' ')
    answered.set(code, (answered.get(code) ?? 0) + 1)
    clock.now += 1_000
  }
  expect(Object.fromEntries(answered)).toEqual({ invalid_api_key: 30, rate_limited: 570 })
})

test('addresses count separately', () => {
  const { refused, isOver } = counting()
  for (let sent = 0; sent < 10; sent++) refused('a')
  expect([isOver('b'), refused('b')]).toEqual([false, 'invalid_api_key'])
})

test('`isOver` counts nothing and stores nothing', () => {
  const { callers, isOver } = counting()
  for (let asked = 0; asked < 10; asked++) expect(isOver('a')).toBe(false)
  expect(callers.remembered).toBe(0)
})

test('an address is dropped a minute after its last unknown key', () => {
  const { clock, callers, refused } = counting()
  refused('a')
  clock.now += 59_000
  refused('b')
  expect(callers.remembered).toBe(2)
  clock.now += 1_000
  refused('c')
  expect(callers.remembered).toBe(2)
})

test('a flood from more than `addressesMax` addresses is limited as one, in bounded memory', () => {
  const { clock, callers, refused, isOver } = counting({ addressesMax: 10 })
  for (let address = 0; address < 10; address++) refused(`known ${address}`)
  const codes = Array.from({ length: 1_000 }, (_, address) => refused(`new ${address}`))
  expect(codes.filter((code) => code === 'invalid_api_key')).toHaveLength(3)
  expect(callers.remembered).toBe(10)
  expect(isOver('another')).toBe(true)
  expect(refused('known 0')).toBe('invalid_api_key')
  clock.now += 60_000
  expect(refused('another')).toBe('invalid_api_key')
})

test('a clock that is set back does not prolong a refusal', () => {
  const { clock, refused } = counting()
  for (let sent = 0; sent < 3; sent++) refused('a')
  clock.now -= 3_600_000
  expect(refused('a')).toBe('rate_limited 60')
  clock.now += 60_000
  expect(refused('a')).toBe('invalid_api_key')
})

test('an attempt under way counts as a wrong one until it ends, and only for its address', () => {
  const { callers, refused, isOver } = counting()
  const begin = (peerAddress: string) => callers.begin({ headers: {}, peerAddress })
  refused('a')
  const [first, second, third] = [begin('a'), begin('a'), begin('a')]
  expect([first, second, third, begin('b')].map((attempt) => attempt.isOver)).toEqual([
    false,
    false,
    true,
    false,
  ])
  // Requests without a known key are not attempts.
  expect(isOver('a')).toBe(false)
  third.end()
  first.end()
  expect([begin('a').isOver, begin('a').isOver]).toEqual([false, true])
})
