import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(import.meta.dirname, '..')
// More than a timer fires in the time that they take.
const CHATS = 60

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/**
 * The files of `src/` that a streamed chat enters, on SQLite with the simulator as its provider: those with a
 * function that ran once more for each chat than in a server that was asked nothing. All threads count.
 */
export async function filesThatAChatEnters(): Promise<string[]> {
  const idle = await callsByFunction(0)
  const busy = await callsByFunction(CHATS)
  const entered = new Set<string>()
  for (const [place, count] of busy) {
    if (count - (idle.get(place) ?? 0) >= CHATS) entered.add(place.split(' ')[0] ?? '')
  }
  return [...entered].sort()
}

async function callsByFunction(chats: number): Promise<Map<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-house-'))
  try {
    const coverage = join(folder, 'coverage')
    await serveWithCoverage({ folder, coverage, chats })
    const calls = new Map<string, number>()
    for (const name of await readdir(coverage)) {
      const { result }: Coverage = JSON.parse(await readFile(join(coverage, name), 'utf8'))
      for (const { url, functions } of result) {
        const path = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : ''
        if (!path.startsWith('src/')) continue
        // The first is the file itself, which runs when it is loaded.
        for (const [at, { ranges }] of functions.slice(1).entries()) {
          const place = `${path} ${at}`
          calls.set(place, (calls.get(place) ?? 0) + (ranges[0]?.count ?? 0))
        }
      }
    }
    return calls
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function serveWithCoverage(input: {
  readonly folder: string
  readonly coverage: string
  readonly chats: number
}): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'tollgate.js'), 'serve'], {
    cwd: input.folder,
    env: { PATH: process.env['PATH'], PORT: '0', NODE_V8_COVERAGE: input.coverage },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  const served = Promise.withResolvers<string>()
  const read = (chunk: unknown): void => {
    said += String(chunk)
    const [, address] = /"address":"([^"]+)"/.exec(said) ?? []
    if (address !== undefined) served.resolve(address)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const base = await Promise.race([served.promise, ended.then(() => null)])
  if (base === null) throw new Error(`tollgate serve ended: ${said}`)
  const [key = ''] = /sk-tollgate-\w+/.exec(said) ?? []
  for (let sent = 0; sent < input.chats; sent++) {
    const response = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: 'sim/text',
        stream: true,
        messages: [{ role: 'user', content: 'Say hello.' }],
      }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`a chat was answered ${response.status}: ${text}`)
  }
  child.kill('SIGTERM')
  await ended
}
