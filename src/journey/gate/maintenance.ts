import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { readSetting, writeSetting } from '../../store/settings.ts'

interface MaintenanceInput {
  readonly db: Kysely<Tables>
  /** How often the store is asked what somebody else may have said. */
  readonly pollMs: number
  /** Told of each time the store could not be asked; what was known before holds. Must not throw. */
  readonly onFailure: (cause: unknown) => void
  /** Default: a timer that does not keep the process alive. The answer cancels it. */
  readonly startTimer?: (timer: {
    readonly everyMs: number
    readonly run: () => void
  }) => () => void
}

const startUnrefTimer: NonNullable<MaintenanceInput['startTimer']> = ({ everyMs, run }) => {
  const timer = setInterval(run, everyMs).unref()
  return () => clearInterval(timer)
}

/**
 * An admin's wish that inference answers 503 for a while. It is kept in the store, so that it outlives
 * a restart and reaches every process, and in memory, so that a request pays nothing to know it.
 */
export class Maintenance {
  readonly #input: MaintenanceInput
  #on = false
  #turns = 0
  #reading: Promise<void> | null = null
  readonly #cancelTimer: () => void

  private constructor(input: MaintenanceInput) {
    this.#input = input
    const { pollMs, startTimer = startUnrefTimer } = input
    this.#cancelTimer = startTimer({ everyMs: pollMs, run: () => void this.#poll() })
  }

  /** Reads what the store says, and then again and again. Rejects where it can't be read at first. */
  static async open(input: MaintenanceInput): Promise<Maintenance> {
    const maintenance = new Maintenance(input)
    try {
      await maintenance.#read()
    } catch (error) {
      await maintenance.stop()
      throw error
    }
    return maintenance
  }

  /** Whether inference is to be refused at this moment. */
  get isOn(): boolean {
    return this.#on
  }

  /** Turns it on or off for every process of the store; in this one from when it resolves. */
  async turn(to: 'on' | 'off'): Promise<void> {
    await writeSetting(this.#input.db, { name: 'maintenance', value: to })
    this.#turns++
    this.#on = to === 'on'
  }

  /** Asks no more; resolves when no question is under way. */
  async stop(): Promise<void> {
    this.#cancelTimer()
    await this.#reading
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    this.#reading ??= this.#read()
      .catch((cause: unknown) => this.#input.onFailure(cause))
      .finally(() => {
        this.#reading = null
      })
    await this.#reading
  }

  async #read(): Promise<void> {
    const turns = this.#turns
    const value = await readSetting(this.#input.db, 'maintenance')
    // What was read while it was being turned may be of before.
    if (turns === this.#turns) this.#on = value === 'on'
  }
}
