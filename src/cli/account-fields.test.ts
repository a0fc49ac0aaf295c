import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, test } from 'vitest'
import { commandLineOfEachTest, openCommandLine, printed } from './testing/command-line.ts'

/** The fields that a shop sets on accounts and keys. */

const line = commandLineOfEachTest()
let id: string

beforeEach(async () => {
  id = await line.make('account', 'create', 'Ada')
})

test('an external ID and notes are set, shown and removed', async () => {
  const notes = ['--metadata', 'plan=gold', '--metadata', 'note=a=b, c']
  const make = () =>
    line.json('account', 'create', 'Shop', '--external-id', 'customer-42', ...notes)
  const made = await make()
  expect(made).toMatchObject({
    external_id: 'customer-42',
    metadata: { plan: 'gold', note: 'a=b, c' },
  })
  expect(await make()).toEqual(made)
  const { data } = await line.json('account', 'list', '--external-id', 'customer-42')
  expect(data).toEqual([made])
  const { out } = await line.run('account', 'show', String(made['id']))
  expect(out.split('\n').slice(2)).toEqual([
    'external ID: customer-42',
    'metadata: plan=gold, note=a=b, c',
    '',
  ])
  const none = ['--external-id', 'none', '--metadata', 'none']
  expect(await line.json('account', 'update', String(made['id']), ...none)).toMatchObject({
    external_id: null,
    metadata: {},
  })
  const { exitCode, notes: said } = await line.run('key', 'create', id, '--metadata', 'plan')
  expect([exitCode, said]).toEqual([2, expect.stringContaining('`--metadata` must be a key')])
})

test('the list of accounts as CSV has all that match, with their external IDs and exact spend', async () => {
  for (const number of [1, 2, 3]) {
    await line.run('account', 'create', `Law ${number}`, '--external-id', `law-${number}`)
  }
  const range = ['--since', 'last-month', '--until', 'this-month']
  const { out } = await line.run('account', 'list', '--search', 'law', '--csv', ...range)
  const [head = '', ...rows] = out.trimEnd().split('\r\n')
  expect(head).toMatch(/^id,name,email,external_id,.*,charge,margin,/)
  expect(rows.map((row) => row.split(',').slice(1, 4).join())).toEqual([
    'Law 3,,law-3',
    'Law 2,,law-2',
    'Law 1,,law-1',
  ])
})

test('a list that a filter empties says that nothing matches, and not that there is nothing', async () => {
  expect(await line.run('key', 'list', id)).toEqual(
    printed(expect.stringMatching(/^no API keys: /)),
  )
  await line.run('key', 'create', id, '--name', 'laptop')
  for (const [args, out] of [
    [['account', 'list', '--search', 'grace'], 'no accounts match\n'],
    [['account', 'list', '--state', 'suspended', '--sort', 'name'], 'no accounts match\n'],
    [['key', 'list', id, '--search', 'phone'], 'no API keys match\n'],
  ] as const) {
    expect(await line.run(...args)).toEqual(printed(out))
  }
})

test('an account that already has the external ID is shown, and a person learns that nothing changed', async () => {
  const make = (...args: string[]) =>
    line.run('account', 'create', 'Shop', '--external-id', 'customer-42', ...args)
  const first = await make('--allowance', '20/month')
  expect(first.notes).toContain('Next, add credit')
  const again = await make('--allowance', '30/month')
  expect(again).toEqual({
    ...first,
    notes:
      'This account had the external ID before: nothing changed. `npx tollgate account update` changes it.\n',
  })
})

test('billing details are set, shown and removed', async () => {
  const billing = ['--billing', 'name=Acme GmbH', '--billing', 'address=Kai 3, Hamburg']
  expect(await line.json('account', 'update', id, ...billing)).toMatchObject({
    billing: { name: 'Acme GmbH', address: 'Kai 3, Hamburg', tax_id: null },
  })
  expect((await line.run('account', 'show', id)).out).toContain(
    'billing: Acme GmbH, Kai 3, Hamburg',
  )
  expect(await line.json('account', 'update', id, '--billing', 'none')).toMatchObject({
    billing: null,
  })
})

test('update changes the models of a key one list at a time, and show has both', async () => {
  const { id: key } = await line.json('key', 'create', id, '--models-allow', 'acme/*, nova/a')
  const update = (...args: string[]) => line.json('key', 'update', String(key), ...args)
  const allow = ['acme/*', 'nova/a']
  expect(await update('--models-deny', 'acme/b')).toMatchObject({
    models: { allow, deny: ['acme/b'] },
  })
  const { out } = await line.run('key', 'show', String(key))
  expect(out.split('\n').slice(2)).toEqual([
    'models allowed: acme/*, nova/a',
    'models denied: acme/b',
    'requests per minute: 300 (default)',
    'requests in flight: 8 (default)',
    expect.stringMatching(/^account: "Ada" \(acct_\w{26}\)$/),
    '',
  ])
  expect(await update('--models-deny', 'none')).toMatchObject({ models: { allow, deny: [] } })
  expect(await update('--models-allow', 'none')).toMatchObject({ models: null })
})

