import { inject } from 'vitest'
import { pageBlock } from '../clients/page.ts'
import type { Room } from './room.ts'

interface ClaudeInput {
  /** Variables in addition to those of docs/clients.md. Default: none. */
  readonly variables?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

/** Gives Claude Code a task, with the settings of docs/clients.md as they stand there. What it printed last. */
export async function runClaude(
  room: Room,
  { variables = {}, args = [] }: ClaudeInput = {},
): Promise<ReturnType<typeof JSON.parse>> {
  const settings = pageBlock({
    language: 'sh',
    word: 'ANTHROPIC_BASE_URL',
    address: room.world.url(''),
  })
  const script = settings.replace(/^claude$/m, 'exec "$0" "$@"')
  const command = [inject('agentProgram'), '-p', 'Do it.', '--output-format', 'json', ...args]
  const { out } = await room.run(['sh', '-c', script, process.execPath, ...command], {
    TOLLGATE_API_KEY: room.account.apiKey,
    ...variables,
  })
  return JSON.parse(out)
}
