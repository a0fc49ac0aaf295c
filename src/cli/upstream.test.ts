import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { openrouter } from '../upstreams/openrouter/openrouter.ts'
import { upstreamSettings } from '../upstreams/testing/upstream-settings.ts'
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
import { type CommandLine, openCommandLine } from './testing/command-line.ts'

let simulator: Simulator
let line: CommandLine | null

beforeEach(async () => {
  simulator = await startSimulator()
  line = null
})
afterEach(async () => {
  line?.close()
  await simulator.close()
})

/** The command line of these upstreams, the first of which is the simulator. */
function open(...others: readonly UpstreamSettings[]): CommandLine {
  line = openCommandLine({
    upstreams: {
      load: async () => ({
        mode: 'live',
        upstreams: [upstreamSettings({ name: 'first', baseUrl: simulator.baseUrl }), ...others],
        aliases: new Map(),
      }),
      catalog: DEFAULT_CATALOG_SETTINGS,
      loadDialect: async () => openrouter,
    },
  })
  return line
}

test('each upstream is asked, and shown with its models and those that another one has', async () => {
  const second = upstreamSettings({
    name: 'second',
    baseUrl: simulator.baseUrl,
    only: ['sim/text', 'sim/cached'],
  })
  const { exitCode, out, notes } = await open(second).run('upstream', 'check')
  expect(exitCode).toBe(0)
  expect(out).toMatch(/^UPSTREAM +DIALECT +ADDRESS +MODELS +NOT OFFERED +SHADOWED\n/)
  expect(out).toMatch(/^first .* 1 +0$/m)
  expect(out).toMatch(/^second .* 2 +0 +2$/m)
  expect(notes).toMatch(/second: another upstream has .*sim\/text/)
  expect(notes).toMatch(/first: .* is not offered: /)
})

test('an upstream that is away or refuses its key is named with the reason, and the command fails', async () => {
  simulator.script({ path: '/models', status: 401 })
  const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
  const { exitCode, notes } = await open(away).run('upstream', 'check')
  expect(exitCode).toBe(1)
  expect(notes).toMatch(/first: the upstream answers 401/)
  expect(notes).toMatch(/away: .*ECONNREFUSED/)
  expect(notes).toContain('2 upstreams cannot be used')
  expect(notes).not.toContain('key"')
})

test('one upstream is checked alone, and an unknown name has the names that there are', async () => {
  const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
  const one = await open(away).run('upstream', 'check', 'first')
  expect(one.exitCode).toBe(0)
  expect(one.out).not.toContain('away')
  const none = await open(away).run('upstream', 'check', 'third')
  expect(none).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining('no upstream is called third: there are first, away'),
  })
})

test('a refresh names each upstream that failed, stores the others, and fails', async () => {
  const away = (name: string) => upstreamSettings({ name, baseUrl: 'http://127.0.0.1:9/v1' })
  const opened = open(away('away'), away('gone'))
  const { exitCode, notes } = await opened.run('catalog', 'refresh')
  expect(exitCode).toBe(1)
  expect(notes).toMatch(/from away at .*ECONNREFUSED.*; nor from gone at .*ECONNREFUSED/)
  expect(notes).toContain('all other upstreams were refreshed')
  expect((await opened.run('catalog', 'list')).out).toContain('sim/text')
})
