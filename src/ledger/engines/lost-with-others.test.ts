import { expect, test } from 'vitest'
import { ADMIN_TOKENS, USERS } from '../../store/people-tables.ts'
import { type SeveringProxy, startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { listOperatorActions } from '../operator-actions.ts'
import { connected } from '../testing/connected.ts'
import { paidLook } from '../testing/paid-look.ts'
import { RewoundBench } from '../testing/rewound-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { Rebooking } from './went-back.ts'

/** Lost commands that need rows which were lost with them: of another gateway, or of no ledger. */

// Closing it audits the ledger.
const world = ofEach(RewoundBench.open)

const ADA = {
  ...USERS.start,
  ...{ id: 'user_ada', name: 'Ada', email: 'ada@example.org', createdAtMs: 0 },
}

test('an account whose owner is lost too is restored with its key and credit, and so are changes by a lost operator or token', async () => {
  await world.keep()
  const { db } = world.bench.store
  await db.insertInto('users').values(USERS.record(ADA)).execute()
  const shop = { ...ADMIN_TOKENS.start, id: 'atok_shop', name: 'shop', createdAtMs: 0 }
  const secret = { tokenHash: 'hash', displayPrefix: 'adm', scopes: 'everything' }
  await db
    .insertInto('admin_tokens')
    .values(ADMIN_TOKENS.record({ ...shop, ...secret }))
    .execute()

  await world.ledger.createAccount({ id: 'A', name: 'Ada', ownerId: 'user_ada' })
  await world.ledger.addApiKey(
    { id: 'K', accountId: 'A', name: 'key', keyHash: 'hash', displayPrefix: 'sk' },
    { id: 'act_1', action: 'createKey', token: { id: 'atok_shop', name: 'shop' } },
  )
  await world.ledger.addCredit(
    { accountId: 'A', purse: 'backed', reference: 'first', ...FIVE },
    { id: 'act_2', action: 'addCredit', userId: 'user_ada' },
  )
  await world.goBack()

  expect(world.gaps).toMatchObject([{ commits: 3, commands: 3, lost: 0 }])
  expect(await world.bench.apiKey('K')).toMatchObject({ accountId: 'A' })
  expect(await world.run('show A →')).toBe('show A → backed 5 held 0, free 0 held 0')
  const { rows: actions } = await listOperatorActions(db, { limit: 10 })
  expect(actions).toMatchObject([
    { id: 'act_2', userId: null, tokenId: null, tokenName: 'user_ada' },
    { id: 'act_1', userId: null, tokenId: null, tokenName: 'shop' },
  ])
})

test('an account whose owner is not lost gets its owner back', async () => {
  const { db } = world.bench.store
  await db.insertInto('users').values(USERS.record(ADA)).execute()
  await world.keep()
  await world.ledger.createAccount({ id: 'A', name: 'Ada', ownerId: 'user_ada' })
  await world.goBack()
  expect(world.gaps).toMatchObject([{ commands: 1, lost: 0 }])
  const members = await db.selectFrom('members').select(['account_id', 'user_id']).execute()
  expect(members).toEqual([{ account_id: 'A', user_id: 'user_ada' }])
})

const FIVE = { amountMicros: micros(5), expiresAtMs: null }

const CODE = { id: 'code_1', codeHash: 'hash', displaySuffix: 'abcd', ...FIVE }

const KEY = { id: 'K', accountId: 'A', name: 'key', keyHash: 'hash', displayPrefix: 'sk' }

const APPROVED = { ...heldLook(), approved: true }

function heldLook() {
  const look = paidLook('1')
  if (look.fact.kind !== 'paid') throw new Error('a paid look is of a payment')
  const judgment = { kind: 'hold', reason: 'doubt', worthMicros: micros(1_000) } as const
  return { ...look, fact: { ...look.fact, judgment } }
}

interface Case {
  readonly what: string
  /** The command of the other gateway, which books it again later. */
  readonly first: (ledger: BatchedLedger) => Promise<unknown>
  readonly second: (ledger: BatchedLedger) => Promise<unknown>
  /** The rows of the store after both. */
  readonly shown: () => Promise<unknown>
  readonly expected: unknown
}

const CASES: readonly Case[] = [
  {
    what: 'the credit of a redeemed code',
    first: (ledger) => ledger.addCreditCode(CODE),
    second: (ledger) => ledger.redeemCode({ accountId: 'A', codeHash: 'hash' }),
    shown: async () => (await world.bench.account('A')).backedBalanceMicros,
    expected: 5,
  },
  {
    what: 'the deletion of a key',
    first: (ledger) => ledger.addApiKey(KEY),
    second: (ledger) => ledger.deleteApiKey('K'),
    shown: async () => (await world.bench.apiKey('K')).deletedAtMs,
    expected: 0,
  },
  {
    what: 'the dismissal of a purchase',
    first: (ledger) => ledger.postPurchase(heldLook()),
    second: (ledger) => ledger.dismissPurchase({ purchaseId: 'pur_1', note: 'paid back' }),
    shown: async () => (await world.bench.purchase('play:1'))?.state,
    expected: 'dismissed',
  },
  {
    what: 'the approval of a purchase',
    first: (ledger) => ledger.postPurchase(heldLook()),
    second: (ledger) => ledger.postPurchase(APPROVED),
    shown: async () => (await world.bench.purchase('play:1'))?.state,
    expected: 'credited',
  },
]

test.each(CASES)(
  '$what is restored, also if another gateway first books the thing that it changes',
  async ({ first, second, shown, expected }) => {
    const other = await startOther()
    await first(other.ledger)
    await connected(world.ledger)
    await second(world.ledger)
    expect(await shown()).toBe(expected)
    await other.goBackFirst()
    expect(await world.foundGap.promise).toMatchObject({ commits: 1, commands: 1, lost: 0 })
    expect(await shown()).toBe(expected)
    await other.close()
  },
)

/** Starts another gateway, which reconnects after the first one when the database goes back. */
async function startOther() {
  await world.run('account A')
  await world.keep()
  const way: SeveringProxy = await startSeveringProxy(world.url)
  const ledger = world.beside({ url: way.url, instanceId: 'J' })
  return {
    ledger,
    async goBackFirst() {
      way.shut()
      await world.goBack()
      way.open()
      await connected(ledger)
    },
    async close() {
      await ledger.close()
      await way.close()
    },
  }
}

interface RefusedCase extends Pick<Case, 'what' | 'first' | 'second'> {
  /** The account of the other gateway. */
  readonly accountId: string
  /** Its paid credit in the end. Default 5. */
  readonly balanceMicros?: number
}

const TEN = { ...FIVE, amountMicros: micros(10) }

async function makeBob(ledger: BatchedLedger): Promise<void> {
  await ledger.createAccount({ id: 'B', name: 'Bob', externalId: 'x' })
  await ledger.addCredit({ accountId: 'B', purse: 'backed', reference: 'r1', ...FIVE })
}

const REFUSED_CASES: readonly RefusedCase[] = [
  {
    what: 'other credit of the same reference',
    first: (ledger) =>
      ledger.addCredit({ accountId: 'A', purse: 'backed', reference: 'r1', ...FIVE }),
    second: (ledger) =>
      ledger.addCredit({ accountId: 'A', purse: 'backed', reference: 'r1', ...TEN }),
    accountId: 'A',
  },
  {
    what: 'an external ID that another account had got',
    first: makeBob,
    second: (ledger) => ledger.updateAccount({ id: 'A', externalId: 'x' }),
    accountId: 'B',
  },
  {
    what: 'a new account in place of one that has its external ID',
    first: makeBob,
    second: (ledger) => ledger.createAccount({ id: 'C', name: 'Bob', externalId: 'x' }),
    accountId: 'B',
  },
  {
    what: 'the credit of a payment that another account had got',
    async first(ledger) {
      await makeBob(ledger)
      await ledger.postPurchase(paidLook('1', { accountId: 'B' }))
    },
    second: (ledger) => ledger.postPurchase(paidLook('1')),
    accountId: 'B',
    balanceMicros: 1_005,
  },
]

test.each(REFUSED_CASES)(
  '$what is not booked again, so an earlier change by another gateway is restored',
  async ({ first, second, accountId, balanceMicros = 5 }) => {
    const other = await startOther()
    await first(other.ledger)
    await connected(world.ledger)
    await second(world.ledger)
    await other.goBackFirst()
    expect((await world.bench.account(accountId)).backedBalanceMicros).toBe(balanceMicros)
    expect(world.gaps).toEqual([])
    await other.close()
  },
)

test('a refused command is not run again and does not count as lost', async () => {
  await world.run('account A')
  await world.keep()
  await world.ledger.redeemCode({ accountId: 'A', codeHash: 'mistyped' })
  await world.ledger.deleteApiKey('unknown')
  await world.run('credit A backed 5 first')
  await world.goBack()
  expect(world.gaps).toMatchObject([{ commits: 1, commands: 1, lost: 0 }])
})

test('credit of a payment that another account has received since is not booked again, and counts as lost', async () => {
  await world.run('account A')
  await world.run('account B')
  await world.keep()
  const look = paidLook('1')
  await world.ledger.postPurchase(look)
  await world.loseAll()
  const other = world.beside()
  await other.postPurchase(paidLook('1', { accountId: 'B' }))
  await other.close()
  // A gateway tries for a minute before it reports a loss.
  const command = { kind: 'postPurchase', input: { ...look, hadReceiptNumber: 1 } } as const
  const rebooking = new Rebooking([{ commands: [command], nowMs: 0 }], {
    open: [],
    isAtLeast: false,
  })
  rebooking.ran([command], [await world.ledger.postPurchase(command.input)])
  expect(rebooking.gap()).toMatchObject({ commands: 0, lost: 1 })
  expect((await world.bench.account('A')).backedBalanceMicros).toBe(0)
})
