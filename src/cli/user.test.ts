import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from './testing/command-line.ts'

let line: CommandLine

beforeEach(async () => {
  line = openCommandLine({ pageUrl: 'https://gate.example.com' })
  await line.run('account', 'create', 'Ada')
})
afterEach(() => line.close())

test('an invitation is printed once, as a link to the page, for an operator or a member', async () => {
  const operator = await line.run('user', 'invite', 'ada@example.org', '--operator')
  expect([operator.exitCode, operator.out]).toEqual([
    0,
    expect.stringMatching(/^https:\/\/gate\.example\.com\/app\/invite#[\w-]{32}\n$/),
  ])
  expect(operator.notes).toContain('works once')
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

test.each([
  [['user', 'invite', 'ada@example.org'], 2, /`--account` is required unless/],
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
  expect([removed.exitCode, removed.out]).toEqual([0, 'open invitations ended: 1\n'])
  const again = await line.run('user', 'remove', 'ada@example.org')
  expect([again.exitCode, again.notes]).toEqual([
    3,
    expect.stringContaining('none of these rights'),
  ])
})

test('a store without users says how people become users', async () => {
  expect((await line.run('user', 'list')).out).toContain('no users yet')
})
