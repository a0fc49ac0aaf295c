import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSimulator } from '../simulator/simulator.ts'
import { serve, tollgate } from './tollgate-process.ts'

const IN_FLIGHT = 100
const HOLDS_A_KEY = 8

test('kill -9 with 100 requests in flight: after a restart the audit is clean, nothing was released, and the open holds are unresolved', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-crash-'))
  const simulator = await startSimulator()
  const env = {
    UPSTREAM_BASE_URL: simulator.baseUrl,
    UPSTREAM_API_KEY: 'upstream-key',
    DATABASE_URL: `sqlite:${join(folder, 'store.db')}`,
  }
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, out, notes } = await tollgate([...args, '--json'], { folder, env })
    expect(code, notes).toBe(0)
    return JSON.parse(out)
  }
  const first = await serve({ folder, env })
  const account = await run('account', 'create', 'crowd')
  const accountId = textOf(account, 'id')
  await run('credit', 'grant', accountId, '100')
  const apiKeys: string[] = []
  for (let held = 0; held < IN_FLIGHT; held += HOLDS_A_KEY) {
    apiKeys.push(textOf(await run('key', 'create', accountId), 'key'))
  }

  simulator.script({ hold: 'beforeHeaders', times: 'always' })
  const lost = Array.from({ length: IN_FLIGHT }, (_, i) =>
    fetch(`${first.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKeys[Math.floor(i / HOLDS_A_KEY)] ?? '' },
      body: JSON.stringify({
        model: 'sim/text',
        stream: i % 2 === 1,
        messages: [{ role: 'user', content: 'Say hello.' }],
      }),
    }).then(
      () => 'answered',
      () => 'lost',
    ),
  )
  await simulator.gate().arrived(IN_FLIGHT)
  expect(await first.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(new Set(await Promise.all(lost))).toEqual(new Set(['lost']))

  const second = await serve({ folder, env })
  const rows = listOf(await run('request', 'list', '--limit', '1000'))
  expect(rows.map((row) => textOf(row, 'state'))).toEqual(Array(IN_FLIGHT).fill('unresolved'))
  expect(await run('audit')).toMatchObject({ ok: true, differences: [] })
  expect(await run('account', 'show', accountId)).toMatchObject({
    credit: { backed: { balance: 100_000_000 } },
  })

  // Their credit stays reserved, but their places in flight are free.
  simulator.gate().release()
  const next = await fetch(`${second.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': apiKeys[0] ?? '' },
    body: '{"model":"sim/text","messages":[{"role":"user","content":"Hi"}]}',
  })
  expect(next.status, await next.text()).toBe(200)
  expect(await second.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  await simulator.close()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

function textOf(answer: unknown, name: string): string {
  if (typeof answer !== 'object' || answer === null) throw new Error('no object')
  return String(Object.entries(answer).find(([key]) => key === name)?.[1])
}

function listOf(answer: unknown): readonly unknown[] {
  if (
    typeof answer === 'object' &&
    answer !== null &&
    'data' in answer &&
    Array.isArray(answer.data)
  ) {
    return answer.data
  }
  throw new Error('no list')
}
