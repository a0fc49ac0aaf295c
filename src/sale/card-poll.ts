import type { Kysely } from 'kysely'
import { listOpen } from '../ledger/purchases.ts'
import { Passes } from '../store/passes.ts'
import type { Tables } from '../store/schema.ts'
import type { Sale } from './sale.ts'

const POLL_MS = 60_000

interface CardPollInput {
  readonly db: Kysely<Tables>
  readonly sale: Pick<Sale, 'look'>
  /** Called with each purchase that could not be looked at; the next pass tries again. */
  readonly onFailure: (source: string | null, cause: unknown) => void
}

/**
 * Looks at every open purchase once a minute, so that a payment is found without any message, and one that
 * has expired is closed. Several gateways repeat the work, harmlessly.
 */
export class CardPoll {
  readonly #input: CardPollInput
  readonly #passes: Passes

  constructor(input: CardPollInput) {
    this.#input = input
    this.#passes = new Passes({
      intervalMs: POLL_MS,
      pass: () => this.look(),
      onFailure: (cause) => input.onFailure(null, cause),
    })
  }

  start(): void {
    this.#passes.start()
  }

  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** One pass. */
  async look(): Promise<void> {
    const { db, sale, onFailure } = this.#input
    for (const { source } of await listOpen(db)) {
      if (this.#passes.stopped) return
      try {
        await sale.look(source)
      } catch (cause) {
        onFailure(source, cause)
      }
    }
  }
}
