import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../store/open-store.ts'
import { ACCOUNTS, API_KEYS } from '../store/schema.ts'
import { TEST_DATABASES, type TestDatabase } from '../store/testing/test-databases.ts'
import { micros } from '../vocabulary/money.ts'
import { createAccountTagger, openAccountTagger } from './account-tag.ts'
import { createAccount, getAccount, listAccounts, updateAccount } from './accounts.ts'
import { hashApiKey } from './api-key-text.ts'
import { createApiKey, deleteApiKey, getApiKey, listApiKeys, updateApiKey } from './api-keys.ts'

let database: TestDatabase
let store: Store

describe.each(TEST_DATABASES)('on $engine', ({ create }) => {
  beforeEach(async () => {
    database = await create()
    store = await openStore({ url: database.url })
  })

  afterEach(async () => {
    await store.close()
    await database.remove()
  })

  const ONE = { ...ACCOUNTS.start, id: 'acct_1', name: 'one', createdAtMs: 5 }

  test('an account is made, read, and changed in what is given alone', async () => {
    expect(await createAccount(store.db, { id: 'acct_1', name: 'one', nowMs: 5 })).toEqual(ONE)
    expect(await getAccount(store.db, 'acct_1')).toEqual(ONE)
    expect(await updateAccount(store.db, { id: 'acct_1', email: 'a@b.example' })).toEqual({
      ...ONE,
      email: 'a@b.example',
    })
    expect(await updateAccount(store.db, { id: 'acct_1', disabled: true, email: null })).toEqual({
      ...ONE,
      disabled: true,
    })
    expect(await updateAccount(store.db, { id: 'acct_1' })).toEqual({ ...ONE, disabled: true })
    expect(await updateAccount(store.db, { id: 'acct_9', name: 'x' })).toBeNull()
    expect(await getAccount(store.db, 'acct_9')).toBeNull()
  })

  test('accounts and keys are listed by pages that miss and repeat none', async () => {
    for (const id of ['acct_1', 'acct_2', 'acct_3']) {
      await createAccount(store.db, { id, name: id, nowMs: 5 })
    }
    for (const id of ['key_1', 'key_2', 'key_3']) {
      await createApiKey(store.db, { id, accountId: 'acct_1', name: id, keyTag: 't', nowMs: 5 })
    }
    const ofAccounts = async (cursor: string | null) => {
      const page = await listAccounts(store.db, { cursor, limit: 2 })
      return [page.accounts.map(({ id }) => id), page.nextCursor]
    }
    expect(await ofAccounts(null)).toEqual([['acct_3', 'acct_2'], 'acct_2'])
    expect(await ofAccounts('acct_2')).toEqual([['acct_1'], null])
    const ofKeys = async (accountId: string, cursor: string | null) => {
      const page = await listApiKeys(store.db, { accountId, cursor, limit: 3 })
      return [page.apiKeys.map(({ id }) => id), page.nextCursor]
    }
    expect(await ofKeys('acct_1', null)).toEqual([['key_3', 'key_2', 'key_1'], null])
    expect(await ofKeys('acct_2', null)).toEqual([[], null])
  })

  test('a key is made with its limits, changed in what is given alone, and deleted', async () => {
    await createAccount(store.db, { id: 'acct_1', name: 'one', nowMs: 5 })
    const input = { id: 'key_1', accountId: 'acct_1', name: 'k', keyTag: 'tollgate', nowMs: 7 }
    const limits = { creditLimitMicros: micros(900), expiresAtMs: 99 }
    const created = await createApiKey(store.db, { ...input, ...limits })
    const key = {
      ...API_KEYS.start,
      ...limits,
      id: 'key_1',
      accountId: 'acct_1',
      name: 'k',
      keyHash: hashApiKey(created?.text ?? ''),
      displayPrefix: created?.apiKey.displayPrefix,
      createdAtMs: 7,
    }
    expect(created?.apiKey).toEqual(key)
    expect(await updateApiKey(store.db, { id: 'key_1', creditLimitMicros: null })).toEqual({
      ...key,
      creditLimitMicros: null,
    })
    expect(await updateApiKey(store.db, { id: 'key_1', expiresAtMs: null, name: 'n' })).toEqual({
      ...key,
      creditLimitMicros: null,
      expiresAtMs: null,
      name: 'n',
    })
    await deleteApiKey(store.db, { id: 'key_1', nowMs: 9 })
    expect(await getApiKey(store.db, 'key_1')).toBeNull()
    expect(await updateApiKey(store.db, { id: 'key_1', disabled: true })).toBeNull()
    expect(await listApiKeys(store.db, { accountId: 'acct_1', limit: 9 })).toMatchObject({
      apiKeys: [],
    })
    expect(await createApiKey(store.db, { ...input, id: 'key_2', accountId: 'acct_9' })).toBeNull()
  })

  test('account tags are stable, differ by account and by store, and do not show the id', async () => {
    const tagger = await openAccountTagger(store.db)
    const again = await openAccountTagger(store.db)
    expect(again('acct_1')).toBe(tagger('acct_1'))
    expect(tagger('acct_1')).toBe(tagger('acct_1'))
    expect(tagger('acct_1')).toMatch(/^[\w-]{43}$/)
    expect(tagger('acct_2')).not.toBe(tagger('acct_1'))
    expect(createAccountTagger(new Uint8Array(32))('acct_1')).not.toBe(tagger('acct_1'))
  })
})
