import type { Kysely } from 'kysely'
import { type OperatorAction, recordAction } from '../../ledger/operator-actions.ts'
import type { Tables } from '../../store/schema.ts'
import { readSetting, writeSetting } from '../../store/settings.ts'
import type { Clock } from '../../vocabulary/clock.ts'

interface MaintenanceInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** How often the store is read for changes by other processes. */
  readonly pollMs: number
  /** Called when the store could not be read; the last known state stays. Must not throw. */
  readonly onFailure: (cause: unknown) => void
  /** Returns its own cancellation. Default: a timer that does not keep the process alive. */
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
 * Whether an admin has turned on maintenance, so that inference answers 503. The state is in the store, so that it
 * survives a restart and reaches every process, and in memory, so that requests read it at no cost.
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

  /** Reads the state, then polls it. Rejects if the first read fails. */
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

  /** Whether inference is refused at this moment. */
  get isOn(): boolean {
    return this.#on
  }

  /**
   * Turns it on or off for every process of the store. In this process it takes effect before this resolves. `by`: the
   * operator who does it, which is recorded.
   */
  async turn(to: 'on' | 'off', by: OperatorAction | null = null): Promise<void> {
    const { db, clock } = this.#input
    await db.transaction().execute(async (trx) => {
      await writeSetting(trx, { name: 'maintenance', value: to })
      await recordAction(trx, { by, detail: { enabled: to === 'on' }, nowMs: clock.nowMs() })
    })
    this.#turns++
    this.#on = to === 'on'
  }

  /** Stops the polling; resolves when no read is running. */
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
    // A value that was read during a change may be older than the change.
    if (turns === this.#turns) this.#on = value === 'on'
  }
}
