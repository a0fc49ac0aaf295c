import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { micros } from '../vocabulary/money.ts'
import { createApiKey } from './api-keys.ts'
import { listOperatorActions } from './operator-actions.ts'
import { openWithAda, STORE_BENCHES } from './testing/benches.ts'
import type { StoreBench } from './testing/store-bench.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await openWithAda(open)
  })
  afterEach(() => bench.close())

  const by = (id: string, action: string) => ({ id, userId: 'user_1', action })
  const page = { limit: 10 }

  test('a change by an operator is recorded in the same commit, and a command that changes nothing is not', async () => {
    const { ledger, store } = bench
    await ledger.createAccount({ id: 'acct_1', name: 'one' }, by('act_1', 'createAccount'))
    const grant = {
      accountId: 'acct_1',
      purse: 'backed',
      amountMicros: micros(7),
      expiresAtMs: null,
      reference: 'r',
    } as const
    await ledger.addCredit(grant, by('act_2', 'addCredit'))
    await ledger.addCredit(grant, by('act_3', 'addCredit'))
    await ledger.updateAccount({ id: 'acct_9', name: 'x' }, by('act_4', 'changeAccount'))
    await ledger.updateAccount({ id: 'acct_1', disabled: true })
    const { rows: actions } = await listOperatorActions(store.db, page)
    expect(actions).toEqual([
      {
        id: 'act_2',
        userId: 'user_1',
        tokenId: null,
        tokenName: null,
        userName: 'Ada',
        userEmail: 'a@b.example',
        accountName: 'one',
        action: 'addCredit',
        accountId: 'acct_1',
        targetId: null,
        amountMicros: 7,
        detailJson: '{"purse":"backed","reference":"r","expires_at":null,"before":{"balance":0}}',
        createdAtMs: 5,
      },
      expect.objectContaining({ id: 'act_1', targetId: 'acct_1', detailJson: '{"name":"one"}' }),
    ])
  })

  test('a change of an account or a key is recorded with what its fields were before', async () => {
    const { ledger, store } = bench
    await ledger.createAccount({ id: 'acct_1', name: 'one', feeBasisPoints: 1_000 })
    const change = { id: 'acct_1', name: 'two', feeBasisPoints: 1_200, disabled: true }
    await ledger.updateAccount(change, by('act_1', 'changeAccount'))
    await createApiKey(ledger, { id: 'key_1', accountId: 'acct_1', name: 'a', keyTag: 't' })
    const limit = { id: 'key_1', creditLimitMicros: micros(9) }
    await ledger.updateApiKey(limit, by('act_2', 'changeKey'))
    const { rows: actions } = await listOperatorActions(store.db, page)
    expect(actions.map(({ detailJson }) => JSON.parse(detailJson))).toEqual([
      { name: 'a', credit_limit: 9, before: { credit_limit: null } },
      {
        name: 'two',
        disabled: true,
        fee_basis_points: 1_200,
        before: { name: 'one', disabled: false, fee_basis_points: 1_000 },
      },
    ])
  })

  test('an account that is created for an owner has the owner as a member, or is not created', async () => {
    const { ledger, store } = bench
    const own = { id: 'acct_1', name: 'one', ownerId: 'user_1' }
    await ledger.createAccount(own, by('act_1', 'createOwnAccount'))
    await ledger.createAccount(own, by('act_2', 'createOwnAccount'))
    const members = () => store.db.selectFrom('members').selectAll().execute()
    const owner = { account_id: 'acct_1', user_id: 'user_1', role: 'owner' }
    expect(await members()).toMatchObject([{ ...owner, created_at_ms: expect.anything() }])
    expect((await listOperatorActions(store.db, page)).rows).toMatchObject([
      { id: 'act_1', detailJson: '{"name":"one","owner":"user_1"}' },
    ])
    const ofUnknown = { id: 'acct_2', name: 'two', ownerId: 'user_none' }
    await expect(ledger.createAccount(ofUnknown)).rejects.toThrow()
    expect(await store.db.selectFrom('accounts').select('id').execute()).toHaveLength(1)
    expect(await members()).toHaveLength(1)
  })

  test('a change whose record cannot be inserted is not made', async () => {
    const { ledger, store } = bench
    const unknown = { id: 'act_1', userId: 'user_none', action: 'createAccount' }
    await expect(ledger.createAccount({ id: 'acct_1', name: 'one' }, unknown)).rejects.toThrow()
    expect(await store.db.selectFrom('accounts').select('id').execute()).toEqual([])
  })

  test('the record of a key has neither its text nor its hash', async () => {
    const { ledger, store } = bench
    await ledger.createAccount({ id: 'acct_1', name: 'one' })
    const key = { id: 'key_1', accountId: 'acct_1', name: 'laptop', keyTag: 't' }
    const made = await createApiKey(ledger, key, by('act_1', 'createKey'))
    const [record] = (await listOperatorActions(store.db, page)).rows
    expect(record).toMatchObject({ targetId: 'key_1', detailJson: '{"name":"laptop"}' })
    expect(JSON.stringify(record)).not.toContain(made?.apiKey.keyHash)
  })
})
