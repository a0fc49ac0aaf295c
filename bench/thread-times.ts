import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { parseProcessStat } from './process-stat.ts'

const MS_PER_TICK = 1_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Processor time of each thread of a process and of those that it started, in milliseconds by its id. */
export function threadTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>()
  const processes = [String(pid)]
  // The list grows while it is walked: each process brings its children.
  for (const process of processes) {
    for (const thread of readdirSync(`/proc/${process}/task`)) {
      const folder = `/proc/${process}/task/${thread}`
      const { cpuTicks } = parseProcessStat(readFileSync(`${folder}/stat`, 'utf8'))
      times.set(thread, cpuTicks * MS_PER_TICK)
      const children = readFileSync(`${folder}/children`, 'utf8').split(' ')
      processes.push(...children.filter((child) => child !== ''))
    }
  }
  return times
}

export interface BusiestInput {
  readonly before: ReadonlyMap<string, number>
  readonly after: ReadonlyMap<string, number>
}

/** What the thread that worked most did between two looks, in milliseconds. */
export function busiestThreadMs({ before, after }: BusiestInput): number {
  return Math.max(...[...after].map(([thread, cpuMs]) => cpuMs - (before.get(thread) ?? 0)))
}
