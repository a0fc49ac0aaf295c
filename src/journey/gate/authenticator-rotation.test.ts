import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey, rotateApiKey } from '../../ledger/api-keys.ts'
import type { BatchedLedger } from '../../ledger/engines/batched-ledger.ts'
import { createLedger } from '../../ledger/engines/create-ledger.ts'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/store.ts'
import { TEST_DATABASES, type TestDatabase } from '../../store/testing/test-databases.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { Authenticator } from './authenticator.ts'
import type { Caller } from './caller.ts'

let database: TestDatabase
let store: Store
let ledger: BatchedLedger
let nowMs: number
let authenticator: Authenticator
let text: string

describe.each(TEST_DATABASES)('on $engine, after a rotation', ({ create }) => {
  beforeEach(async () => {
    database = await create()
    store = await openStore({ url: database.url })
    ledger = createLedger({ location: store.location })
    nowMs = 1_000_000
    authenticator = createAuthenticator()
    await ledger.createAccount({ id: 'acct_1', name: 'one' })
    const input = { id: 'key_1', accountId: 'acct_1', name: 'key_1', keyTag: 'tollgate' }
    text = (await createApiKey(ledger, input))?.text ?? ''
  })

  afterEach(async () => {
    await ledger.close()
    await store.close()
    await database.remove()
  })

  function createAuthenticator(): Authenticator {
    return new Authenticator({
      db: store.db,
      clock: { nowMs: () => nowMs },
      keyTag: 'tollgate',
      cacheMs: 3_000,
      cacheEntriesMax: 100,
      unknownCallers: { isOver: () => false, refusal: (_, { code }) => new Problem(code) },
      startTimer: () => () => {},
    })
  }

  function authenticate(apiKey: string, by = authenticator): Promise<Caller> {
    return by.authenticate({ headers: { 'x-api-key': apiKey }, peerAddress: '192.0.2.1' })
  }

  const CALLER = {
    accountId: 'acct_1',
    apiKeyId: 'key_1',
    hasBackedCredit: false,
    feeBasisPoints: null,
    models: null,
  }

  async function rotate(graceMs: number): Promise<string> {
    const input = { apiKeyId: 'key_1', keyTag: 'tollgate', graceMs }
    const rotated = await rotateApiKey(ledger, input, null)
    authenticator.forget({ apiKeyId: 'key_1' })
    if (rotated === null) throw new Error('no key')
    return rotated.text
  }

  test('both texts are the same caller, and the one before ends with its grace, cached or not', async () => {
    await authenticate(text)
    const next = await rotate(60_000)
    expect([await authenticate(text), await authenticate(next)]).toEqual([CALLER, CALLER])
    const row = await store.db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    nowMs = (row.previous_expires_at_ms ?? 0) - 1
    expect(await authenticate(text)).toEqual(CALLER)
    nowMs++
    await expect(authenticate(text)).rejects.toThrow(new Problem('invalid_api_key'))
    nowMs += 10_000
    await expect(authenticate(text)).rejects.toThrow(new Problem('invalid_api_key'))
    expect(await authenticate(next)).toEqual(CALLER)
  })

  test('a second one ends the first text, and one without grace the text before', async () => {
    await authenticate(text)
    const second = await rotate(60_000)
    await authenticate(text)
    const third = await rotate(60_000)
    await expect(authenticate(text)).rejects.toThrow(new Problem('invalid_api_key'))
    expect([await authenticate(second), await authenticate(third)]).toEqual([CALLER, CALLER])
    const fourth = await rotate(0)
    await expect(authenticate(second)).rejects.toThrow(new Problem('invalid_api_key'))
    await expect(authenticate(third)).rejects.toThrow(new Problem('invalid_api_key'))
    expect(await authenticate(fourth)).toEqual(CALLER)
  })

  test('another process refuses the ended text with its next reading of changes', async () => {
    const other = createAuthenticator()
    await other.readChanges()
    await authenticate(text, other)
    await rotate(0)
    await other.readChanges()
    const asked = authenticate(text, other)
    await expect(asked).rejects.toThrow(new Problem('invalid_api_key'))
  })
})
