import { describe, expect, test } from 'vitest'
import { addOwner } from '../alerts/testing/owners.ts'
import { hashCreditCode } from '../ledger/credit-codes.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { ADMIN_TOKENS } from '../store/people-tables.ts'
import { CREDIT_CODES } from '../store/schema.ts'
import { WEBHOOKS } from '../store/webhook-tables.ts'
import { micros } from '../vocabulary/money.ts'
import { findId } from './ids.ts'
import { cells, commandLineOfEachTest, failedWith, printed } from './testing/command-line.ts'

/** Names and email addresses in place of IDs. */

const line = commandLineOfEachTest()

const makeAccount = (name: string, ...args: string[]) =>
  line.make('account', 'create', name, ...args)

test.each([
  ['its name, in any case', 'ADA lovelace'],
  ['its email address', 'Ada@Example.com'],
  ['its external ID', 'user_42'],
  ['its ID', null],
])('an account is found by %s', async (_, typed) => {
  const given = ['--email', 'ada@example.com', '--external-id', 'user_42']
  const id = await makeAccount('Ada Lovelace', ...given)
  await makeAccount('Bob')
  const named = typed ?? id
  expect(await line.json('account', 'show', named)).toMatchObject({ id })
  const added = await line.run('credit', 'add', named, '5', '--reference', 'r')
  expect(added.out).toBe(`added $5.00 of paid credit to "Ada Lovelace" (${id})\n`)
  const removed = await line.run('credit', 'add', named, '-1', '--reference', 'less')
  expect(removed.out).toBe(`removed $1.00 of paid credit from "Ada Lovelace" (${id})\n`)
  expect(await line.json('key', 'create', named)).toMatchObject({ account_id: id })
  expect(await line.json('action', 'list', '--account', named)).toMatchObject({
    data: ['createKey', 'addCredit', 'addCredit', 'createAccount'].map((action) => ({ action })),
  })
  const invited = ['user', 'invite', 'eve@example.com', '--account', named, '--role', 'member']
  expect(await line.run(...invited)).toMatchObject({
    exitCode: 0,
    notes: expect.stringContaining(
      `This link makes eve@example.com a member of "Ada Lovelace" (${id}). It works once, until `,
    ),
  })
})

test('a name of two accounts changes neither: both are listed with their IDs', async () => {
  const ids = [await makeAccount('Ada'), await makeAccount('ada', '--email', 'ada@example.com')]
  const add = ['credit', 'add', 'Ada', '5', '--reference', 'r']
  const { exitCode, out, notes } = await line.run(...add)
  expect([exitCode, out]).toEqual([2, ''])
  expect(notes).toMatch(
    /^tollgate: 2 accounts have the external ID, name or email address "Ada": type the ID of one\n/,
  )
  expect(cells(notes).slice(1)).toEqual([
    ['ID', 'NAME', 'EMAIL', 'EXTERNAL ID', 'CREATED'],
    [ids[1], 'ada', 'ada@example.com', '-', expect.stringMatching(/Z$/)],
    [ids[0], 'Ada', '-', '-', expect.stringMatching(/Z$/)],
  ])
  const asJson = await line.run(...add, '--json')
  expect(asJson.notes).toMatch(/^.+\n$/)
  expect(JSON.parse(asJson.notes)).toEqual({
    error: {
      message: '2 accounts have the external ID, name or email address "Ada": type the ID of one',
      code: 'ambiguous_name',
      ids: ids.toReversed(),
    },
  })
  for (const id of ids) {
    expect(await line.json('account', 'entries', id)).toMatchObject({ data: [] })
  }
})

test('an external ID selects its account, even if another account has it as its name', async () => {
  const id = await makeAccount('Ada', '--external-id', 'customer-42')
  await makeAccount('customer-42')
  expect(await line.json('account', 'show', 'customer-42')).toMatchObject({ id })
})

test('the name of an account that a person opened by signing up selects nothing', async () => {
  const id = await makeAccount('team-vision', '--external-id', 'sign-up:user_1')
  expect(await line.run('credit', 'add', 'team-vision', '5', '--reference', 'r')).toMatchObject({
    exitCode: 3,
  })
  expect(await line.json('account', 'show', id)).toMatchObject({ name: 'team-vision' })
})

test('a name that nothing has is refused, with the command that shows the names', async () => {
  expect(await line.run('account', 'show', 'Bob')).toEqual(
    failedWith(
      3,
      'No account has the external ID, name or email address "Bob": `tollgate account list --search "Bob"` looks for a part of a name or address.\n',
    ),
  )
  const id = await makeAccount('Bob Kahn')
  expect((await line.run('account', 'list', '--search', 'Bob')).out).toContain(id)
  expect(await line.run('webhook', 'test', 'example.com')).toEqual(
    failedWith(3, 'No webhook has the address or host "example.com": `tollgate webhook list`'),
  )
  expect(await line.run('credit', 'code', 'show', 'ABCDEF-GHJKMN-PQRSTV-WXYZ23')).toEqual(
    failedWith(3, 'No credit code has this text or these last characters: `tollgate credit code'),
  )
})

