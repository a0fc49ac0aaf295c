import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isObject } from './json-value.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

test('npm run simulator runs on the Node that npm installed, whichever runs npm', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-node-'))
  // Stands for an old Node: it runs npm, and not the simulator.
  const oldNode = join(folder, 'node')
  const script = `#!/bin/sh\ncase "$*" in *main.ts*) exit 9;; esac\nexec '${process.execPath}' "$@"\n`
  writeFileSync(oldNode, script, { mode: 0o755 })
  const child = spawn('npm', ['run', '--silent', 'simulator', '--', '0'], {
    cwd: dirname(dirname(MAIN)),
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [printed] = await Promise.race([once(child.stdout, 'data'), exited])
  child.kill('SIGTERM')
  await exited
  rmSync(folder, { recursive: true })
  expect(String(printed)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\n$/)
})

test('as a process it prints its address, is scripted over HTTP, and ends at a signal', async () => {
  const child = spawn(process.execPath, [MAIN, '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  try {
    const [printed] = await once(child.stdout, 'data')
    const baseUrl = String(printed).trim()
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
    const control = (path: string, body?: unknown): Promise<Response> =>
      fetch(new URL(`/simulator/${path}`, baseUrl), {
        method: 'POST',
        body: body === undefined ? null : JSON.stringify(body),
      })
    const ask = (): Promise<Response> =>
      fetch(`${baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-test' },
        body: JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] }),
      })

    expect((await control('script', [{ status: 429 }])).status).toBe(200)
    expect((await ask()).status).toBe(429)
    expect((await control('script', { nonsense: 1 })).status).toBe(400)

    const prices = { id: 'sim/text', pricing: { prompt: '0.001', completion: '0' } }
    expect((await control('prices', prices)).status).toBe(200)
    expect(await (await ask()).json()).toMatchObject({ usage: { cost: 0.004 } })

    expect((await control('script', { hold: 'beforeHeaders', gate: 'g' })).status).toBe(200)
    const held = ask()
    await control('release', { gate: 'g' })
    expect((await held).status).toBe(200)

    const listed: unknown = await (await fetch(new URL('/simulator/requests', baseUrl))).json()
    const requests = isObject(listed) ? listed['requests'] : null
    expect(requests).toHaveLength(3)
    expect((await control('reset')).status).toBe(200)
    const after: unknown = await (await fetch(new URL('/simulator/requests', baseUrl))).json()
    expect(after).toEqual({ requests: [] })
  } finally {
    child.kill('SIGTERM')
  }
  expect(await exited).toEqual([0, null])
})
