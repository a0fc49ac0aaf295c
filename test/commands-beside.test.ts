import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from '../src/cli/testing/command-line.ts'
import { worldOfFile } from './world.ts'

/** The command line writes to the store of a server that is at work, between two of its commits. */

// Rounds of four commands each. `COMMANDS_ROUNDS=250` runs a thousand commands.
const ROUNDS = Number(process.env['COMMANDS_ROUNDS'] ?? 15)
const AT_ONCE = 4

let line: CommandLine

const world = worldOfFile({ settings: { LOG_LEVEL: 'error' } })
beforeAll(async () => {
  world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  line = openCommandLine({ storeUrl: `sqlite:${join(world.folder, 'store.db')}` })
})
afterAll(async () => {
  line.close()
})

interface ClientAnswer {
  readonly httpStatus: number
  readonly code: string | null
  readonly requestId: string
}

async function chat(apiKey: string): Promise<ClientAnswer> {
  const answer = await world.chat(apiKey, { max_tokens: 16 })
  const [, code = null] = /"code":"(\w+)"/.exec(await answer.text()) ?? []
  return { httpStatus: answer.status, code, requestId: answer.headers.get('x-request-id') ?? '' }
}

async function keyIdOf(apiKey: string): Promise<string> {
  const answer = await fetch(world.url('/v1/key'), { headers: { 'x-api-key': apiKey } })
  return /"id":"(key_\w+)"/.exec(await answer.text())?.[1] ?? ''
}

test('commands next to a running server keep the ledger exact, and a disabled key opens no hold', async () => {
  const apiKeys = 40
  const busy = await world.account({ creditMicros: 1_000_000_000, apiKeys })
  const own = await world.account({ creditMicros: 1_000_000_000, apiKeys })
  const keyIds = await Promise.all(own.apiKeys.map(keyIdOf))
  let calls = 0
  /** Runs a command, which must succeed, while calls of another account are answered. */
  async function run(...args: string[]): Promise<void> {
    const others = Array.from({ length: AT_ONCE }, () =>
      chat(busy.apiKeys[calls++ % apiKeys] ?? ''),
    )
    const { exitCode, notes } = await line.run(...args)
    expect([exitCode, notes], args.join(' ')).toEqual([0, ''])
    for (const { httpStatus } of await Promise.all(others)) expect(httpStatus).toBe(200)
  }
  for (let round = 0; round < ROUNDS; round++) {
    await run('credit', 'add', own.id, '0.01', '--reference', `grant ${round}`)
    const keyId = keyIds[round % apiKeys] ?? ''
    const apiKey = own.apiKeys[round % apiKeys] ?? ''
    const { httpStatus, requestId } = await chat(apiKey)
    expect(httpStatus).toBe(200)
    await run('key', 'disable', keyId)
    expect(await chat(apiKey)).toMatchObject({ httpStatus: 401, code: 'api_key_disabled' })
    await run('key', 'enable', keyId)
    await run('request', 'settle', requestId, '0.001')
  }
  await world.gateway.settled()
  const expectedMicros = 1_000_000_000 + ROUNDS * (10_000 - 1_050)
  expect(await world.backedBalanceMicros(own.id)).toBe(expectedMicros)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})
