import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Cores, coresOfMachine, divideCores, pinThisProcess } from './cores.ts'
import type { Flags } from './flags.ts'
import { refuseMemory } from './machine.ts'
import type { Measure } from './measure.ts'
import {
  type RunningGateway,
  type RunningTarget,
  type StartGatewayInput,
  startBareProxy,
  startGateway,
  startSimulator,
} from './systems.ts'
import type { Target } from './target.ts'

/** One thing that can be measured. */
export interface Scenario {
  readonly name: string
  /** Its measurement in words, for `--help`. */
  readonly summary: string
  /** When it runs without being named: in every run, not in a quick one, never. */
  readonly runs: 'always' | 'unlessQuick' | 'whenNamed'
  /**
   * Which budgets a run fails by if it misses one, unless it is a quick one; those of times are in milliseconds. Default:
   * none, the miss is only shown.
   */
  readonly enforcesBudgets?: 'all' | 'of times'
  run(bench: Bench): Promise<readonly Measure[]>
}

type OwnGateway = Omit<StartGatewayInput, 'folder' | 'upstreamAddress' | 'checkout'>

/** An error with where it came from. */
export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** One run: the programs that its scenarios share, and the faults. */
export class Bench {
  readonly flags: Flags
  /** For stores and logs; deleted at the end. */
  readonly folder: string
  readonly failures: string[] = []
  /** Null: nothing is pinned. */
  readonly #cores: Cores | null
  readonly #running: RunningTarget[] = []
  /** By their names. */
  readonly #shared = new Map<string, Promise<RunningTarget>>()

  constructor(flags: Flags) {
    this.flags = flags
    // The times of a quick run mean little, and next to other work pinned programs wait for a core while one is idle.
    const isPinned = !flags.quick || flags.cores !== null
    this.#cores = isPinned ? divideCores(flags.cores, coresOfMachine()) : null
    if (this.#cores !== null) pinThisProcess(this.#cores.others)
    mkdirSync(flags.storeFolder, { recursive: true })
    refuseMemory(flags.storeFolder)
    this.folder = mkdtempSync(join(flags.storeFolder, 'bench-'))
    process.once('exit', () => rmSync(this.folder, { recursive: true, force: true }))
  }

  /** How many rounds of each target. */
  get rounds(): number {
    return this.flags.rounds
  }

  /** A count of requests, streams or rows, scaled to the run: fewer in a quick one. */
  scaled({ full, quick }: { readonly full: number; readonly quick: number }): number {
    return this.flags.quick ? quick : full
  }

  /** The provider itself, called without anything between. */
  simulator(): Promise<Target> {
    return this.#once('simulator', () => this.#keep(startSimulator(this.folder)))
  }

  /** The target that all others are compared with. */
  bareProxy(): Promise<Target> {
    return this.#once('bare proxy', async () => {
      const { address: upstreamAddress } = await this.simulator()
      const cores = this.#cores?.gateway
      return this.#keep(startBareProxy({ folder: this.folder, upstreamAddress, cores }))
    })
  }

  /** The gateway on SQLite that scenarios without a need of their own share. */
  gateway(): Promise<Target> {
    return this.#shareGateway({ name: 'tollgate' })
  }

  /** The same, which may use all cores; none where the gateway of all scenarios may. */
  async onAllCores(): Promise<readonly Target[]> {
    if (this.#cores === null) return []
    const cores = `${this.#cores.gateway},${this.#cores.others}`
    return [await this.#shareGateway({ name: 'tollgate on all cores', cores })]
  }

  /** The same, which looks the cost of each request up. */
  lookingAllUp(): Promise<Target> {
    return this.#shareGateway({ name: 'tollgate looking all up', looksAllUp: true })
  }

  #shareGateway(input: OwnGateway): Promise<RunningTarget> {
    return this.#once(input.name, () => this.startGateway(input))
  }

  /** By position: a name, and how the target of that name starts when it is first asked for. */
  #once(name: string, start: () => Promise<RunningTarget>): Promise<RunningTarget> {
    const starting = this.#shared.get(name) ?? start()
    this.#shared.set(name, starting)
    return starting
  }

  /** Starts a gateway of a scenario's own, for it to {@link end}, or the run at its end. */
  async startGateway(input: OwnGateway): Promise<RunningGateway> {
    const { address: upstreamAddress } = await this.simulator()
    const { checkout, profileFolder, settings } = this.flags
    // By this way, for threads take over no flags.
    const profiling =
      profileFolder === null ? {} : { NODE_OPTIONS: `--cpu-prof "--cpu-prof-dir=${profileFolder}"` }
    return this.#keep(
      startGateway({
        ...input,
        folder: this.folder,
        upstreamAddress,
        checkout,
        cores: input.cores ?? this.#cores?.gateway,
        settings: { ...settings, ...profiling, ...input.settings },
      }),
    )
  }

  /** The failures so far, those of running processes included. */
  get failuresSoFar(): readonly string[] {
    return [...this.failures, ...this.#running.flatMap(({ witness }) => witness.failures)]
  }

  /** Ends a target before the run does, and notes its faults. */
  async end(target: RunningTarget): Promise<void> {
    const at = this.#running.indexOf(target)
    if (at !== -1) this.#running.splice(at, 1)
    try {
      this.failures.push(...(await target.close()))
    } catch (error) {
      this.failures.push(`${target.name}: ${describeError(error)}`)
    }
  }

  /** Ends everything, last started first, and notes all faults. */
  async close(): Promise<void> {
    for (const target of this.#running.toReversed()) await this.end(target)
  }

  /** Has a target end with the others, and be looked through then. */
  async #keep<T extends RunningTarget>(starting: Promise<T>): Promise<T> {
    const target = await starting
    this.#running.push(target)
    return target
  }
}
