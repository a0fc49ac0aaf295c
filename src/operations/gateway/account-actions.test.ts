import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createApiKey } from '../../ledger/api-keys.ts'
import { type ActionFields, recordAction } from '../../ledger/operator-actions.ts'
import { openWithAda, STORE_BENCHES } from '../../ledger/testing/benches.ts'
import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { micros } from '../../vocabulary/money.ts'
import {
  COMMAND_LINE,
  GATEWAY,
  RECORDED_OPERATIONS,
  type RecordedOperation,
} from '../../vocabulary/recorded-operation.ts'
import { listAccountActions } from './account-actions.ts'

const ACCOUNT = 'acct_1'

/** Every field that some operation records and no customer reads, with values that are easily found. */
const HIDDEN = {
  fee_basis_points: 7_331,
  external_id: 'hidden-crm-7',
  email: 'hidden@b.example',
  owner: 'user_hidden',
  user: 'user_hidden',
  provider_cost: '0.7331',
  operator: 'hidden',
  everything: 'hidden',
  address: 'hidden',
  browser: 'hidden',
  host: 'hidden.example',
  scopes: 'hidden',
  outcome: 'hidden',
}

const SHOWN = {
  name: 'Helix Lab',
  disabled: true,
  note: 'Invoice 7 is late.',
  allowance: 5,
  requests_per_minute: 60,
  models_allow: 'sim/text',
  metadata: '{"plan":"team"}',
  billing: '{"name":"Helix Lab GmbH"}',
  low_balance: 9,
  credit_limit: 3,
  expires_at: '2027-01-31T00:00:00.000Z',
  purse: 'backed',
  reference: 'invoice-7',
  role: 'owner',
  grace_seconds: 60,
}

const OF_BOTH = ['allowance', 'disabled', 'metadata', 'models_allow', 'name', 'requests_per_minute']
const OF_ACCOUNTS = [...OF_BOTH, 'billing', 'low_balance', 'note'].sort()
const OF_KEYS = [...OF_BOTH, 'credit_limit', 'expires_at'].sort()

