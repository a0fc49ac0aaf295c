import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

/** The cores that the programs of a run may use, in the syntax of `taskset -c`. */
export interface Cores {
  /** The cores of the gateway, and of the bare proxy in its turn. */
  readonly gateway: string
  /** The cores of everything else: the load, the provider, a database server. */
  readonly others: string
}

/** The cores that a machine can pin. */
interface CoresOfMachine {
  readonly cores: number
  readonly hasTaskset: boolean
}

/** Looks at this machine. */
export function coresOfMachine(): CoresOfMachine {
  return { cores: cpus().length, hasTaskset: hasTaskset() }
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Gives the gateway the first cores and everything else the others. `wanted` null: one core for the gateway, where the
 * machine can do that. Null: nothing is pinned, because all cores are wanted or the machine can't. Throws Error where a
 * number of cores was asked for and the machine can't pin.
 */
export function divideCores(
  wanted: number | null,
  { cores, hasTaskset }: CoresOfMachine,
): Cores | null {
  if (cores < 2 || (wanted ?? 1) >= cores) return null
  if (!hasTaskset) {
    if (wanted === null) return null
    throw new Error('--cores needs the program taskset, of util-linux')
  }
  const last = (wanted ?? 1) - 1
  return { gateway: rangeText(0, last), others: rangeText(last + 1, cores - 1) }
}

// By position: the first core and the last one.
function rangeText(first: number, last: number): string {
  return first === last ? String(first) : `${first}-${last}`
}

/** Keeps this process, all of its threads and its later child processes on some cores. */
export function pinThisProcess(cores: string): void {
  const pid = String(process.pid)
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cores, pid], { stdio: 'ignore' })
}
