import { describe, expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import type { Caller, RecentPassword } from './caller.ts'
import type { Operation } from './operation.ts'
import { makeOperations, OPERATIONS } from './operations.ts'

/** The changes of the page that ask for the password again, and the callers who are asked. */

// No part of the gateway runs: a call that is not refused ends at the first part that it uses.
const NO_PARTS = new Proxy(Object(null), {
  get: (_, name) => (name === 'webhookNetworks' ? [] : {}),
})

const CHANGES: readonly Operation[] = makeOperations(OPERATIONS, NO_PARTS)
  .flatMap(({ operations }) => operations)
  .filter(({ method, paths }) => method !== 'GET' && (paths.member ?? paths.operator) !== undefined)

const LONG_AGO: RecentPassword = { isRecent: false, keepRecent: async () => {} }
const WHO = { userId: 'user_1', accountId: 'acct_1', password: LONG_AGO } as const
const CALLERS = {
  desk: { kind: 'operator', userId: 'user_1', actionId: 'act_1', password: LONG_AGO },
  /** An operator on the pages of an account that is another's. */
  guest: { kind: 'member', ...WHO, role: 'owner', isOperator: true, actionId: 'act_1' },
  /** An operator on the pages of an account of the operator's own. */
  host: { kind: 'member', ...WHO, role: 'owner', isOperator: true, actionId: null },
  owner: { kind: 'member', ...WHO, role: 'owner', isOperator: false, actionId: null },
  admin: {
    kind: 'admin',
    token: { id: null, name: 'ops', scopes: ['everything'], expiresAtMs: null, actionId: 'act_1' },
  },
} as const satisfies Record<string, Caller>

type Who = keyof typeof CALLERS

async function isAsked(name: string, { who, body }: { who: Who; body?: object }): Promise<boolean> {
  const operation = CHANGES.find((each) => each.name === name)
  if (operation === undefined) throw new Error(`there is no change ${name}`)
  const params = new Proxy(Object(null), { get: () => 'some_id' })
  const sent = { caller: CALLERS[who], params, query: {}, body: body ?? operation.example ?? {} }
  return operation.run(sent).then(
    () => false,
    (error: unknown) => {
      if (error instanceof Problem && error.code === 'invalid_parameter') throw error
      return error instanceof Problem && error.code === 'sign_in_again'
    },
  )
}

const OF_OPERATORS = [
  'addCredit',
  'createAccount',
  'createCode',
  'createInvitation',
  'createOwnAccount',
  'createPurchase',
  'createWebhook',
  'creditPurchase',
  'dismissPurchase',
  'redeemCode',
  'removeUser',
  'settleRequest',
]
const OF_MEMBERS_TOO = ['changeMember', 'createKey', 'inviteMember', 'rotateKey']
const OF_NO_CALLER = [
  'changeBilling',
  'deleteKey',
  'deleteWebhook',
  'leaveAccount',
  'refreshCatalog',
  'removeMember',
  'revokeAdminToken',
  'revokeCode',
  'testWebhook',
  'withdrawInvitation',
]
const BY_FIELD = ['changeAccount', 'changeKey', 'changeWebhook', 'setMaintenance']

test('each change of the page is in one of the lists of this test', () => {
  const names = new Set(CHANGES.map(({ name }) => name))
  const listed = [...OF_OPERATORS, ...OF_MEMBERS_TOO, ...OF_NO_CALLER, ...BY_FIELD]
  expect(listed.sort()).toEqual([...names].sort())
})

describe('asks operators for the password again, on the desk and on the pages of others', () => {
  test.each([...OF_OPERATORS, ...OF_MEMBERS_TOO])('%s', async (name) => {
    for (const who of ['desk', 'guest'] as const) expect(await isAsked(name, { who })).toBe(true)
    expect(await isAsked(name, { who: 'admin' })).toBe(false)
  })
})

test.each(OF_MEMBERS_TOO)('asks members for the password again: %s', async (name) => {
  for (const who of ['owner', 'host'] as const) expect(await isAsked(name, { who })).toBe(true)
})

test.each(OF_OPERATORS)('asks no owner for the password again: %s', async (name) => {
  for (const who of ['owner', 'host'] as const) expect(await isAsked(name, { who })).toBe(false)
})

test.each(OF_NO_CALLER)('asks no caller for the password again: %s', async (name) => {
  const all = ['desk', 'guest', 'host', 'owner', 'admin'] as const
  for (const who of all) expect(await isAsked(name, { who })).toBe(false)
})

describe('asks operators for the password again depending on the body', () => {
  test.each([
    ['changeAccount', { name: 'Acme' }, false],
    ['changeAccount', { metadata: { plan: 'pro' } }, false],
    ['changeAccount', { disabled: true, note: 'unpaid' }, false],
    ['changeAccount', { name: 'Acme', disabled: false }, true],
    ['changeAccount', { disabled: true, fee_basis_points: 0 }, true],
    ['changeAccount', { email: 'other@example.org' }, true],
    ['changeAccount', { models: { allow: ['acme/*'] } }, true],
    ['changeKey', { name: 'laptop', metadata: null, disabled: true }, false],
    ['changeKey', { disabled: false }, true],
    ['changeKey', { credit_limit: null }, true],
    ['changeKey', { expires_at: null }, true],
    ['changeWebhook', { disabled: true }, false],
    ['changeWebhook', { disabled: false }, true],
    ['changeWebhook', { disabled: true, events: ['balance.low'] }, true],
    ['setMaintenance', { enabled: false }, false],
    ['setMaintenance', { enabled: true }, true],
  ])('%s %j: %s', async (name, body, expected) => {
    for (const who of ['desk', 'guest'] as const) {
      expect(await isAsked(name, { who, body })).toBe(expected)
    }
    expect(await isAsked(name, { who: 'owner', body })).toBe(false)
  })
})
