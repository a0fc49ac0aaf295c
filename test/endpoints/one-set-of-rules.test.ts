import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from '../../src/cli/testing/command-line.ts'
import { Management, textOf } from './management.ts'

let line: CommandLine
let account: string
let key: string

const management = Management.ofFile()
beforeAll(async () => {
  line = openCommandLine({ storeUrl: `sqlite:${join(management.world.folder, 'store.db')}` })
  account = await management.account()
  const made = await management.post(`/v1/admin/accounts/${account}/keys`, { name: 'test' })
  key = textOf(made.json, 'id')
})
afterAll(async () => {
  line.close()
})

interface Row {
  readonly field: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** A path of the admin API; `{account}` and `{key}` are the test's. */
  readonly path: string
  /** The rest of the body, or of the query. */
  readonly rest?: object
  /** The typed text for a value of the field. */
  readonly typed: (value: string) => readonly string[]
  /** A value as the admin API takes it and as it is typed. */
  readonly values: readonly (readonly [unknown, string])[]
}

const NAMES = ['Ada', ' Ada ', '', ' ', 'a\u001bb', 'é'.repeat(200), 'x'.repeat(201)]
const EMAILS = ['ada@example.org', 'ada', 'a@b', 'ada@@example.org', ' ada@example.org', '']
const MOMENTS = ['2999-01-31T00:00:00Z', '2999-01-31T12:00:00.5+02:00', '2020-01-01T00:00:00Z']
  .concat(['2999-02-31T00:00:00Z', '2999-01-31T00:00:00', 'soon', '', '1'])
  .concat(['9999-12-31T23:59:59-01:00', '2999-01-31 12:00z', '2999-01-31t12:00:00 0100'])
const DOLLARS = [
  [1, '0.000001'],
  [0, '0'],
  [-1, '-0.000001'],
  [25_000_000, '25'],
  [100_000_000_000_000, '100000000'],
  [100_000_000_000_001, '100000000.000001'],
  [-100_000_000_000_001, '-100000000.000001'],
  [0.1, '0.0000001'],
  ['ten', 'ten'],
  ['', ''],
  ['1e3', '1e3'],
] as const
const COSTS = [
  '0.0123',
  '0',
  '-1',
  '1e-3',
  '1e3',
  'free',
  '',
  '952380.96',
  '0.0000000000001',
  '1e99',
]
const REFERENCES = ['invoice-1', ' ', '', 'code_1', 'x'.repeat(200), 'x'.repeat(201), 'a\u0000b']
const LIMITS = ['1', '100', '0', '101', '-1', '1e1', '', 'all']
const same = (values: readonly string[]) => values.map((value) => [value, value] as const)

