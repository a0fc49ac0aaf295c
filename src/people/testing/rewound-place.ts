import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import { postgresLedger } from '../../ledger/engines/create-ledger.ts'
import { openStore } from '../../store/open-store.ts'
import type { Tables } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import {
  createRewoundDatabase,
  type RewoundDatabase,
} from '../../store/testing/rewound-database.ts'
import { systemClock } from '../../vocabulary/clock.ts'
import { TakenAccess } from '../taken-access.ts'
import { takenWords } from '../taken-kinds.ts'
import { IDS, Place } from './place.ts'

/** A store with its first operator, which can be put back to an earlier state, and gateways that know of taken access. */
export class RewoundPlace {
  readonly database: RewoundDatabase
  readonly place: Place
  /** The changes that gateways have repeated, in order. */
  readonly reports: string[] = []
  readonly failures: unknown[] = []
  readonly #gatewayStore: Store

  private constructor(database: RewoundDatabase, place: Place, gatewayStore: Store) {
    this.database = database
    this.place = place
    this.#gatewayStore = gatewayStore
  }

  static async open(): Promise<RewoundPlace> {
    const database = await createRewoundDatabase()
    const place = await Place.open(database.url)
    const url = new URL(database.url)
    // The clock of the database is that of `passHours`, once there is one.
    url.searchParams.set('options', '-c search_path=later,pg_catalog,public')
    return new RewoundPlace(database, place, await openStore({ url: url.href }))
  }

  async close(): Promise<void> {
    await this.#gatewayStore.close()
    await this.place.close()
    await this.database.remove()
  }

  get db(): Kysely<Tables> {
    return this.place.store.db
  }

  /** Makes the account `acct_1`. */
  async makeAccount(): Promise<void> {
    const ledger = postgresLedger({ url: this.database.url })
    await ledger.createAccount({ id: 'acct_1', name: 'Acme' })
    await ledger.close()
  }

  /** A gateway, which knows of taken access. */
  gateway(gatewayIds = IDS): TakenAccess {
    return new TakenAccess({
      db: this.#gatewayStore.db,
      clock: systemClock,
      ids: gatewayIds,
      onTakenAgain: (row) => this.reports.push(takenWords(row)),
      onLast: (row) => this.reports.push(`last: ${takenWords(row)}`),
      onFailure: (_, cause) => this.failures.push(cause),
    })
  }

  /** Keeps the store as it is now. */
  async keep(): Promise<void> {
    await this.database.keep()
    await this.#connected()
  }

  /** Loses what was committed since {@link keep}. */
  async goBack(): Promise<void> {
    await this.database.goBack()
    await this.#connected()
  }

  /** Puts the clock of the database forward, as gateways see it. */
  async passHours(hours: number): Promise<void> {
    await sql`create schema if not exists later`.execute(this.db)
    await sql`create or replace function later.clock_timestamp() returns timestamptz language sql as
      ${sql.lit(`select pg_catalog.clock_timestamp() + interval '${hours} hours'`)}`.execute(
      this.db,
    )
  }

  async #connected(): Promise<void> {
    for (const each of [this.db, this.#gatewayStore.db]) {
      const canRead = () =>
        sql`select 1`.execute(each).then(
          () => true,
          () => false,
        )
      await expect.poll(canRead).toBe(true)
    }
  }
}
