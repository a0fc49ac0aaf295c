import type { Kysely } from 'kysely'
import { createApiKey } from '../../../ledger/api-keys.ts'
import type { BatchedLedger } from '../../../ledger/engines/batched-ledger.ts'
import { createLedger } from '../../../ledger/engines/create-ledger.ts'
import { openStore } from '../../../store/open-store.ts'
import type { Tables } from '../../../store/schema.ts'
import type { Store } from '../../../store/store.ts'
import type { TestDatabase } from '../../../store/testing/test-databases.ts'
import type { RequestHeaders } from '../../../vocabulary/call.ts'
import { Problem } from '../../../vocabulary/problem.ts'
import { Authenticator } from '../authenticator.ts'
import type { Caller } from '../caller.ts'

/** An address that floods with unknown keys. */
export const FLOODING = '192.0.2.66'

/** The caller with the key of a {@link KeyWorld}. */
export const CALLER: Caller = {
  accountId: 'acct_1',
  apiKeyId: 'key_1',
  hasBackedCredit: false,
  feeBasisPoints: null,
  models: null,
}

/** An account with a key, and an authenticator whose look-ups are seen. The ledger is not the authenticator's. */
export class KeyWorld {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly authenticator: Authenticator
  nowMs = 1_000_000
  /** The text of `key_1`. */
  text = ''
  /** The kind of each statement of authenticators. */
  queries: string[] = []
  /** How many hashes each look-up named. */
  hashesAsked: number[] = []
  /** Called with each result of a query, which authenticators get after that. */
  onResult: () => Promise<void> = async () => {}
  /** Pending timers, the earliest first. */
  readonly timers: { readonly delayMs: number; readonly run: () => void }[] = []
  readonly #database: TestDatabase
  readonly #db: Kysely<Tables>

  private constructor(database: TestDatabase, store: Store) {
    this.#database = database
    this.store = store
    this.ledger = createLedger({ location: store.location })
    this.#db = store.db.withPlugin({
      transformQuery: ({ node }) => {
        this.queries.push(node.kind)
        const [, hashes] =
          /"PrimitiveValueListNode","values":\[(.*?)\]/.exec(JSON.stringify(node)) ?? []
        if (hashes !== undefined) this.hashesAsked.push(hashes.split(',').length)
        return node
      },
      transformResult: async ({ result }) => {
        await this.onResult()
        return result
      },
    })
    this.authenticator = this.createAuthenticator()
  }

  static async open(create: () => Promise<TestDatabase>): Promise<KeyWorld> {
    const database = await create()
    const world = new KeyWorld(database, await openStore({ url: database.url }))
    await world.ledger.createAccount({ id: 'acct_1', name: 'one' })
    world.text = await world.newKey('key_1')
    return world
  }

  /** Another process' authenticator. */
  createAuthenticator(cacheEntriesMax = 100): Authenticator {
    return new Authenticator({
      db: this.#db,
      clock: { nowMs: () => this.nowMs },
      keyTag: 'tollgate',
      cacheMs: 3_000,
      cacheEntriesMax,
      unknownCallers: {
        isOver: ({ peerAddress }) => peerAddress === FLOODING,
        refusal: ({ peerAddress }, { code }) =>
          new Problem(peerAddress === FLOODING ? 'rate_limited' : code),
      },
      startTimer: ({ delayMs, run }) => {
        this.timers.push({ delayMs, run })
        return () => {}
      },
    })
  }

  authenticate(headers: RequestHeaders, by = this.authenticator): Promise<Caller> {
    return by.authenticate({ headers, peerAddress: '192.0.2.1' })
  }

  async newKey(id: string, expiresAtMs: number | null = null): Promise<string> {
    const input = { id, accountId: 'acct_1', name: id, keyTag: 'tollgate', expiresAtMs }
    const created = await createApiKey(this.ledger, input)
    if (created === null) throw new Error('no account')
    return created.text
  }

  async close(): Promise<void> {
    await this.ledger.close()
    await this.store.close()
    await this.#database.remove()
  }
}