const ROWS: readonly Row[] = [
  {
    field: 'name',
    method: 'POST',
    path: '/v1/admin/accounts',
    typed: (value) => ['account', 'create', value],
    values: same(NAMES),
  },
  {
    field: 'name',
    method: 'PATCH',
    path: '/v1/admin/accounts/{account}',
    typed: (value) => ['account', 'update', '{account}', '--name', value],
    values: same(NAMES),
  },
  {
    field: 'name',
    method: 'PATCH',
    path: '/v1/admin/keys/{key}',
    typed: (value) => ['key', 'update', '{key}', '--name', value],
    values: same(NAMES),
  },
  {
    field: 'email',
    method: 'POST',
    path: '/v1/admin/accounts',
    rest: { name: 'Ada' },
    typed: (value) => ['account', 'create', 'Ada', '--email', value],
    values: same(EMAILS),
  },
  {
    field: 'amount',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/credit',
    rest: { kind: 'backed', reference: 'amounts' },
    typed: (value) => ['credit', 'add', '{account}', value, '--reference', 'amounts'],
    values: DOLLARS,
  },
  {
    field: 'amount',
    method: 'POST',
    path: '/v1/admin/codes',
    typed: (value) => ['credit', 'code', 'create', value],
    values: DOLLARS,
  },
  {
    field: 'reference',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/credit',
    rest: { kind: 'backed', amount: 1 },
    typed: (value) => ['credit', 'add', '{account}', '0.000001', '--reference', value],
    values: same(REFERENCES),
  },
  {
    field: 'expires_at',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/credit',
    rest: { kind: 'free', amount: 1, reference: 'moments' },
    typed: (value) =>
      ['credit', 'add', '{account}', '0.000001', '--free'].concat(
        ...['--reference', 'moments', '--expires', value],
      ),
    values: same(MOMENTS),
  },
  {
    field: 'expires_at',
    method: 'POST',
    path: '/v1/admin/codes',
    rest: { amount: 1 },
    typed: (value) => ['credit', 'code', 'create', '0.000001', '--expires', value],
    values: same(MOMENTS),
  },
  {
    field: 'expires_at',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/keys',
    rest: { name: 'test' },
    typed: (value) => ['key', 'create', '{account}', '--expires', value],
    values: same(MOMENTS),
  },
  {
    field: 'expires_at',
    method: 'PATCH',
    path: '/v1/admin/keys/{key}',
    typed: (value) => ['key', 'update', '{key}', '--expires', value],
    values: [[null, 'none'], ...same(MOMENTS)],
  },
  {
    field: 'credit_limit',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/keys',
    rest: { name: 'test' },
    typed: (value) => ['key', 'create', '{account}', '--limit', value],
    values: DOLLARS,
  },
  {
    field: 'credit_limit',
    method: 'PATCH',
    path: '/v1/admin/keys/{key}',
    typed: (value) => ['key', 'update', '{key}', '--limit', value],
    values: [[null, 'none'], ...DOLLARS],
  },
  {
    field: 'cost',
    method: 'POST',
    path: '/v1/admin/requests/req_0/settle',
    typed: (value) => ['request', 'settle', 'req_0', value],
    values: same(COSTS),
  },
  {
    field: 'code',
    method: 'POST',
    path: '/v1/admin/accounts/{account}/redeem',
    typed: (value) => ['credit', 'redeem', '{account}', value],
    values: same(['XXXXXX', '', 'x'.repeat(101)]),
  },
  ...(['limit', 'since', 'until', 'state', 'model', 'account', 'key'] as const).map(
    (field): Row => ({
      field,
      method: 'GET',
      path: '/v1/admin/requests',
      typed: (value) => ['request', 'list', `--${field}`, value],
      values: same(
        {
          limit: LIMITS,
          since: MOMENTS,
          until: MOMENTS,
          state: ['open', 'final', 'done', '', 'OPEN'],
          model: ['acme/none', '', 'a\u0000b'],
          // A name is for commands alone.
          account: ['acct_0', '', 'key_01m8dygxmcjh2pympmxf241cgg'],
          key: ['key_0', 'sk-1', ''],
        }[field],
      ),
    }),
  ),
]

test.each(ROWS)('$method $path and its command give one verdict on each $field', async (row) => {
  const named = (text: string) => text.replace('{account}', account).replace('{key}', key)
  for (const [value, text] of row.values) {
    const input = { ...row.rest, [row.field]: value }
    const query = row.method === 'GET' ? `?${new URLSearchParams({ [row.field]: text })}` : ''
    const answer = await management.call({
      method: row.method,
      path: `${named(row.path)}${query}`,
      ...(row.method === 'GET' ? {} : { body: input }),
    })
    const words = row.typed(text).map(named)
    const { exitCode, notes } = await line.run(...words, '--json')
    const seen = `${row.field} ${JSON.stringify(value)}: ${JSON.stringify(answer.json)}; ${notes}`
    expect(exitCode, seen).toBe(exitCodeFor(answer.httpStatus))
    if (exitCode === 0) continue
    // Words of both, without what each calls the field; amounts that can't be written differ in those.
    const { code, message } = Object(JSON.parse(notes)).error
    if (code === 'invalid_usage') continue
    const withoutNames = (said: string) => said.replace(/`[^`]+`/g, '…')
    const said: { message: string } = Object(answer.json['error'])
    expect(withoutNames(message), seen).toBe(withoutNames(said.message))
  }
})

function exitCodeFor(httpStatus: number): number {
  if (httpStatus < 300) return 0
  return httpStatus === 400 ? 2 : httpStatus === 404 ? 3 : 1
}