test('a key is found by the part that lists show, and not by its name, which others can have', async () => {
  await makeAccount('Ada')
  const { id, prefix } = await line.json('key', 'create', 'Ada', '--name', 'laptop')
  const shown = String(prefix)
  expect(await line.json('key', 'disable', shown)).toMatchObject({ id, disabled: true })
  const typed = shown.replace('…', '...')
  expect(await line.json('key', 'enable', typed)).toMatchObject({ id, disabled: false })
  expect(await line.run('key', 'delete', 'laptop')).toEqual(
    failedWith(
      3,
      'tollgate: No API key has the shown part "laptop". Names of keys select nothing: type the ID, key_…, or the shown part, such as sk-tollgate-bsE…WJpk: `tollgate key list <account>` shows the API keys.\n',
    ),
  )
  expect(await line.run('key', 'delete', shown)).toMatchObject({ exitCode: 0 })
  expect(await line.run('request', 'list', '--key', shown)).toMatchObject({ exitCode: 0 })
  expect(await line.run('usage', '--key', shown)).toMatchObject({ exitCode: 0 })
})

test('a token is revoked by its name, and the audit log of a name that two tokens had is ambiguous', async () => {
  const make = () => line.make('token', 'create', '--name', 'shop', '--scope', 'read')
  const first = await make()
  expect((await line.run('token', 'revoke', 'shop')).out).toContain(first)
  const second = await make()
  expect((await line.run('token', 'revoke', 'Shop')).out).toContain(second)
  const { exitCode, notes } = await line.run('action', 'list', '--by', 'shop')
  expect([exitCode, notes]).toEqual([
    2,
    expect.stringContaining('2 admin tokens have the name "shop"'),
  ])
  expect((await line.run('action', 'list', '--by', `${first},${second}`)).exitCode).toBe(0)
})

test('a webhook is found by its address, or by its host if no other has it', async () => {
  const make = (url: string) => line.make('webhook', 'create', url)
  const id = await make('https://example.com/hook')
  const delivered = ['webhook', 'deliveries']
  expect(await line.json('webhook', 'disable', 'example.com')).toMatchObject({ id })
  await make('https://example.com/other')
  expect(await line.run(...delivered, 'https://example.com/hook')).toMatchObject({ exitCode: 0 })
  expect(await line.run(...delivered, 'example.com')).toEqual(
    failedWith(2, '2 webhooks have the address or host "example.com": type the ID of one\n'),
  )
})

test('the next steps of a webhook are typed as the program is', async () => {
  const created = await line.run('webhook', 'create', 'https://example.com/hook')
  const [id = ''] = /hook_\w+/.exec(created.notes) ?? []
  expect(created.notes).toContain(`\`npx tollgate webhook test ${id}\``)
  const { notes } = await line.run('webhook', 'test', id)
  expect(notes).toContain(`\`npx tollgate webhook deliveries ${id}\``)
})

test('a deleted webhook is named by its address, with its ID', async () => {
  const id = await line.make('webhook', 'create', 'https://example.com/hook')
  expect(await line.run('webhook', 'delete', 'example.com')).toEqual(
    printed(`deleted https://example.com/hook (${id}) and its messages\n`),
  )
})

test('a credit code is found by its text, or by the part that lists show', async () => {
  await line.run('credit', 'code', 'create', '5')
  const { id, code } = await line.json('credit', 'code', 'create', '7')
  const text = String(code)
  for (const typed of [text, text.toLowerCase().replaceAll('-', ''), `…${text.slice(-6)}`]) {
    expect(await line.json('credit', 'code', 'show', typed)).toMatchObject({ id })
  }
})

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  test('each kind is found by its name, and an account by the address of an owner, not of a member', async () => {
    const bench = await open()
    const { db } = bench
    await bench.createAccount('acct_1')
    await bench.createAccount('acct_2')
    await bench.createApiKey('key_1', 'acct_1')
    await addOwner(db, 'user_ada')
    const member = { account_id: 'acct_2', user_id: 'user_ada', role: 'member', created_at_ms: 0 }
    await db.insertInto('members').values(member).execute()
    await db.updateTable('api_keys').set({ display_prefix: 'sk-a…z' }).execute()
    // She was invited and has proved no address; her name she chose.
    await addOwner(db, 'user_eve', { emailVerified: false })
    const name = 'user_ada@example.org'
    await db.updateTable('users').set({ name }).where('id', '=', 'user_eve').execute()
    const code = 'ABCDEF-GHJKMN-PQRSTV-WXYZ23'
    await bench.createCreditCode({
      ...CREDIT_CODES.start,
      id: 'code_1',
      codeHash: hashCreditCode(code),
      displaySuffix: 'WXYZ23',
      amountMicros: micros(5),
      createdAtMs: 0,
    })
    const token = { id: 'atok_1', name: 'Shop', tokenHash: 'a', displayPrefix: 'b', scopes: 'read' }
    await db
      .insertInto('admin_tokens')
      .values(
        ADMIN_TOKENS.record({ ...ADMIN_TOKENS.start, ...token, madeBy: null, createdAtMs: 0 }),
      )
      .execute()
    const webhook = { id: 'hook_1', url: 'https://example.com/a', events: '', secret: 's' }
    await db
      .insertInto('webhooks')
      .values(WEBHOOKS.record({ ...WEBHOOKS.start, ...webhook, createdAtMs: 0 }))
      .execute()
    for (const [prefix, typed, id] of [
      ['acct', 'USER_ada@example.org', 'acct_1'],
      ['key', 'sk-a…z', 'key_1'],
      ['code', code.toLowerCase(), 'code_1'],
      ['code', 'wxyz23', 'code_1'],
      ['atok', 'shop', 'atok_1'],
      ['hook', 'example.com', 'hook_1'],
      ['user', 'user_ada@example.org', 'user_ada'],
    ] as const) {
      expect([typed, await findId(prefix, typed, bench)]).toEqual([typed, id])
    }
    await expect(findId('acct', 'user_eve@example.org', bench)).rejects.toThrow('No account has')
    await bench.close()
  })
})
