import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { StoreBench } from './store-bench.ts'

const LOAD_CHILD = fileURLToPath(new URL('./load-child.ts', import.meta.url))

interface RunLoadInput {
  /** The shell command that starts the process. */
  readonly shell: string
  /** The address of the database. */
  readonly url: string
  readonly keys: readonly string[]
  /** Kills it once it has written this many lines; absent: it runs to its end. */
  readonly killAt?: number
}

/** Runs `load-child.ts` to its end and returns the lines that it wrote. */
export async function runLoad({
  shell,
  url,
  keys,
  killAt,
}: RunLoadInput): Promise<readonly string[]> {
  const child = spawn('bash', ['-c', shell, process.execPath, LOAD_CHILD, url, 'A', ...keys], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === killAt) child.kill('SIGKILL')
  }
  await ended
  return lines
}

/** The lines that the store does not bear out: holds that are not there, or not settled. */
export async function unanswered(bench: StoreBench, lines: readonly string[]): Promise<string[]> {
  const rows = await bench.store.reports
    .selectFrom('all_requests')
    .select(['id', 'state'])
    .execute()
  const states = new Map(rows.map(({ id, state }) => [id, state]))
  return lines.filter((line) => {
    const [what, requestId = ''] = line.split(' ')
    if (what === 'opened') return !states.has(requestId)
    return what === 'settled' && states.get(requestId) !== 'final'
  })
}
