import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bundled } from '../bundled.ts'
import { serve } from '../tollgate-process.ts'

const balanceShape = z.object({ credit: z.object({ backed: z.object({ available: z.int() }) }) })

test('npm run chain prints settings that a gateway starts with, and its deposits become credit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-chain-'))
  await using closing = new AsyncDisposableStack()
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const chain = spawn(process.execPath, [join(import.meta.dirname, 'play-chain.ts')])
  const ended = once(chain, 'exit')
  closing.defer(async () => {
    chain.stdin.end()
    await ended
  })
  const said = createInterface({ input: chain.stdout })[Symbol.asyncIterator]()
  /** Reads on to a line with a text in it, and returns the lines until then. */
  const readTo = async (text: string): Promise<readonly string[]> => {
    const lines: string[] = []
    while (!lines.at(-1)?.includes(text)) {
      const { value, done } = await said.next()
      if (done === true) throw new Error(`the chain ended before it said ${text}`)
      lines.push(value)
    }
    return lines
  }
  const settings = (await readTo('paste the address here')).filter((line) => /^[A-Z_]+=/.test(line))
  const env = Object.fromEntries(
    settings.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const server = await serve({ folder, page: 'off', program: bundled('tollgate'), env })
  closing.defer(async () => void (await server.stop('SIGKILL')))
  const headers = { 'x-api-key': /sk-tollgate-\w+/.exec(server.greeting)?.[0] ?? '' }
  const ask = async (path: string, init: RequestInit = {}): Promise<string> =>
    (await fetch(`${server.address}${path}`, { headers, ...init })).text()
  const available = async () =>
    balanceShape.parse(JSON.parse(await ask('/v1/balance'))).credit.backed.available

  const before = await available()
  const body = JSON.stringify({ method: 'chain-31337-usdc' })
  const begun = await ask('/v1/credit/purchases', { method: 'POST', body })
  chain.stdin.write(`not an address\n${/0x[\da-fA-F]{40}/.exec(begun)?.[0]}\n`)
  expect(await readTo('sent 10 USDC to')).toEqual([
    '',
    expect.stringContaining('this is no address'),
    expect.stringContaining('within 15 seconds'),
  ])
  await expect.poll(available, { interval: 100 }).toBe(before + 10_000_000)
})
