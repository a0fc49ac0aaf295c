import { beforeEach, describe, expect, test } from 'vitest'
import {
  cells,
  commandLineOfEachTest,
  failed,
  failedWith,
  printed,
} from './testing/command-line.ts'

const line = commandLineOfEachTest()

async function makeAccount(name = 'Ada'): Promise<string> {
  return await line.make('account', 'create', name)
}

describe('account', () => {
  test('create prints the account, without credit, and the next step', async () => {
    const { exitCode, out, notes } = await line.run('account', 'create', ' Ada Lovelace ')
    const id = /^acct_\w+/m.exec(out)?.[0]
    expect(exitCode).toBe(0)
    expect(notes).toContain(`npx tollgate credit add ${id} 25 --reference invoice-1\n`)
    expect(notes).toContain(`npx tollgate key create ${id}\n`)
    expect(cells(out)).toEqual([
      ['ID', 'NAME', 'STATE', 'AVAILABLE', 'HELD', 'FREE', 'ALLOWANCE'],
      [
        expect.stringMatching(/^acct_\w{26}$/),
        'Ada Lovelace',
        'active',
        '$0.00',
        '$0.00',
        '$0.00',
        '-',
      ],
    ])
  })

  test('create --json prints the account as the API would', async () => {
    const account = await line.json('account', 'create', 'Ada', '--email', 'ada@example.org')
    expect(account).toMatchObject({
      object: 'account',
      name: 'Ada',
      email: 'ada@example.org',
      disabled: false,
      credit: { backed: { balance: 0, held: 0, available: 0 } },
      has_backed_credit: false,
    })
  })

  test('list sorts accounts, and continues after the end of a page', async () => {
    for (const name of ['Bob', 'ada', 'Cy']) await makeAccount(name)
    const list = async (...args: string[]) => {
      const { out, notes } = await line.run('account', 'list', ...args)
      return {
        names: cells(out)
          .slice(1)
          .map(([, name]) => name),
        notes,
      }
    }
    expect((await list('--sort', 'name')).names).toEqual(['ada', 'Bob', 'Cy'])
    const first = await list('--sort', '-name', '--limit', '2')
    expect(first.names).toEqual(['Cy', 'Bob'])
    const place = /^more: --after (\w+)\n$/.exec(first.notes)?.[1] ?? ''
    expect((await list('--sort', '-name', '--after', place)).names).toEqual(['ada'])
    // The first is the heading of the column, the second its name in the API and in earlier releases.
    for (const sort of ['-spend', '-charged']) {
      expect((await line.run('account', 'list', '--sort', sort)).out).toMatch(/ SPEND +MARGIN$/m)
    }
    const wrong = await line.run('account', 'list', '--sort', 'height')
    expect([wrong.exitCode, wrong.notes]).toEqual([2, expect.stringContaining('--sort')])
  })

  test('update changes the name and the email address, and none removes the address', async () => {
    const id = await makeAccount()
    const update = (...args: string[]) => line.json('account', 'update', id, ...args)
    expect(await update('--name', 'Bob', '--email', 'bob@example.org')).toMatchObject({
      name: 'Bob',
      email: 'bob@example.org',
    })
    expect(await update('--email', 'none')).toMatchObject({ name: 'Bob', email: null })
    expect(await line.run('account', 'update', id)).toEqual(
      failedWith(2, 'nothing to change: give --name, --email, --'),
    )
  })

  test('entries lists credit and charges, newest first, page by page', async () => {
    const id = await makeAccount()
    await line.run('credit', 'add', id, '25', '--reference', 'invoice-1')
    await line.run('credit', 'add', id, '-5', '--reference', 'chargeback-1')
    const first = await line.run('account', 'entries', id, '--limit', '1')
    expect(cells(first.out)).toEqual([
      ['ENTRY', 'AT', 'KIND', 'CREDIT', 'AMOUNT', 'REFERENCE'],
      ['2', expect.any(String), 'credit removed', 'paid', '−$5.00', 'chargeback-1'],
    ])
    const [, cursor = ''] = /^more: --after (\S+)\n$/.exec(first.notes) ?? []
    const second = await line.run('account', 'entries', id, '--after', cursor)
    expect(cells(second.out)[1]?.slice(2)).toEqual(['top-up', 'paid', '$25.00', 'invoice-1'])
    const { next_cursor } = await line.json('account', 'entries', id, '--limit', '1')
    const after = await line.json('account', 'entries', id, '--after', String(next_cursor))
    expect(after).toMatchObject({ data: [{ reference: 'invoice-1' }], has_more: false })
  })

  test('an empty list says how to make the first account', async () => {
    expect(await line.run('account', 'list')).toEqual(
      printed('no accounts yet: create one with `tollgate account create <name>`\n'),
    )
    expect(await line.json('account', 'list')).toMatchObject({ data: [], has_more: false })
  })

  test('disable and enable turn it off and on', async () => {
    const id = await makeAccount()
    const stateAfter = async (verb: string) =>
      cells((await line.run('account', verb, id)).out)[1]?.[2]
    expect(await stateAfter('disable')).toBe('suspended')
    expect(await stateAfter('show')).toBe('suspended')
    expect(await stateAfter('enable')).toBe('active')
  })
})

