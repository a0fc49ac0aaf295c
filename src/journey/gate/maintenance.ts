import type { Kysely } from 'kysely'
import { type OperatorAction, recordAction } from '../../ledger/operator-actions.ts'
import type { Tables } from '../../store/schema.ts'
import { readSetting, writeSetting } from '../../store/settings.ts'
import type { Clock } from '../../vocabulary/clock.ts'

interface MaintenanceInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
}

/**
 * Whether an admin has turned on maintenance, so that inference answers 503. The state is in the store, so that it
 * survives a restart and reaches every process, and in memory, so that requests read it at no cost.
 */
export class Maintenance {
  readonly #input: MaintenanceInput
  #on = false
  #turns = 0

  constructor(input: MaintenanceInput) {
    this.#input = input
  }

  /** Whether inference is refused at this moment. False until it was read. */
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

  /** Reads the state, which another process may have changed. If it rejects, the last known state stays. */
  async read(): Promise<void> {
    const turns = this.#turns
    const value = await readSetting(this.#input.db, 'maintenance')
    // A value that was read during a change may be older than the change.
    if (turns === this.#turns) this.#on = value === 'on'
  }
}
