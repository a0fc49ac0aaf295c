import type { Kysely } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { operatorActionRow } from '../ledger/operator-actions.ts'
import { addUser as addSignedUpUser } from '../people/users.ts'
import { openStore } from '../store/open-store.ts'
import { MEMBERS, OPERATOR_ACTIONS, USERS } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { type CommandLine, cells, openCommandLine } from './testing/command-line.ts'

let line: CommandLine

beforeEach(async () => {
  line = openCommandLine({ pageUrl: 'https://gate.example.com' })
  await line.run('account', 'create', 'Ada')
})
afterEach(() => line.close())

async function withStore(use: (db: Kysely<Tables>) => Promise<void>): Promise<void> {
  const store = await openStore({ url: line.storeUrl, clock: systemClock })
  await use(store.db)
  await store.close()
}

/** Adds a user who is a member of an account. */
function addUser(id: string, { email, accountId }: { email: string; accountId: string }) {
  return withStore(async (db) => {
    const user = USERS.record({ ...USERS.start, id, name: id, email, createdAtMs: 0 })
    await db.insertInto('users').values(user).execute()
    const member = { accountId, userId: id, role: 'owner', createdAtMs: 0 } as const
    await db.insertInto('members').values(MEMBERS.record(member)).execute()
  })
}

