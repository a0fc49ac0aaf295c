import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { startSimulator } from '../../simulator/simulator.ts'
import { pageBlock } from '../clients/page.ts'
import { chatUpstream } from '../dialects/vendor-settings.ts'
import type { Finished } from '../tollgate-process.ts'
import { expectExactLedger, openRoom, type Room } from './room.ts'

/** Codex, with the settings of docs/clients.md as they stand there. */

let room: Room

beforeEach(async () => {
  room = await openRoom()
})
afterEach(() => room.close())

/** Gives it a task, with the page's settings changed as asked. */
function codex(change: (settings: string) => string = (same) => same): Promise<Finished> {
  const settings = pageBlock({
    language: 'toml',
    word: 'model_provider',
    address: room.world.url(''),
  })
  mkdirSync(join(room.home, '.codex'))
  writeFileSync(join(room.home, '.codex', 'config.toml'), change(settings))
  const flags = ['--skip-git-repo-check', '--sandbox', 'danger-full-access', '--json']
  return room.run([process.execPath, inject('agentProgram'), 'exec', ...flags, 'Do it.'], {
    TOLLGATE_API_KEY: room.account.apiKey,
  })
}

// At three cents, the most expensive search there is.
const THIRTY_SEARCHES_MICROS = 900_000

const WRITE = {
  act: { call: 'exec_command', arguments: { cmd: 'echo hello > made.txt && cat made.txt' } },
}
const DONE = { act: { say: 'The file is made.' } }

test('a task of a command runs to its end, and calls nothing but the gateway', async () => {
  room.world.simulator.script([WRITE, DONE])
  const { code, out } = await codex()
  expect(code).toBe(0)
  expect(out).toContain('The file is made.')
  expect(readFileSync(join(room.work, 'made.txt'), 'utf8')).toBe('hello\n')
  const bodies = room.forwarded('/responses')
  expect(bodies).toHaveLength(2)
  const output = bodies.at(-1).input.at(-1)
  expect(output).toMatchObject({ type: 'function_call_output' })
  expect(output.output).toContain('hello')
  expect(room.elsewhere).toEqual([])
  expect(Math.max(...(await room.holdsMicros()))).toBeLessThan(THIRTY_SEARCHES_MICROS)
  await expectExactLedger(room)
})

test('a stream that breaks off is requested again, and the ledger has both requests', async () => {
  room.world.simulator.script([{ cut: { at: { afterEvents: 6 }, how: 'reset' } }, DONE])
  const { code, out } = await codex()
  expect(code).toBe(0)
  expect(out).toContain('The file is made.')
  expect(room.forwarded('/responses')).toHaveLength(2)
  await room.world.expectExactLedger()
})

test('web search can stay on, and each request is then held for thirty searches', async () => {
  room.world.simulator.script([WRITE, DONE])
  const { code } = await codex((settings) => settings.replace(/^web_search.*$/m, ''))
  expect(code).toBe(0)
  const [body] = room.forwarded('/responses')
  expect(body.tools).toContainEqual(expect.objectContaining({ type: 'web_search' }))
  expect(Math.min(...(await room.holdsMicros()))).toBeGreaterThan(THIRTY_SEARCHES_MICROS)
  await expectExactLedger(room)
})

test('sub-agents that stay on are refused, and the error names the tool', async () => {
  const { code, out } = await codex((settings) => settings.replace('[agents]\nenabled = false', ''))
  expect(code).toBe(1)
  expect(out).toContain('unsupported_parameter')
  expect(out).toMatch(/tools\[\d+\]\.type/)
  expect(room.forwarded('/responses')).toEqual([])
})

test('an MCP server is refused, and the error names the tool', async () => {
  const script = join(import.meta.dirname, 'mcp-server.ts')
  const server = `[mcp_servers.ferry]\ncommand = "${process.execPath}"\nargs = ["${script}"]\nstartup_timeout_sec = 600\n`
  const { code, out } = await codex((settings) => `${settings}\n${server}`)
  expect(code).toBe(1)
  expect(out).toMatch(/tools\[\d+\]\.type/)
})

test('a model without a listed maximum is refused, because Codex sends no cap', async () => {
  const { code, out } = await codex((settings) => settings.replace('sim/text', 'sim/uncapped'))
  expect(code).toBe(1)
  expect(out).toContain('output_cap_required')
})

test('Codex shows that an account is out of credit, after five more tries', async () => {
  await room.close()
  room = await openRoom({ creditMicros: 0 })
  const { code, out } = await codex()
  expect(code).toBe(1)
  expect(out).toContain('5/5')
  expect(out.trim().split('\n').at(-1)).toContain('402 Payment Required: This request needs a hold')
})

test("a model that another upstream answers in messages answers it at the vendor's second address", async () => {
  await room.close()
  const second = await startSimulator({ vendor: 'openai-compatible' })
  try {
    room = await openRoom({
      world: {
        vendor: 'anthropic',
        configured: (usual) => ({
          ...usual,
          upstreams: [...usual.upstreams, chatUpstream(second)],
        }),
      },
    })
    second.script([DONE])
    const { code, out } = await codex()
    expect([code, out]).toEqual([0, expect.stringContaining('The file is made.')])
    const ran = second.requests.filter(({ isInference }) => isInference)
    expect(ran.map(({ path }) => path)).toEqual(['/responses'])
    await expectExactLedger(room)
  } finally {
    await second.close()
  }
})
