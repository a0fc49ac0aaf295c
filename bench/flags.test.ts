import { expect, test } from 'vitest'
import { readFlags } from './flags.ts'
import { helpText } from './help.ts'
import { SCENARIOS } from './scenarios/scenarios.ts'

test('without arguments, every canonical scenario runs in seven rounds', () => {
  expect(readFlags([])).toMatchObject({ scenarios: [], rounds: 7, quick: false })
})

test('a quick run has one round, unless they are named', () => {
  expect(readFlags(['--quick'])).toMatchObject({ quick: true, rounds: 1 })
  expect(readFlags(['requests', '--quick', '--rounds', '5'])).toMatchObject({
    scenarios: ['requests'],
    rounds: 5,
  })
})

test.each([
  [['--rounds', '0'], '--rounds takes a whole number above 0'],
  [['--rounds', 'many'], '--rounds takes a whole number above 0'],
  [['--cores', 'all'], '--cores takes a whole number above 0'],
  [['--setting', 'LOG_LEVEL'], '--setting takes NAME=value'],
  [['--peer', 'other,http://127.0.0.1:1'], '--peer takes name,http://address,pid'],
  [['--peer', 'other,here,12'], '--peer takes name,http://address,pid'],
  [['--fast'], "Unknown option '--fast'"],
])('%j is refused, and why', (args, message) => {
  expect(() => readFlags(args)).toThrow(message)
})

test('settings are read by name', () => {
  const flags = readFlags(['--setting', 'LOG_LEVEL=silent', '--setting', 'TOLLGATE_PAGE=off'])
  expect(flags.settings).toEqual({ LOG_LEVEL: 'silent', TOLLGATE_PAGE: 'off' })
})

test('a peer is its name, address and process, and what it is called with', () => {
  const { peers } = readFlags(['--peer', 'other,http://127.0.0.1:1,12,Bearer sk-1'])
  expect(peers).toEqual([
    { name: 'other', address: 'http://127.0.0.1:1', pid: 12, authorization: 'Bearer sk-1' },
  ])
})

test('the help names every scenario and every flag once', () => {
  const help = helpText(SCENARIOS)
  for (const { name } of SCENARIOS) expect(help.split(`\n  ${name} `)).toHaveLength(2)
  const flags = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name)
  expect(flags).toEqual([
    'quick',
    'full',
    'rounds',
    'cores',
    'store-folder',
    'result',
    'profile',
    'checkout',
    'setting',
    'peer',
  ])
})