test('an invitation is printed once, as a link to the page, for an operator or a member', async () => {
  const operator = await line.run('user', 'invite', 'ada@example.org', '--operator')
  expect([operator.exitCode, operator.out]).toEqual([
    0,
    expect.stringMatching(/^https:\/\/gate\.example\.com\/app\/invite#[\w-]{32}\n$/),
  ])
  expect(operator.notes).toMatch(
    /^This link makes ada@example\.org an operator\. It works once, until /,
  )
  const account = /acct_\w+/.exec((await line.run('account', 'list')).out)?.[0] ?? ''
  const member = await line.json('user', 'invite', 'eve@example.org', '--account', account)
  expect(member).toMatchObject({ object: 'link', kind: 'invitation', email: 'eve@example.org' })
})

test('a link to this machine alone comes with the setting that makes it work elsewhere', async () => {
  const local = openCommandLine({ pageUrl: 'http://localhost:8787' })
  await local.run('account', 'create', 'Ada')
  const invited = await local.run('user', 'invite', 'ada@example.org', '--operator')
  expect(invited.notes).toContain('set TOLLGATE_PUBLIC_URL')
  await local.close()
  const elsewhere = await line.run('user', 'invite', 'ada@example.org', '--operator')
  expect(elsewhere.notes).not.toContain('TOLLGATE_PUBLIC_URL')
})

test('the role of a member is changed by email address as well as by ID', async () => {
  const account = await line.make('account', 'create', 'Grace')
  await addUser('user_olga', { email: 'olga@example.org', accountId: account })
  await addUser('user_grace', { email: 'grace@example.org', accountId: account })
  for (const [user, role] of [
    ['Grace@example.org', 'owner'],
    ['user_grace', 'member'],
  ] as const) {
    const { exitCode, notes, out } = await line.run('user', 'role', account, user, role)
    expect([exitCode, notes]).toEqual([0, ''])
    expect(out).toContain(
      `grace@example.org is now ${role === 'owner' ? 'an owner' : 'a member'} of "Grace" (${account})`,
    )
  }
})

test('a link to set a new password comes with a note that it removes the second factor', async () => {
  const olga = { email: 'olga@example.org', name: 'Olga', passwordHash: '!' }
  const ids = { next: (prefix: string) => `${prefix}_olga` }
  await withStore(async (db) => {
    await db.transaction().execute(async (trx) => {
      await addSignedUpUser(trx, { ...olga, ids, nowMs: 0, isOperator: true, isVouched: true })
    })
  })
  const { exitCode, notes } = await line.run('user', 'reset', 'olga@example.org')
  expect(exitCode).toBe(0)
  expect(notes).toContain('olga@example.org set a new password, and removes the second factor.')
})

test('the audit log is read by the email address of a person and the name of a token', async () => {
  const account = await line.make('account', 'create', 'Grace')
  await addUser('user_olga', { email: 'olga@example.org', accountId: account })
  const tokenId = await line.make('token', 'create', '--name', 'shop', '--scope', 'read')
  await withStore(async (db) => {
    const change = { accountId: account, targetId: account, amountMicros: null, detail: {} }
    for (const [id, by] of [
      ['act_olga', { userId: 'user_olga' }],
      ['act_shop', { token: { id: tokenId, name: 'shop' } }],
    ] as const) {
      const row = operatorActionRow({ id, action: 'changeAccount', ...by }, { ...change, nowMs: 5 })
      await db.insertInto('operator_actions').values(OPERATOR_ACTIONS.record(row)).execute()
    }
  })
  const by = async (actors: string) => {
    const { data } = await line.json('action', 'list', '--by', actors)
    return Object(data).map((each: object) => Object(each).id)
  }
  expect(await by('olga@example.org')).toEqual(['act_olga'])
  expect(await by('shop')).toEqual(['act_shop'])
  expect(await by('shop, olga@example.org')).toEqual(['act_shop', 'act_olga'])
  expect((await by('command line')).length).toBeGreaterThan(1)
})

test.each([
  [
    ['user', 'role', 'acct_none', 'eve@example.org', 'owner'],
    3,
    /No user has the email address "eve@example\.org": `tollgate user list` shows the users/,
  ],
  [['user', 'role', 'acct_none', 'Eve', 'owner'], 3, /No user has the email address "Eve"/],
  [['action', 'list', '--by', 'shap'], 3, /No admin token has the name "shap": `tollgate token li/],
  [['user', 'invite', 'ada@example.org'], 2, /`--account` is required without `--operator`/],
  [['user', 'invite', 'ada', '--operator'], 2, /`<email>` must be an email address/],
  [['user', 'invite', 'ada@example.org', '--account', 'acct_none'], 3, /No account has the ID/],
  [
    ['user', 'reset', 'ada@example.org'],
    3,
    /No user has this email address\. `tollgate user list`/,
  ],
] as const)('%j is refused', async (args, exitCode, message) => {
  const seen = await line.run(...args)
  expect(seen.notes).toMatch(message)
  expect(seen.exitCode).toBe(exitCode)
})

test('an open invitation is withdrawn, once', async () => {
  await line.run('user', 'invite', 'ada@example.org', '--operator')
  const removed = await line.run('user', 'remove', 'ADA@example.org')
  expect([removed.exitCode, removed.out]).toEqual([
    0,
    'open invitations to ADA@example.org ended: 1\n',
  ])
  const again = await line.run('user', 'remove', 'ada@example.org')
  expect([again.exitCode, again.notes]).toEqual([
    3,
    expect.stringContaining('none of these rights'),
  ])
})

test('open invitations are listed, and one is withdrawn by its ID or its only email address', async () => {
  expect((await line.run('user', 'invitations')).out).toBe('no open invitations\n')
  const accountId = (await line.json('account', 'list'))['data']
  await line.run('user', 'invite', 'Eve@example.org', '--operator')
  await line.run('user', 'invite', 'bob@example.org', '--account', 'Ada', '--role', 'member')
  await line.run('user', 'invite', 'bob@example.org', '--account', 'Ada')
  const id = Object(accountId)[0].id
  const cellsOf = async (...args: string[]) =>
    cells((await line.run('user', 'invitations', ...args)).out).map((row) => row.slice(1, 5))
  const ofAda = [
    ['bob@example.org', 'no', 'owner', `"Ada" (${id})`],
    ['bob@example.org', 'no', 'member', `"Ada" (${id})`],
  ]
  const heads = ['EMAIL', 'OPERATOR', 'ROLE', 'ACCOUNT']
  expect(await cellsOf()).toEqual([heads, ...ofAda, ['eve@example.org', 'yes', '-', '-']])
  expect(await cellsOf('--account', 'Ada')).toEqual([heads, ...ofAda])
  const both = await line.run('user', 'withdraw', 'bob@example.org')
  expect([both.exitCode, both.notes]).toEqual([
    2,
    expect.stringMatching(/2 open invitations have the email address[\s\S]*owner[\s\S]*member/),
  ])
  const [newest] = Object((await line.json('user', 'invitations'))['data'])
  expect((await line.run('user', 'withdraw', newest.id)).out).toBe(
    `invitation ${newest.id} withdrawn\n`,
  )
  expect((await line.run('user', 'withdraw', 'BOB@example.org')).exitCode).toBe(0)
  expect(await cellsOf()).toEqual([heads, ['eve@example.org', 'yes', '-', '-']])
  const again = await line.run('user', 'withdraw', newest.id)
  expect([again.exitCode, again.notes]).toEqual([
    3,
    expect.stringContaining('`tollgate user invitations` shows the IDs.'),
  ])
})

test('a store without users says how people become users', async () => {
  expect((await line.run('user', 'list')).out).toContain('no users yet')
})
