import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('a process that has run a server ends with its own exit code, so that a failed run fails', async () => {
  const entry = fileURLToPath(new URL('./postgres-server-child.ts', import.meta.url))
  const child = spawn(process.execPath, [entry], { stdio: 'inherit' })
  const [exitCode] = await once(child, 'exit')
  expect(exitCode).toBe(3)
})
