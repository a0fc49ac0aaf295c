import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../ledger/api-keys.ts'
import type { BatchedLedger } from '../../ledger/engines/batched-ledger.ts'
import { createLedger } from '../../ledger/engines/create-ledger.ts'
import { openStore } from '../../store/open-store.ts'
import type { Tables } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import { TEST_DATABASES, type TestDatabase } from '../../store/testing/test-databases.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { Authenticator } from './authenticator.ts'
import type { Caller } from './caller.ts'

/** Keys that another process changes: the ledger here is not the authenticator's. */

const CALLER = {
  accountId: 'acct_1',
  apiKeyId: 'key_1',
  hasBackedCredit: false,
  feeBasisPoints: null,
  models: null,
}

let database: TestDatabase
let store: Store
let ledger: BatchedLedger
let queries: string[]
/** How many hashes each look-up named. */
let hashesAsked: number[]
let nowMs: number
let authenticator: Authenticator
let text: string

describe.each(TEST_DATABASES)('on $engine the store is queried', ({ create }) => {
  beforeEach(async () => {
    database = await create()
    store = await openStore({ url: database.url })
    queries = []
    hashesAsked = []
    const db: Kysely<Tables> = store.db.withPlugin({
      transformQuery({ node }) {
        queries.push(node.kind)
        const [, hashes] =
          /"PrimitiveValueListNode","values":\[(.*?)\]/.exec(JSON.stringify(node)) ?? []
        if (hashes !== undefined) hashesAsked.push(hashes.split(',').length)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    nowMs = 1_000_000
    authenticator = new Authenticator({
      db,
      clock: { nowMs: () => nowMs },
      keyTag: 'tollgate',
      cacheMs: 3_000,
      unknownCallers: { isOver: () => false, refusal: (_, { code }) => new Problem(code) },
    })
    ledger = createLedger({ location: store.location })
    await ledger.createAccount({ id: 'acct_1', name: 'one' })
    const created = await createApiKey(ledger, {
      id: 'key_1',
      accountId: 'acct_1',
      name: 'key_1',
      keyTag: 'tollgate',
    })
    text = created?.text ?? ''
  })

  afterEach(async () => {
    await ledger.close()
    await store.close()
    await database.remove()
  })

  function authenticate(): Promise<Caller> {
    return authenticator.authenticate({ headers: { 'x-api-key': text }, peerAddress: '192.0.2.1' })
  }

  test('once for one key, however long, while each reading of changes finds none', async () => {
    for (let second = 0; second < 100; second++) {
      await authenticator.readChanges()
      queries = []
      nowMs += 1_000
      await authenticate()
      expect(queries).toHaveLength(second === 0 ? 1 : 0)
    }
  })

  test('again after the reading that finds a change by another process', async () => {
    await authenticator.readChanges()
    await authenticate()
    await ledger.updateApiKey({ id: 'key_1', disabled: true })
    nowMs += 1_000
    expect(await authenticate()).toEqual(CALLER)
    await authenticator.readChanges()
    const disabled = { code: 'api_key_disabled' }
    await expect(authenticate()).rejects.toMatchObject(disabled)
    await ledger.updateApiKey({ id: 'key_1', disabled: false })
    await expect(authenticate()).rejects.toMatchObject(disabled)
    await authenticator.readChanges()
    expect(await authenticate()).toEqual(CALLER)
  })

  test('once for all keys in use after the reading that finds a change of another', async () => {
    const others = await Promise.all(
      ['key_2', 'key_3', 'key_4', 'key_5', 'key_6'].map((id) =>
        createApiKey(ledger, { id, accountId: 'acct_1', name: id, keyTag: 'tollgate' }),
      ),
    )
    const all = [text, ...others.map((other) => other?.text ?? '')]
    const authenticateAll = () =>
      Promise.all(
        all.map((key) =>
          authenticator.authenticate({ headers: { 'x-api-key': key }, peerAddress: '192.0.2.1' }),
        ),
      )
    await authenticator.readChanges()
    const callers = await authenticateAll()
    await authenticateAll()
    await ledger.updateApiKey({ id: 'key_6', disabled: true })
    queries = []
    hashesAsked = []
    await authenticator.readChanges()
    // The number of changes, and the keys.
    expect(queries).toHaveLength(2)
    // Few numbers of keys make statements of their own.
    expect(hashesAsked).toEqual([8])
    nowMs += 1_000
    await expect(authenticateAll()).rejects.toMatchObject({ code: 'api_key_disabled' })
    all.pop()
    expect(await authenticateAll()).toEqual(callers.slice(0, 5))
    expect(queries).toHaveLength(2)
    // No request has used them since.
    await ledger.updateApiKey({ id: 'key_6', disabled: false })
    await ledger.updateApiKey({ id: 'key_6', disabled: true })
    await authenticator.readChanges()
    queries = []
    await authenticator.readChanges()
    expect(queries).toHaveLength(1)
  })

  test('and the models of a caller are those of its key and account, changed by another process', async () => {
    const mayUse = async (...modelIds: string[]) => {
      const { models } = await authenticate()
      return models === null ? modelIds : modelIds.filter((modelId) => models.mayUse(modelId))
    }
    const names = ['acme/sage', 'acme/oak', 'nova/sage'] as const
    await authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(names)
    await ledger.updateApiKey({ id: 'key_1', modelsAllow: ['acme/*'] })
    expect(await mayUse(...names)).toEqual(names)
    await authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage', 'acme/oak'])
    await ledger.updateAccount({ id: 'acct_1', modelsDeny: ['ACME/oak'] })
    await authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage'])
    await ledger.updateApiKey({ id: 'key_1', modelsAllow: null })
    await authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage', 'nova/sage'])
    await ledger.updateAccount({ id: 'acct_1', modelsDeny: null })
    await authenticator.readChanges()
    expect((await authenticate()).models).toBeNull()
  })

  test('again, if the look-up began before the reading that finds a change', async () => {
    await authenticator.readChanges()
    await ledger.updateApiKey({ id: 'key_1', disabled: true })
    // Both are under way at once; a result of before the change must not stay.
    await Promise.allSettled([authenticate(), authenticator.readChanges()])
    await ledger.updateApiKey({ id: 'key_1', disabled: false })
    await authenticator.readChanges()
    expect(await authenticate()).toEqual(CALLER)
  })

  test('every three seconds for one key while changes can not be read', async () => {
    await authenticator.readChanges()
    await authenticate()
    await sql`alter table settings rename to elsewhere`.execute(store.db)
    queries = []
    for (let second = 1; second <= 9; second++) {
      nowMs += 1_000
      await expect(authenticator.readChanges()).rejects.toThrow()
      queries = []
      await authenticate()
      expect([second, queries.length]).toEqual([second, second % 3 === 0 ? 1 : 0])
    }
    await sql`alter table elsewhere rename to settings`.execute(store.db)
    await authenticator.readChanges()
    nowMs += 2_999
    queries = []
    await authenticate()
    expect(queries).toHaveLength(0)
  })
})