/** The fields of {@link SHOWN} that owners read of each operation. Of the other operations they read nothing. */
const READ: Readonly<Partial<Record<RecordedOperation, readonly string[]>>> = {
  addCredit: ['expires_at', 'purse', 'reference'],
  changeAccount: OF_ACCOUNTS,
  changeBilling: ['billing'],
  changeKey: OF_KEYS,
  changeMember: ['name', 'role'],
  createAccount: OF_ACCOUNTS,
  createInvitation: ['role'],
  createKey: OF_KEYS,
  createOwnAccount: OF_ACCOUNTS,
  createPurchase: [],
  creditPurchase: [],
  deleteKey: ['name'],
  dismissPurchase: [],
  inviteMember: ['role'],
  playground: [],
  redeemCode: [],
  removeMember: ['name'],
  removeUser: ['name'],
  rotateKey: ['grace_seconds', 'name'],
  settleRequest: [],
  withdrawInvitation: [],
}

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await openWithAda(open)
    await bench.ledger.createAccount({ id: ACCOUNT, name: 'one', feeBasisPoints: 100 })
  })
  afterEach(() => bench.close())

  let records = 0
  const nextId = () => `act_${String(++records).padStart(6, '0')}`
  const by = (action: string) => ({ id: nextId(), userId: 'user_1', action })
  const byToken = (name: string) => (action: string) => ({
    id: nextId(),
    token: { id: null, name },
    action,
  })

  function record(
    who: ReturnType<typeof by> | ReturnType<ReturnType<typeof byToken>>,
    detail: ActionFields = {},
    before: ActionFields = {},
  ) {
    const { db, nowMs } = bench
    return recordAction(db, { by: who, accountId: ACCOUNT, detail, before, nowMs })
  }

  const listed = async (limit = 100, cursor: string | null = null) =>
    listAccountActions(bench.db, { accountId: ACCOUNT, limit, cursor })
  const changes = async () =>
    (await listed()).rows.map(({ action, detail, before }) => [action, detail, before])

  test.each(RECORDED_OPERATIONS)(
    'of %s, owners read no fee, cost, external ID, email address or operator',
    async (action) => {
      const detail = { ...HIDDEN, ...SHOWN }
      const before = Object.fromEntries(Object.keys(detail).map((field) => [field, null]))
      await record(by(action), detail, before)
      await record(byToken(COMMAND_LINE)(action), detail)
      const { rows } = await listed()
      const read = READ[action]
      expect(rows.map(({ detail: shown }) => Object.keys(shown).sort())).toEqual(
        read === undefined ? [] : [read, read],
      )
      for (const { before: earlier } of rows) {
        if (earlier !== null) expect(Object.keys(earlier).sort()).toEqual(read)
      }
      expect(JSON.stringify(rows)).not.toMatch(/hidden|7331|a@b|Ada|user_1|command line/)
    },
  )

  test('a change has its fields with their earlier values, and one of operators alone is left out', async () => {
    const { ledger } = bench
    const account = { id: ACCOUNT, name: 'two', feeBasisPoints: 300 }
    await ledger.updateAccount(account, by('changeAccount'))
    await ledger.updateAccount({ id: ACCOUNT, externalId: 'crm-7' }, by('changeAccount'))
    // The same name again, with another fee.
    await ledger.updateAccount({ ...account, feeBasisPoints: 400 }, by('changeAccount'))
    const key = { id: 'key_1', accountId: ACCOUNT, name: 'laptop', keyTag: 't' }
    await createApiKey(ledger, key, byToken('shop')('createKey'))
    await ledger.updateApiKey({ id: 'key_1', disabled: true }, by('changeKey'))
    const credit = { accountId: ACCOUNT, purse: 'backed', expiresAtMs: null } as const
    const grant = { ...credit, amountMicros: micros(7), reference: 'invoice-7' }
    await ledger.addCredit(grant, by('addCredit'))
    const { rows } = await listed()
    expect(rows[0]).toEqual({
      id: expect.stringMatching(/^act_/),
      object: 'account_action',
      by: 'operator',
      action: 'addCredit',
      target_id: null,
      amount: 7,
      detail: { purse: 'backed', reference: 'invoice-7', expires_at: null },
      before: { balance: 0 },
      created_at: '1970-01-01T00:00:00.005Z',
    })
    expect((await changes()).slice(1)).toEqual([
      ['changeKey', { name: 'laptop', disabled: true }, { disabled: false }],
      ['createKey', { name: 'laptop' }, null],
      ['changeAccount', { name: 'two' }, { name: 'one' }],
    ])
  })

  test('the reason of a suspension is read, and the reason of its end is not', async () => {
    const { ledger } = bench
    const suspend = { id: ACCOUNT, disabled: true, disabledNote: 'Invoice 7 is late.' }
    await ledger.updateAccount(suspend, by('changeAccount'))
    await ledger.updateAccount({ ...suspend, disabledNote: 'Still late.' }, by('changeAccount'))
    const resume = { id: ACCOUNT, disabled: false, disabledNote: 'They paid at last.' }
    await ledger.updateAccount(resume, by('changeAccount'))
    expect(await changes()).toEqual([
      ['changeAccount', { disabled: false }, { disabled: true }],
      ['changeAccount', { note: 'Still late.' }, { note: 'Invoice 7 is late.' }],
      [
        'changeAccount',
        { disabled: true, note: 'Invoice 7 is late.' },
        { disabled: false, note: null },
      ],
    ])
  })

  test('what a gateway repeats after a failover, and what concerns other accounts, is left out', async () => {
    await record(byToken(GATEWAY)('removeMember'), { repeated: true })
    await bench.ledger.createAccount({ id: 'acct_2', name: 'other' }, by('createAccount'))
    await recordAction(bench.db, { by: by('setMaintenance'), detail: { enabled: true }, nowMs: 5 })
    expect(await changes()).toEqual([])
  })

  test('pages are full, however many changes between them are left out', async () => {
    const fee = (place: number) =>
      record(by('changeAccount'), { fee_basis_points: place }, { fee_basis_points: place - 1 })
    for (let place = 1; place <= 3; place++) {
      await record(by('changeAccount'), { name: `name ${place}` })
      for (let other = 0; other < 230; other++) await fee(other)
    }
    const first = await listed(2)
    expect(first.rows.map(({ detail }) => detail['name'])).toEqual(['name 3', 'name 2'])
    const second = await listed(2, first.nextCursor)
    expect(second.rows.map(({ detail }) => detail['name'])).toEqual(['name 1'])
    expect(second.nextCursor).toBeNull()
  })
})
