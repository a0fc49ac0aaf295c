import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startSimulator } from '../../simulator/simulator.ts'
import { chatUpstream } from '../dialects/vendor-settings.ts'
import { runClaude } from './claude-code.ts'
import { expectExactLedger, openRoom, type Room } from './room.ts'

/** Claude Code, with the settings of docs/clients.md as they stand there. */

let room: Room

beforeEach(async () => {
  room = await openRoom()
})
afterEach(() => room.close())

/** Gives it a task, and answers with what it printed last. */
function claude(...args: readonly string[]): ReturnType<typeof runClaude> {
  return runClaude(room, { args })
}

test('a task of a written file and a command runs to its end, and calls nothing but the gateway', async () => {
  const file = join(room.work, 'made.txt')
  room.world.simulator.script([
    { act: { call: 'Write', arguments: { file_path: file, content: 'hello\n' } } },
    { act: { call: 'Bash', arguments: { command: 'cat made.txt', description: 'Read it' } } },
    { act: { say: 'The file says hello.' } },
  ])
  const end = await claude('--permission-mode', 'acceptEdits', '--allowed-tools', 'Bash')
  expect(end).toMatchObject({ is_error: false, num_turns: 3, result: 'The file says hello.' })
  expect(readFileSync(file, 'utf8')).toBe('hello\n')
  const bodies = room.forwarded('/messages')
  expect(bodies).toHaveLength(3)
  expect(bodies.at(-1).messages.at(-1).content).toContainEqual(
    expect.objectContaining({ type: 'tool_result', content: 'hello' }),
  )
  expect(room.elsewhere).toEqual([])
  await expectExactLedger(room)
})

test('a tool of an MCP server is found and called', async () => {
  const server = { command: process.execPath, args: [join(import.meta.dirname, 'mcp-server.ts')] }
  room.world.simulator.script([
    { act: { call: 'ToolSearch', arguments: { query: 'select:mcp__ferry__departures' } } },
    { act: { call: 'mcp__ferry__departures', arguments: { quay: 'Moss' } } },
    { act: { say: 'At nine.' } },
  ])
  const mcp = JSON.stringify({ mcpServers: { ferry: server } })
  const end = await claude('--mcp-config', mcp, '--allowed-tools', 'mcp__ferry__departures')
  expect(end).toMatchObject({ is_error: false, result: 'At nine.' })
  const last = room.forwarded('/messages').at(-1).messages.at(-1)
  expect(JSON.stringify(last)).toContain('Leaves Moss at nine')
  await expectExactLedger(room)
})

test('a web search is run by the provider, within its hold', async () => {
  room.world.simulator.script([
    { act: { call: 'WebSearch', arguments: { query: 'ferries to Moss' } } },
    {},
    { act: { say: 'Found.' } },
  ])
  const end = await claude('--allowed-tools', 'WebSearch')
  expect(end).toMatchObject({ is_error: false, result: 'Found.' })
  const [, search] = room.forwarded('/messages')
  expect(search.tools).toEqual([
    expect.objectContaining({ type: 'web_search_20250305', max_uses: expect.any(Number) }),
  ])
  await expectExactLedger(room)
})

test('the settings give the context window of a model that Claude Code does not know', async () => {
  room.world.simulator.script({ act: { say: 'Done.' } })
  const end = await claude()
  expect(end.modelUsage['sim/text']).toMatchObject({ contextWindow: 128_000 })
})

test("a vendor's short model name runs on the configured model", async () => {
  room.world.simulator.script({ act: { say: 'Done.' } })
  const end = await claude('--model', 'haiku')
  expect(end).toMatchObject({ is_error: false, result: 'Done.' })
  expect(room.forwarded('/messages').map(({ model }) => model)).toEqual(['sim/open'])
})

test('Claude Code shows that an account is out of credit', async () => {
  await room.close()
  room = await openRoom({ creditMicros: 0 })
  const end = await claude()
  expect(end).toMatchObject({ is_error: true, api_error_status: 402 })
  expect(end.result).toContain('credit')
})

test('a model at two upstreams answers it at the one that speaks messages', async () => {
  await room.close()
  const chats = await startSimulator({ vendor: 'openai-compatible' })
  try {
    const second = chatUpstream(chats)
    room = await openRoom({
      world: {
        vendor: 'anthropic',
        configured: (usual) => ({ ...usual, upstreams: [second, ...usual.upstreams] }),
      },
    })
    room.world.simulator.script({ act: { say: 'Done.' } })
    // The model's longest answer is below what Claude Code asks for.
    const end = await runClaude(room, { variables: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000' } })
    expect(end).toMatchObject({ is_error: false, result: 'Done.' })
    expect(room.forwarded('/messages')).toHaveLength(1)
    expect(chats.requests.filter(({ isInference }) => isInference)).toEqual([])
    await expectExactLedger(room)
  } finally {
    await chats.close()
  }
})
