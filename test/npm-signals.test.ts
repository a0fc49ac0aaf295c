import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../src/store/testing/free-port.ts'
import { chatAt, isRunning } from './tollgate-process.ts'

const ROOT = join(import.meta.dirname, '..')
const NPM_START = { program: 'npm', args: ['start'] } as const
const NPX = { program: 'npx', args: ['tollgate', 'serve'] } as const

let folder: string
let running: ServerBelow[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-npm-'))
  running = []
})
afterEach(async () => {
  for (const { group, closed } of running) {
    signalGroup(group, 'SIGKILL')
    await closed
  }
  rmSync(folder, { recursive: true })
})

/** A server that npm runs, in its own process group. */
interface ServerBelow {
  readonly npm: ChildProcess
  /** By its negative id: npm, and all that it started. */
  readonly group: number
  readonly pid: number
  readonly address: string
  readonly apiKey: string
  /** Resolves once no process writes to the output of npm any more. */
  readonly closed: Promise<unknown>
}

async function startBelow(program: string, args: readonly string[]): Promise<ServerBelow> {
  const { PATH = '', HOME = '' } = process.env
  // Not one that the system names: it would give it to any other server as soon as this one has ended.
  const PORT = String(await freePort())
  const npm = spawn(program, args, {
    cwd: ROOT,
    detached: true,
    env: {
      PATH,
      HOME,
      PORT,
      DATABASE_URL: `sqlite:${join(folder, 'store.db')}`,
      TOLLGATE_PAGE: 'off',
    },
  })
  const closed = once(npm, 'close')
  let notes = ''
  npm.stderr.on('data', (chunk) => {
    notes += String(chunk)
  })
  for await (const line of createInterface({ input: npm.stdout })) {
    const entry: unknown = line.startsWith('{') ? JSON.parse(line) : null
    if (typeof entry !== 'object' || entry === null || !('address' in entry)) continue
    npm.stdout.resume()
    // It comes by another pipe, which may be read later.
    const keyOf = (): string | undefined => /sk-tollgate-[A-Za-z0-9]+(?=\s)/.exec(notes)?.[0]
    await expect.poll(keyOf).toBeDefined()
    const apiKey = keyOf() ?? ''
    const pid = 'pid' in entry ? Number(entry.pid) : 0
    const server = { npm, group: npm.pid ?? 0, pid, address: String(entry.address), apiKey, closed }
    running.push(server)
    return server
  }
  throw new Error(`${program} ended: ${notes}`)
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // All of it has ended.
  }
}

/** Whether something listens at an address. */
async function isServed(address: string): Promise<boolean> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  return isOpen
}

/** A stream of this many events, 50 ms apart; the first has arrived. */
async function stream(server: ServerBelow, events: number): Promise<Response> {
  const pace = { role: 'user', content: JSON.stringify({ events, interval_ms: 50 }) }
  const asked = { model: 'sim/paced', stream: true, messages: [pace] }
  const answer = await chatAt(server, server.apiKey, asked)
  expect(answer.status).toBe(200)
  return answer
}

// A SIGINT that npx alone is sent is missing here: the shell that npx starts keeps it for itself.
// SIGTERM to npm start is below, with a stream.
test.each([
  { ...NPM_START, signal: 'SIGINT' },
  { ...NPX, signal: 'SIGTERM' },
] as const)(
  '$program that is sent $signal alone ends its server, and the port is free',
  async ({ program, args, signal }) => {
    const server = await startBelow(program, args)
    expect([isRunning(server.pid), await isServed(server.address)]).toEqual([true, true])
    server.npm.kill(signal)
    await expect.poll(() => isRunning(server.pid)).toBe(false)
    expect(await isServed(server.address)).toBe(false)
    await server.closed
  },
)

test('npm start that is sent SIGTERM ends when its server does, after the streams that were running, and with 0', async () => {
  const server = await startBelow('npm', ['start'])
  const answer = await stream(server, 20)
  server.npm.kill('SIGTERM')
  expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/)
  expect(await server.closed).toEqual([0, null])
  await expect.poll(() => isRunning(server.pid)).toBe(false)
  expect(await isServed(server.address)).toBe(false)
})

test.each([NPM_START, NPX])(
  'a Ctrl-C, which the terminal sends to both $program and its server, lets streams end',
  async ({ program, args }) => {
    const server = await startBelow(program, args)
    const answer = await stream(server, 20)
    signalGroup(server.group, 'SIGINT')
    expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/)
    await server.closed
  },
)

test('repeated signals end a server at once', async () => {
  const server = await startBelow('npm', ['start'])
  const broken = expect((await stream(server, 1_000_000)).text()).rejects.toThrow()
  await expect
    .poll(() => {
      server.npm.kill('SIGTERM')
      return isRunning(server.pid)
    })
    .toBe(false)
  await broken
  await server.closed
})

test('a server below npx that is stopping lets its streams end, also when npx ends seconds later', async () => {
  const server = await startBelow('npx', ['tollgate', 'serve'])
  const answer = await stream(server, 60)
  process.kill(server.pid, 'SIGTERM')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const read = async (): Promise<boolean> => {
    const { done, value = '' } = (await reader?.read()) ?? { done: true }
    text += value
    return !done
  }
  // Events come 50 ms apart: longer than the time in which two signals are the same.
  while (text.split('data: ').length < 40) await read()
  server.npm.kill('SIGTERM')
  while (await read());
  expect(text).toMatch(/data: \[DONE\]\n\n$/)
  await expect.poll(() => isRunning(server.pid)).toBe(false)
})