test.each([
  ['account', 'show', 'acct_0'],
  ['account', 'entries', 'acct_0'],
  ['account', 'disable', 'acct_0'],
  ['account', 'enable', 'acct_0'],
  ['credit', 'add', 'acct_0', '5', '--reference', 'r'],
  ['key', 'create', 'acct_0'],
  ['key', 'list', 'acct_0'],
])('%s %s of an unknown account fails', async (...args) => {
  const { exitCode, out, notes } = await line.run(...args)
  expect([exitCode, out]).toEqual([3, ''])
  expect(notes).toBe(
    'tollgate: No account has the ID "acct_0". `tollgate account list` shows the IDs.\n',
  )
})

describe('credit add', () => {
  let id: string
  beforeEach(async () => {
    id = await makeAccount()
  })

  const grant = (...args: string[]) => line.run('credit', 'add', id, '--reference', 'r', ...args)
  const credit = async () => (await line.json('account', 'show', id))['credit']

  test('adds paid credit', async () => {
    expect(await grant('25')).toEqual(printed(`added $25.00 of paid credit to "Ada" (${id})\n`))
    expect(await credit()).toMatchObject({ backed: { balance: 25_000_000 }, free: { balance: 0 } })
  })

  test('adds a reference once, and says so', async () => {
    await grant('25', '--reference', 'invoice-1')
    expect(await grant('25', '--reference', 'invoice-1')).toEqual(
      printed(`this reference of "Ada" (${id}) was used before: nothing changed\n`),
    )
    expect(await grant('26', '--reference', 'invoice-1')).toEqual(
      failed(
        1,
        'tollgate: The account already has $25.00 of paid credit with this reference. Use another reference.\n',
      ),
    )
    expect(await credit()).toMatchObject({ backed: { balance: 25_000_000 } })
  })

  test('of a negative amount removes paid credit, even below zero', async () => {
    await grant('1')
    const { out } = await grant('-2.5', '--reference', 'chargeback-1')
    expect(out).toBe(`removed $2.50 of paid credit from "Ada" (${id})\n`)
    expect(await credit()).toMatchObject({ backed: { balance: -1_500_000, available: 0 } })
  })

  test('adds free credit that expires', async () => {
    const { out } = await grant('5', '--free', '--expires', '2999-01-31')
    expect(out).toBe(`added $5.00 of free credit to "Ada" (${id})\n`)
    expect(await credit()).toMatchObject({
      backed: { balance: 0 },
      free: { balance: 5_000_000, expires_at: '2999-01-31T00:00:00.000Z' },
    })
  })

  test('--json prints the entry', async () => {
    const entry = await line.json('credit', 'add', id, '0.000001', '--reference', 'r')
    expect(entry).toMatchObject({
      object: 'entry',
      account_id: id,
      kind: 'top_up',
      amount: 1,
      purse: 'backed',
      reference: 'r',
    })
  })

  test.each<[string[], string]>([
    [['5', '--free'], '`--expires` is required for free credit: when it expires.'],
    [['5', '--expires', '2999-01-01'], '`--expires` needs `--free`: paid credit does not expire.'],
    [['0'], '`<dollars>` must not be zero.'],
    [['-5', '--free', '--expires', '2999-01-01'], '`<dollars>` must be above zero.'],
    [['5', '--free', '--expires', '2020-01-01'], '`--expires` must be in the future.'],
    [
      ['5', '--reference', ''],
      '`--reference` must be 1 to 200 characters without control characters.',
    ],
  ])('%j is refused, and nothing is added', async (args, message) => {
    expect(await grant(...args)).toEqual(
      failed(2, `tollgate: ${message}\n(add --help to see its arguments and options)\n`),
    )
    expect(await credit()).toMatchObject({ backed: { balance: 0 }, free: { balance: 0 } })
  })
})

