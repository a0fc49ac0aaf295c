import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MemoryLog } from '../../test/memory-log.ts'
import { readConfig } from './config.ts'
import { oneUpstream } from './configured-upstreams.ts'
import { WorkerProcesses } from './worker-processes.ts'

const ENTRY = new URL('./testing/scripted-worker.ts', import.meta.url)
const NO_FILES_LEFT = fileURLToPath(new URL('./testing/no-files-left.ts', import.meta.url))
const ADDRESS = 'http://127.0.0.1:1'

let folder: string
let log: MemoryLog
let workersLog: MemoryLog
let workers: WorkerProcesses

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  log = new MemoryLog()
  workersLog = new MemoryLog()
})
afterEach(async () => {
  await workers.stop().catch(() => {})
  rmSync(folder, { recursive: true })
})

/** Workers of which the first to start take these scripts, in any order. */
function open({ count = 2, scripts = [] as string[], lookEveryMs = 60_000 }): void {
  for (const [place, script] of scripts.entries()) {
    writeFileSync(join(folder, `${place + 1}-${script}`), '')
  }
  workers = new WorkerProcesses({
    entry: ENTRY,
    count,
    startWith: {
      config: readConfig({}),
      configured: oneUpstream(readConfig({}), { mode: 'simulator', baseUrl: folder, apiKey: '' }),
    },
    log: pino({ level: 'trace' }, log),
    writeLog: (lines) => workersLog.write(lines),
    lookEveryMs,
  })
}

/** The log lines with a message, read. */
function linesOf(message: string): Record<string, unknown>[] {
  return log.lines.filter((line) => line.includes(message)).map((line) => JSON.parse(line))
}

/** Resolves once so many starts have come to serve. */
async function servedTimes(times: number): Promise<void> {
  await expect.poll(() => linesOf('worker serves').length).toBe(times)
}

test('it has started when all workers serve, and whole lines of their logs are written', async () => {
  open({ count: 3 })
  expect(await workers.start()).toBe(ADDRESS)
  expect(new Set(linesOf('worker serves').map(({ worker }) => worker))).toEqual(new Set([1, 2, 3]))
  await expect.poll(() => workersLog.lines).toEqual(Array(3).fill('{"script":"well"}'))
})

test('a worker that keeps crashing is replaced after growing delays, and the others go on', async () => {
  open({ scripts: ['well', 'crashes', 'crashes', 'never-serves', 'well'] })
  await workers.start()
  await servedTimes(4)
  const ended = linesOf('worker ended')
  expect(ended.map(({ retryMs, cause }) => [retryMs, cause])).toEqual([
    [100, 'it ended with 7'],
    [200, 'it ended with 7'],
    [400, 'it can not serve'],
  ])
  expect(new Set(ended.map(({ worker }) => worker)).size).toBe(1)
})

test("if a worker can't start, the whole start fails with its reason and no worker is left", async () => {
  open({ scripts: ['well', 'never-serves'] })
  await expect(workers.start()).rejects.toThrow(/^worker \d could not start: it can not serve$/)
  await workers.stop()
  expect(linesOf('worker ended')).toEqual([])
})

test('a worker whose event loop stands still is killed and replaced', async () => {
  open({ scripts: ['well', 'stands-still'], lookEveryMs: 50 })
  await workers.start()
  await servedTimes(3)
  expect(linesOf('worker ended')).toMatchObject([{ cause: 'its event loop stood still' }])
})

test('workers stop although the event loop of one stands still, which is reported', async () => {
  open({ scripts: ['well', 'stands-still'], lookEveryMs: 50 })
  await workers.start()
  await expect(workers.stop()).rejects.toThrow(/^worker \d ended by SIGKILL while it stopped$/)
})

test('a worker that ends badly while it stops is reported, and none is replaced', async () => {
  open({ scripts: ['well', 'ends-badly'] })
  await workers.start()
  await expect(workers.stop()).rejects.toThrow(/^worker \d ended with 3 while it stopped$/)
  expect(linesOf('worker ended')).toEqual([])
})

test("if the system can't create a process, the start fails and the program goes on", async () => {
  open({ count: 1 })
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    `ulimit -n 128 && exec "${process.execPath}" "${NO_FILES_LEFT}"`,
  ])
  expect(stdout).toMatch(/^WorkerFailure: worker 1 could not start: it ended at once: .*EMFILE/)
})
