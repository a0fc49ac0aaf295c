import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ACCOUNTS, API_KEYS } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { type Micros, micros } from '../vocabulary/money.ts'
import {
  type ACCOUNT_LIST_STATES,
  ACCOUNT_SORTS,
  type AccountOrder,
  type AccountPlace,
  createAccountTagger,
  getAccount,
  listAccounts,
  openAccountTagger,
} from './accounts.ts'
import { createApiKey, getApiKey, hashApiKey, listApiKeys, rotateApiKey } from './api-keys.ts'
import type { Ledger } from './commands.ts'
import { STORE_BENCHES } from './testing/benches.ts'
import { runScript } from './testing/script.ts'
import type { StoreBench } from './testing/store-bench.ts'

let bench: StoreBench
let store: Store
let ledger: Ledger

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = 5
    ;({ store, ledger } = bench)
  })

  afterEach(() => bench.close())

  const ONE = { ...ACCOUNTS.start, id: 'acct_1', name: 'one', createdAtMs: 5 }
  const SUSPENDED = { disabled: true, disabledAtMs: 5 }

  test('an account is created, read and changed, and fields that are not given stay', async () => {
    expect(await ledger.createAccount({ id: 'acct_1', name: 'one' })).toEqual(ONE)
    expect(await getAccount(store.db, 'acct_1')).toEqual(ONE)
    expect(await ledger.updateAccount({ id: 'acct_1', email: 'a@b.example' })).toEqual({
      ...ONE,
      email: 'a@b.example',
    })
    expect(await ledger.updateAccount({ id: 'acct_1', disabled: true, email: null })).toEqual({
      ...ONE,
      ...SUSPENDED,
    })
    expect(await ledger.updateAccount({ id: 'acct_1' })).toEqual({ ...ONE, ...SUSPENDED })
    expect(await ledger.updateAccount({ id: 'acct_9', name: 'x' })).toBeNull()
    expect(await getAccount(store.db, 'acct_9')).toBeNull()
  })

  test('accounts and keys are listed by pages without gaps or repeats', async () => {
    for (const id of ['acct_1', 'acct_2', 'acct_3']) {
      await ledger.createAccount({ id, name: id })
    }
    for (const id of ['key_1', 'key_2', 'key_3']) {
      await createApiKey(ledger, { id, accountId: 'acct_1', name: id, keyTag: 't' })
    }
    const ofAccounts = async (after: string | null) => {
      const place = after === null ? null : { id: after, value: null }
      const page = await listAccounts(store.db, { after: place, limit: 2 })
      return [page.accounts.map(({ id }) => id), page.next?.id ?? null]
    }
    expect(await ofAccounts(null)).toEqual([['acct_3', 'acct_2'], 'acct_2'])
    expect(await ofAccounts('acct_2')).toEqual([['acct_1'], null])
    const ofKeys = async (accountId: string, cursor: string | null) => {
      const page = await listApiKeys(store.db, { accountId, cursor, limit: 3 })
      return [page.rows.map(({ id }) => id), page.nextCursor]
    }
    expect(await ofKeys('acct_1', null)).toEqual([['key_3', 'key_2', 'key_1'], null])
    expect(await ofKeys('acct_2', null)).toEqual([[], null])
  })

  test('accounts are listed by state: active, suspended, and in debt', async () => {
    for (const id of ['acct_1', 'acct_2', 'acct_3']) await ledger.createAccount({ id, name: id })
    await ledger.updateAccount({ id: 'acct_2', disabled: true })
    const taken = { purse: 'backed', amountMicros: micros(-5), expiresAtMs: null } as const
    await ledger.addCredit({ accountId: 'acct_3', reference: 'r', ...taken })
    const listed = async (state: (typeof ACCOUNT_LIST_STATES)[number]) => {
      const { accounts } = await listAccounts(store.db, { limit: 9, state })
      return accounts.map(({ id }) => id)
    }
    expect(await listed('active')).toEqual(['acct_3', 'acct_1'])
    expect(await listed('suspended')).toEqual(['acct_2'])
    expect(await listed('in_debt')).toEqual(['acct_3'])
  })

  test('accounts with low credit are active, had paid credit, and have less than their alert but no debt', async () => {
    const make = async (
      id: string,
      paidDollars: number,
      fields: { lowBalanceMicros?: Micros; disabled?: true } = {},
    ) => {
      await ledger.createAccount({ id, name: id })
      await ledger.updateAccount({ id, ...fields })
      if (paidDollars === 0) return
      const amountMicros = micros(paidDollars * 1_000_000)
      const paid = { purse: 'backed', amountMicros, expiresAtMs: null } as const
      await ledger.addCredit({ accountId: id, reference: id, ...paid })
    }
    await make('acct_at_default', 5)
    await make('acct_below_default', 4.999999)
    await make('acct_below_own', 20, { lowBalanceMicros: micros(50_000_000) })
    await make('acct_above_own', 1, { lowBalanceMicros: micros(0) })
    await make('acct_in_debt', -1)
    await make('acct_never_paid', 0)
    await make('acct_suspended', 1, { disabled: true })
    const { accounts } = await listAccounts(store.db, { limit: 9, state: 'low_credit' })
    expect(accounts.map(({ id }) => id)).toEqual(['acct_below_own', 'acct_below_default'])
  })

  describe('accounts are sorted', () => {
    beforeEach(() =>
      runScript(
        bench,
        `account acct_1
       account acct_2
       account acct_3
       account acct_4
       key K1 acct_1
       key K2 acct_2
       at 0
       credit acct_1 backed 100 r
       credit acct_2 backed 70 r
       credit acct_2 free 1 r expires 999
       at 20
       open req_1 K2 30
       at 30
       open req_2 K1 10
       settle req_2 final 10`,
      ),
    )

    const pages = async (order: AccountOrder, limit: number) => {
      const ids: string[] = []
      let after: AccountPlace | null = null
      do {
        const page: Awaited<ReturnType<typeof listAccounts>> = await listAccounts(store.db, {
          ...{ order, limit, after },
        })
        ids.push(...page.accounts.map(({ id }) => id))
        after = page.next
      } while (after !== null)
      return ids
    }

    const SORTED: Readonly<Record<AccountOrder['sort'], readonly string[]>> = {
      created: ['acct_1', 'acct_2', 'acct_3', 'acct_4'],
      name: ['acct_4', 'acct_2', 'acct_1', 'acct_3'],
      available: ['acct_3', 'acct_4', 'acct_2', 'acct_1'],
      held: ['acct_1', 'acct_3', 'acct_4', 'acct_2'],
      last_request: ['acct_3', 'acct_4', 'acct_2', 'acct_1'],
    }

    test.each(ACCOUNT_SORTS)('by %s, in both directions and in pages of any size', async (sort) => {
      for (const [id, name] of [
        ...[['acct_1', 'lemon'] as const, ['acct_2', 'Apple'] as const],
        ...[['acct_3', 'Melon'] as const, ['acct_4', 'Ant'] as const],
      ]) {
        await ledger.updateAccount({ id, name })
      }
      const taken = { purse: 'backed', amountMicros: micros(-5), expiresAtMs: null } as const
      await ledger.addCredit({ accountId: 'acct_3', reference: 'taken', ...taken })
      for (const limit of [1, 2, 3, 9]) {
        expect(await pages({ sort, isDescending: false }, limit)).toEqual(SORTED[sort])
        expect(await pages({ sort, isDescending: true }, limit)).toEqual(SORTED[sort].toReversed())
      }
    })

    test('and a change of the last account of a page neither repeats nor leaves out another', async () => {
      const order = { sort: 'available', isDescending: true } as const
      const first = await listAccounts(store.db, { order, limit: 2 })
      expect(first.accounts.map(({ id }) => id)).toEqual(['acct_1', 'acct_2'])
      const added = { purse: 'backed', amountMicros: micros(900), expiresAtMs: null } as const
      await ledger.addCredit({ accountId: 'acct_2', reference: 'more', ...added })
      const second = await listAccounts(store.db, { order, limit: 2, after: first.next })
      expect(second.accounts.map(({ id }) => id)).toEqual(['acct_4', 'acct_3'])
    })
  })

  test('a key is created with its limits, changed and deleted, and fields that are not given stay', async () => {
    await ledger.createAccount({ id: 'acct_1', name: 'one' })
    const input = { id: 'key_1', accountId: 'acct_1', name: 'k', keyTag: 'tollgate' }
    const limits = { creditLimitMicros: micros(900), expiresAtMs: 99 }
    const created = await createApiKey(ledger, { ...input, ...limits })
    const key = {
      ...API_KEYS.start,
      ...limits,
      id: 'key_1',
      accountId: 'acct_1',
      name: 'k',
      keyHash: hashApiKey(created?.text ?? ''),
      displayPrefix: created?.apiKey.displayPrefix,
      createdAtMs: 5,
    }
    expect(created?.apiKey).toEqual(key)
    expect(await ledger.updateApiKey({ id: 'key_1', creditLimitMicros: null })).toEqual({
      ...key,
      creditLimitMicros: null,
    })
    expect(await ledger.updateApiKey({ id: 'key_1', expiresAtMs: null, name: 'n' })).toEqual({
      ...key,
      creditLimitMicros: null,
      expiresAtMs: null,
      name: 'n',
    })
    const rotation = { id: 'key_1', keyHash: 'next', displayPrefix: 'p', graceMs: 60_000 }
    const rotated = await ledger.rotateApiKey(rotation)
    expect(rotated).toMatchObject({ keyHash: 'next', previousKeyHash: key.keyHash })
    // Run again, it ends the previous text no earlier.
    expect(await ledger.rotateApiKey(rotation)).toEqual(rotated)
    expect(await ledger.deleteApiKey('key_1')).toBe(true)
    expect(await ledger.deleteApiKey('key_1')).toBe(false)
    expect(await getApiKey(store.db, 'key_1')).toBeNull()
    expect(await ledger.updateApiKey({ id: 'key_1', disabled: true })).toBeNull()
    const next = { keyTag: 'tollgate', graceMs: 0 }
    expect(await rotateApiKey(ledger, { apiKeyId: 'key_1', ...next }, null)).toBeNull()
    expect(await listApiKeys(store.db, { accountId: 'acct_1', limit: 9 })).toMatchObject({
      rows: [],
    })
    expect(await createApiKey(ledger, { ...input, id: 'key_2', accountId: 'acct_9' })).toBeNull()
  })

  test('changes by an admin do not touch the money of an account or a key', async () => {
    await ledger.createAccount({ id: 'acct_1', name: 'one' })
    const added = ledger.addCredit({
      accountId: 'acct_1',
      purse: 'backed',
      amountMicros: micros(900),
      expiresAtMs: null,
      reference: 'r',
    })
    // In one batch, on every side of the credit.
    const renamed = ledger.updateAccount({ id: 'acct_1', name: 'two' })
    const key = createApiKey(ledger, { id: 'key_1', accountId: 'acct_1', name: 'k', keyTag: 't' })
    await Promise.all([added, renamed, key])
    expect(await getAccount(store.db, 'acct_1')).toEqual({
      ...ONE,
      name: 'two',
      backedBalanceMicros: 900,
      hasBackedCredit: true,
      entryCount: 1,
      lastCreditNumber: 1,
      lastCreditBalanceMicros: 900,
    })
    // The command line writes while a server has these rows in memory.
    await store.db.updateTable('accounts').set({ email: 'a@b.example' }).execute()
    expect(await ledger.updateAccount({ id: 'acct_1', name: 'three' })).toMatchObject({
      name: 'three',
      email: 'a@b.example',
      backedBalanceMicros: 900,
    })
    await bench.audit()
  })

  test('repeating the creation of an account, a key or a code returns the existing row', async () => {
    const account = await ledger.createAccount({ id: 'acct_1', name: 'one' })
    await ledger.updateAccount({ id: 'acct_1', disabled: true })
    expect(await ledger.createAccount({ id: 'acct_1', name: 'x' })).toEqual({
      ...account,
      ...SUSPENDED,
    })
    const key = { id: 'key_1', accountId: 'acct_1', name: 'k', keyHash: 'h', displayPrefix: 'p' }
    const apiKey = await ledger.addApiKey(key)
    expect(await ledger.addApiKey({ ...key, name: 'x' })).toEqual(apiKey)
    const code = { codeHash: 'h', displaySuffix: 's', amountMicros: micros(7), expiresAtMs: null }
    const creditCode = await ledger.addCreditCode({ id: 'code_1', ...code })
    await ledger.redeemCode({ accountId: 'acct_1', codeHash: 'h' })
    expect(await ledger.addCreditCode({ id: 'code_1', ...code })).toEqual({
      ...creditCode,
      redeemedAtMs: 5,
      redeemedBy: 'acct_1',
    })
    await bench.audit()
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
