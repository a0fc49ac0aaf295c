import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { median } from './statistics.ts'

/** The machine on which a result was measured. */
interface Machine {
  /** The commit of the checkout, with `+` if files have changed since. */
  readonly commit: string
  readonly node: string
  readonly processor: string
  readonly cores: number
  readonly memoryBytes: number
  readonly kernel: string
  /** Processes that wanted to run when the run began, over the last minute. */
  readonly loadAverage: number
  readonly disk: Disk
}

/** How long the disk below the stores takes to make a write durable. */
export interface Disk {
  /** Median of `fsync` after a write of 4 KiB. */
  readonly fsyncMs: number
  /** Median of a commit of one row by SQLite, as the gateway has it commit. */
  readonly commitMs: number
}

const TMPFS = 0x01021994
const SAMPLES = 200
// Above it, other work takes part of the measured time.
const LOAD_MAX = 1

/** Throws Error where a folder is in memory: nothing is durable there. */
export function refuseMemory(folder: string): void {
  if (statfsSync(folder).type === TMPFS) {
    throw new Error(`${folder} is in memory: a store there does not measure a disk`)
  }
}

/** Looks at the machine, and at the disk below a folder. */
export function describeMachine(folder: string): Machine {
  const [core] = cpus()
  return {
    commit: commitOf(),
    node: process.version,
    processor: core?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    loadAverage: loadavg()[0] ?? 0,
    disk: measureDisk(folder),
  }
}

/** The machine in a paragraph of Markdown. */
export function machineText(machine: Machine): string {
  const { commit, node, processor, cores, memoryBytes, kernel, loadAverage, disk } = machine
  const gib = Math.round(memoryBytes / 1024 ** 3)
  return `Commit ${commit.slice(0, 12)}${commit.endsWith('+') ? ' with changes' : ''}, Node ${node}, \
${cores} cores of ${processor}, ${gib} GiB, Linux ${kernel}; \
a commit takes this disk ${disk.commitMs.toFixed(2)} ms, an fsync ${disk.fsyncMs.toFixed(2)} ms. \
Load average before the run: ${loadAverage.toFixed(1)}${loadAverage < LOAD_MAX ? '' : ', so that its figures do not count'}.
`
}

/** Times commits on the disk of a folder. */
export function measureDisk(folder: string): Disk {
  return { fsyncMs: fsyncMedianMs(folder), commitMs: commitMedianMs(folder) }
}

function fsyncMedianMs(folder: string): number {
  const path = join(folder, 'fsync.bin')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4096, 1)
  const timesMs = sample(() => {
    writeSync(file, block)
    fsyncSync(file)
  })
  closeSync(file)
  rmSync(path)
  return median(timesMs)
}

function commitMedianMs(folder: string): number {
  const path = join(folder, 'commit.db')
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table t (v text)')
  const insert = database.prepare('insert into t values (?)')
  const timesMs = sample(() => insert.run('a row of a request, of about its size'.repeat(10)))
  database.close()
  rmSync(path)
  return median(timesMs)
}

function sample(write: () => void): number[] {
  return Array.from({ length: SAMPLES }, () => {
    const startedAtMs = performance.now()
    write()
    return performance.now() - startedAtMs
  })
}

function commitOf(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    return git('rev-parse', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}