describe('key', () => {
  let id: string
  beforeEach(async () => {
    id = await makeAccount()
  })

  test('create prints only the key to a pipe, and notes that it is not shown again, and both base URLs', async () => {
    const { exitCode, out, notes } = await line.run('key', 'create', id)
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^sk-tollgate-[A-Za-z0-9]{43}\n$/)
    expect(notes).toMatch(
      /^Created "default" \(key_\w{26}\) of "Ada" \(acct_\w{26}\)\. This is the only time its text is shown\.\nThe base URL is http:\/\/localhost:8787\/v1 for OpenAI's clients, and\nhttp:\/\/localhost:8787 for Anthropic's \(docs\/clients\.md\)\.\n$/,
    )
  })

  test('create --json has the key once, list never', async () => {
    const created = await line.json(
      ...['key', 'create', id, '--name', 'laptop', '--limit', '10', '--expires', '2999-01-31'],
    )
    expect(created).toMatchObject({
      object: 'key',
      account_id: id,
      name: 'laptop',
      credit_limit: 10_000_000,
      expires_at: '2999-01-31T00:00:00.000Z',
      key: expect.stringMatching(/^sk-tollgate-/),
    })
    const { out } = await line.run('key', 'list', id, '--json')
    expect(out).not.toContain(String(created['key']))
    expect(JSON.parse(out).data[0]).not.toHaveProperty('key')
  })

  test('list shows state, spending and limits', async () => {
    const plain = await line.json('key', 'create', id)
    const limited = await line.json('key', 'create', id, '--name', 'ci', '--limit', '0.5')
    await line.run('key', 'disable', String(limited['id']))
    const { out } = await line.run('key', 'list', id)
    expect(cells(out)).toEqual([
      ['ID', 'KEY', 'NAME', 'STATE', 'SPEND', 'LIMIT', 'ALLOWANCE', 'EXPIRES'],
      [limited['id'], limited['prefix'], 'ci', 'disabled', '$0.00', '$0.50', '-', '-'],
      [plain['id'], plain['prefix'], 'default', 'active', '$0.00', '-', '-', '-'],
    ])
    const enabled = await line.json('key', 'enable', String(limited['id']))
    expect(enabled).toMatchObject({ disabled: false })
  })

  test('update changes the given fields, and none removes a limit or an expiry', async () => {
    const { id: key } = await line.json('key', 'create', id, '--limit', '5')
    const update = (...args: string[]) => line.json('key', 'update', String(key), ...args)
    expect(await update('--limit', '20', '--expires', '2999-01-31')).toMatchObject({
      name: 'default',
      credit_limit: 20_000_000,
      expires_at: '2999-01-31T00:00:00.000Z',
    })
    expect(await update('--name', 'ci', '--limit', 'none')).toMatchObject({
      name: 'ci',
      credit_limit: null,
      expires_at: '2999-01-31T00:00:00.000Z',
    })
    expect(await update('--expires', 'none')).toMatchObject({ name: 'ci', expires_at: null })
    const { out } = await line.run('key', 'update', String(key), '--limit', '1')
    expect(out).toMatch(new RegExp(`^account: "Ada" \\(${id}\\)$`, 'm'))
    expect(cells(out)[1]).toEqual([
      key,
      expect.any(String),
      'ci',
      'active',
      '$0.00',
      '$1.00',
      '-',
      '-',
    ])
  })

  test.each<[string[], number, string]>([
    [[], 2, 'nothing to change: give --name, --limit, --expires, --'],
    [
      ['--models-allow', 'acme/*,*'],
      2,
      '`--models-allow` must be an ID as GET /v1/models lists it',
    ],
    [['--limit', '-1'], 2, '`--limit` must be zero or more'],
    [['--limit', 'all'], 2, '`--limit` must be dollars such as 10 or 0.25'],
    [['--expires', '2020-01-01'], 2, '`--expires` must be in the future'],
    [['--name', 'x'], 3, 'No API key has the ID "key_0"'],
  ])('update %j of no key fails', async (args, code, message) => {
    expect(await line.run('key', 'update', 'key_0', ...args)).toEqual(failedWith(code, message))
  })

  test("a deleted key is no longer listed, and can't be deleted twice", async () => {
    const { id: key } = await line.json('key', 'create', id)
    expect(await line.run('key', 'delete', String(key))).toEqual(
      printed(`deleted "default" (${key}) of "Ada" (${id}); its requests stay in Activity\n`),
    )
    expect(await line.json('key', 'list', id)).toMatchObject({ data: [] })
    for (const verb of ['delete', 'enable']) {
      expect(await line.run('key', verb, String(key))).toEqual(
        failedWith(3, `No API key has the ID "${key}"`),
      )
    }
  })

  test('list continues after --after', async () => {
    await line.json('key', 'create', id, '--name', 'one')
    const two = await line.json('key', 'create', id, '--name', 'two')
    const first = await line.run('key', 'list', id, '--limit', '1')
    expect(first.notes).toBe(`more: --after ${two['id']}\n`)
    const second = await line.run('key', 'list', id, '--after', String(two['id']))
    expect(cells(second.out)[1]?.[2]).toBe('one')
  })

  test('an empty list says how to make a key', async () => {
    expect(await line.run('key', 'list', id)).toEqual(
      printed('no API keys: create one with `tollgate key create <account>`\n'),
    )
  })

  test.each<[string[], string]>([
    [['--limit', '-5'], '`--limit` must be zero or more.'],
    [['--expires', '2020-01-01'], '`--expires` must be in the future.'],
  ])('create with %j is refused, and no key is made', async (args, message) => {
    const { exitCode, notes } = await line.run('key', 'create', id, ...args)
    expect([exitCode, notes]).toEqual([
      2,
      `tollgate: ${message}\n(add --help to see its arguments and options)\n`,
    ])
    expect(await line.json('key', 'list', id)).toMatchObject({ data: [] })
  })

  test.each(['disable', 'enable'])('%s of no key fails', async (verb) => {
    expect(await line.run('key', verb, 'key_0')).toEqual(
      failed(
        3,
        'tollgate: No API key has the ID "key_0". `tollgate key list <account>` shows the IDs.\n',
      ),
    )
  })
})