test('an account is created with the credit below which it is low, or with the default', async () => {
  const make = (...args: string[]) =>
    line.json('account', 'create', 'Shop', '--low-balance', ...args)
  expect(await make('2.5')).toMatchObject({ low_balance: 2_500_000 })
  expect(await make('none')).toMatchObject({ low_balance: null })
})

test('changes by commands are in the audit log under the name of the command line', async () => {
  await line.run('account', 'update', id, '--fee', '7')
  const { data } = await line.json('action', 'list', '--account', id)
  expect(data).toMatchObject([
    {
      action: 'changeAccount',
      user_id: null,
      token_id: null,
      token_name: 'command line',
      detail: { fee_basis_points: 700 },
      before: { fee_basis_points: null },
    },
    { action: 'createAccount', token_name: 'command line', account_id: id },
  ])
  expect(await line.run('action', 'list', '--by', 'command line')).toMatchObject({ exitCode: 0 })
})

test('the audit log has dollars, percent and names of accounts where people read it', async () => {
  await line.run('account', 'update', id, '--low-balance', '2.5', '--fee', '7')
  await line.run('account', 'update', id, '--low-balance', '35')
  const [newest, changed] = (await line.run('action', 'list', '--account', id)).out
    .split('\n')
    .filter((row) => row.includes('changeAccount'))
  expect(newest).toContain('low_balance=$2.50')
  expect(newest).toContain('low_balance=$35.00')
  expect(changed).toContain('fee=7%')
  expect(changed).toContain('fee=none')
  expect(changed).toContain('Ada')
})

test('accounts with low credit are listed by themselves', async () => {
  const low = ['account', 'list', '--state', 'low_credit', '--sort', 'available'] as const
  expect((await line.run(...low)).out).not.toContain('Ada')
  await line.run('credit', 'add', id, '4.99', '--reference', 'invoice-1')
  expect((await line.run(...low)).out).toContain('Ada')
})

test('accounts with many refused requests are listed with their numbers and the most frequent code', async () => {
  const store = new DatabaseSync(line.storeUrl.replace('sqlite:', ''))
  const hour = Math.floor(Date.now() / 3_600_000)
  store
    .prepare('insert into refusals values (?, ?, ?, ?, ?, ?)')
    .run(id, hour, 'key_1', 'insufficient_credit', 12, Date.now())
  store.close()
  const { out } = await line.run('account', 'list', '--state', 'failing')
  const cells = out.split('\n').map((row) => row.trim().split(/ {2,}/))
  expect(cells.slice(0, 2)).toEqual([
    ['ID', 'NAME', 'REQUESTS', 'REFUSED', 'FAILED', 'MOSTLY'],
    [id, 'Ada', '12', '12', '0', 'insufficient_credit'],
  ])
})

test('on a terminal, what the codes of refused requests mean is broken between words', async () => {
  const { storeUrl } = line
  const store = new DatabaseSync(storeUrl.replace('sqlite:', ''))
  const hour = Math.floor(Date.now() / 3_600_000)
  store
    .prepare('insert into refusals values (?, ?, ?, ?, ?, ?)')
    .run(id, hour, 'key_1', 'insufficient_credit', 12, Date.now())
  store.close()
  const terminal = openCommandLine({ storeUrl }, { operations: [], commands: [], columnsMax: 80 })
  const { out } = await terminal.run('account', 'refusals', id)
  terminal.close()
  expect(Math.max(...out.split('\n').map((text) => text.length))).toBeLessThanOrEqual(80)
  const inPipe = await line.run('account', 'refusals', id)
  const meaningOf = (text: string) => text.slice(text.indexOf('insufficient_credit: '))
  expect(meaningOf(out).replaceAll('\n', ' ')).toBe(meaningOf(inPipe.out).replaceAll('\n', ' '))
})

test('an account below zero shows its debt and its own fee', async () => {
  await line.run('credit', 'add', id, '-100.3', '--reference', 'chargeback-1')
  await line.run('account', 'update', id, '--fee', '2.5')
  const { out } = await line.run('account', 'show', id)
  expect(out).toContain('active, owes $100.30')
  expect(out).toContain('fee: 2.5%')
  expect((await line.run('account', 'list', '--state', 'in_debt')).out).toContain('owes $100.30')
})
