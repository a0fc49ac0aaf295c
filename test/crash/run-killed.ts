import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Runs a program that may kill itself, and resolves with whether it has. Rejects with its output if it fails. */
export async function runKilled(program: string, input: string): Promise<boolean> {
  const child = spawn(process.execPath, [program, input], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(program), 'compiled') },
  })
  const [[code, signal], notes] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(notes)
  return signal === 'SIGKILL'
}
