import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import {
  cpuTicksOf,
  type ProcessStat,
  parseProcessMemory,
  parseProcessStat,
  treeOf,
} from './process-stat.ts'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** A process with everything that it started, as the operating system accounts for them. */
export class ProcessTree {
  readonly pid: number

  constructor(pid: number) {
    this.pid = pid
  }

  /** Time on a processor since it began. Throws where it has ended. */
  cpuMs(): number {
    const tree = this.#processes()
    if (tree.length === 0) throw new Error(`process ${this.pid} has ended`)
    return (cpuTicksOf(tree) * 1_000) / TICKS_PER_SECOND
  }

  /** Processor time of the main thread alone, which bounds what one process can do. */
  mainThreadCpuMs(): number {
    const text = readFileSync(`/proc/${this.pid}/task/${this.pid}/stat`, 'utf8')
    return (parseProcessStat(text).cpuTicks * 1_000) / TICKS_PER_SECOND
  }

  /** Memory that it occupies now. Pages that its processes share are counted once for each. */
  residentBytes(): number {
    return this.#sum(({ residentBytes }) => residentBytes)
  }

  /** The most memory that each of its processes occupied since {@link resetPeak}. */
  residentPeakBytes(): number {
    return this.#sum(({ residentPeakBytes }) => residentPeakBytes)
  }

  /** Forgets the peaks so far. */
  resetPeak(): void {
    for (const { pid } of this.#processes()) writeFileSync(`/proc/${pid}/clear_refs`, '5')
  }

  #sum(figureOf: (memory: ReturnType<typeof parseProcessMemory>) => number): number {
    return this.#processes().reduce((sum, { pid }) => {
      const text = readOrNull(`/proc/${pid}/status`)
      return text === null ? sum : sum + figureOf(parseProcessMemory(text))
    }, 0)
  }

  #processes(): ProcessStat[] {
    const stats: ProcessStat[] = []
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue
      const text = readOrNull(`/proc/${name}/stat`)
      if (text !== null) stats.push(parseProcessStat(text))
    }
    return treeOf(stats, this.pid)
  }
}

/** The process that started another. Throws where there is none of that id. */
export function parentPidOf(pid: number): number {
  return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).parentPid
}

/** Null where the process ended meanwhile. */
function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
