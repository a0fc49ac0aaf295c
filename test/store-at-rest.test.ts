import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCommandLine } from '../src/cli/testing/command-line.ts'
import { listen } from '../src/vocabulary/testing/listen.ts'
import { bundled } from './bundled.ts'
import { chatAt, firstKey, type ServeProcess, serve, tollgate } from './tollgate-process.ts'

const program = bundled('tollgate')
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

let folder: string
let file: string
let closing: (() => void)[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-rest-'))
  file = join(folder, 'data', 'simulator.db')
  closing = []
})
afterEach(() => {
  for (const close of closing) close()
  rmSync(folder, { recursive: true })
})

/** Starts a server whose Activity is pruned, so that every thread that may have the store open has it. */
function serveHere(env: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
  return serve({ folder, env: { TOLLGATE_ACTIVITY_DAYS: '1', ...env }, page: 'off', program })
}

/** Sends a request; resolves with its status, its id and the text of its answer. */
async function ask(server: ServeProcess) {
  const answer = await chatAt(server, firstKey(server))
  const requestId = answer.headers.get('x-request-id') ?? ''
  return { httpStatus: answer.status, requestId, said: await answer.text() }
}

/** Sends a request that is answered, and returns its id. */
async function send(server: ServeProcess): Promise<string> {
  const { httpStatus, requestId, said } = await ask(server)
  expect(httpStatus, said).toBe(200)
  return requestId
}

function logBytes(): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

/** The command line's view of a copy of the store's one file, without the files next to it. */
async function auditOfCopy(): Promise<string> {
  const copy = join(folder, `${randomBytes(4).toString('hex')}.db`)
  copyFileSync(file, copy)
  return commandHere(copy, 'audit')
}

/** Runs a command on a store, in this process, and returns its output. By position: the store's file, and the command. */
async function commandHere(storeFile: string, ...args: string[]): Promise<string> {
  const line = openCommandLine({ storeUrl: `sqlite:${storeFile}` })
  closing.push(() => line.close())
  const { out, notes } = await line.run(...args)
  expect(notes).toBe('')
  return out
}

test('after a SIGINT to a server, the single file has all of the store, while others still have it open for reading', async () => {
  const server = await serveHere()
  const last = await send(server)
  for (let reader = 0; reader < 16; reader++) {
    const connection = new DatabaseSync(file, { readOnly: true })
    closing.push(() => connection.close())
    expect(connection.prepare('select count(*) as n from requests').get()).toEqual({ n: 1 })
  }
  expect(await server.stop('SIGINT')).toEqual({ code: 0, signal: null })
  expect(logBytes()).toBe(0)
  expect(await auditOfCopy()).toContain(last)
})

test('after a start that failed, the single file has all of the store', async () => {
  const taken = createServer()
  const PORT = String(await listen(taken))
  closing.push(() => taken.close())
  await expect(serveHere({ PORT })).rejects.toThrow('is taken')
  expect(logBytes()).toBe(0)
  expect(await auditOfCopy()).toMatch(/^empty store: it has no accounts\./)
})

test.each(SIGNALS)(
  'a server that gets a %s while it starts, starts and stops, and the single file has all of the store',
  async (signal) => {
    const asked = Promise.withResolvers<() => void>()
    const upstream = createHttpServer((_, answer) => asked.resolve(() => void answer.end('{}')))
    const port = await listen(upstream)
    closing.push(() => upstream.close())
    const { PATH = '' } = process.env
    const server = spawn(process.execPath, [program, 'serve'], {
      cwd: folder,
      env: {
        PATH,
        PORT: '0',
        DATABASE_URL: `sqlite:${file}`,
        UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
        UPSTREAM_API_KEY: 'real',
      },
    })
    const log = text(server.stdout)
    const ended = once(server, 'exit')
    const answer = await asked.promise
    expect(logBytes()).toBeGreaterThan(0)
    server.kill(signal)
    answer()
    expect(await ended).toEqual([0, null])
    expect(await log).toContain('"msg":"stopping')
    expect(logBytes()).toBe(0)
  },
)

test('after a command, the single file has the written rows', async () => {
  const env = { DATABASE_URL: `sqlite:${file}` }
  await tollgate(['account', 'create', 'Ada'], { folder, env, program })
  expect(logBytes()).toBe(0)
  expect(await auditOfCopy()).toContain('1 account,')
})

test('a command next to a server leaves the write-ahead log to the server, and after a SIGTERM to that, the single file has all of the store', async () => {
  const server = await serveHere()
  const last = await send(server)
  expect((await tollgate(['request', 'list'], { folder, program })).out).toContain(last)
  const next = await send(server)
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(logBytes()).toBe(0)
  const said = await auditOfCopy()
  expect(said).toContain('2 requests')
  expect(said).toContain(next)
})

test.each(['-wal', '-shm'])(
  'a server whose %s was removed answers 503, and after it stops, the single file has everything that it answered before',
  async (end) => {
    const server = await serveHere()
    await send(server)
    const last = await send(server)
    rmSync(file + end)
    expect(await ask(server)).toMatchObject({ httpStatus: 503 })
    await server.stop('SIGTERM')
    const said = await auditOfCopy()
    expect(said).toContain('2 requests')
    expect(said).toContain(last)
  },
)

test('a killed server leaves its -wal, which the next server uses, and none starts without it until it is put back or given up', async () => {
  const killed = await serveHere()
  const last = await send(killed)
  await killed.stop('SIGKILL')
  expect(logBytes()).toBeGreaterThan(0)
  renameSync(`${file}-wal`, `${file}.aside`)
  await expect(serveHere()).rejects.toThrow(/lacks what its last server wrote until 20/)
  // A command that changed the store would hide the loss from the next server.
  const line = openCommandLine({ storeUrl: `sqlite:${file}` })
  closing.push(() => line.close())
  const added = await line.run('account', 'create', 'Ada')
  expect(added).toMatchObject({
    exitCode: 1,
    notes: expect.stringMatching(/SIGTERM.+ lacks what its last server wrote until 20/),
  })
  expect((await line.run('doctor')).out).toMatch(/^failed +store .+ lacks what its last server/m)
  const copied = await line.run('copy', '--from', `sqlite:${file}`, '--to', `sqlite:${file}.copy`)
  expect(copied).toMatchObject({
    exitCode: 1,
    notes: expect.stringMatching(/ lacks what its last/),
  })
  copyFileSync(`${file}.aside`, `${file}-wal`)
  expect(await commandHere(file, 'request', 'list')).toContain(last)
  const next = await serveHere()
  await next.stop('SIGKILL')
  rmSync(`${file}-wal`)
  await expect(serveHere()).rejects.toThrow(`delete ${file}.beat and start again`)
  rmSync(`${file}.beat`)
  await (await serveHere()).stop('SIGTERM')
  expect(await auditOfCopy()).toContain(last)
})
