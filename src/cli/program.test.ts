import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { Client } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { OPERATIONS } from '../operations/operations.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import { COMMANDS, tollgateProgram } from './program.ts'
import { failed, openCommandLine, printed } from './testing/command-line.ts'

const line = openCommandLine()
afterAll(() => line.close())

const GROUPS = {
  action: ['list'],
  account: ['create', 'list', 'show', 'entries', 'update', 'suspend', 'resume'],
  credit: ['add', 'redeem'],
  key: ['create', 'list', 'show', 'update', 'delete', 'disable', 'enable'],
  request: ['list', 'show', 'settle'],
  maintenance: ['on', 'off', 'show'],
}

test('without a command it prints the help and fails', async () => {
  const { exitCode, out, notes } = await line.run()
  expect([exitCode, out]).toEqual([2, ''])
  for (const group of ['serve', ...Object.keys(GROUPS), 'audit', 'copy']) {
    expect(notes).toMatch(new RegExp(`^  ${group} `, 'm'))
  }
  expect(notes).not.toMatch(/^ {2}(export|import) /m)
})

test('--version prints the version', async () => {
  expect(await line.run('--version')).toEqual(printed('1.2.3\n'))
})

test('serve serves', async () => {
  expect(await line.run('serve')).toEqual(failed(0, 'serving\n'))
})

test.each([
  ['account', 'list'],
  ['request', 'list'],
  ['credit', 'add', 'acct_1', '5', '--reference', 'r'],
  ['credit', 'code', 'create', '5'],
  ['key', 'create', 'acct_1'],
  ['audit'],
  ['backup', 'copy.db'],
  ['copy', '--to', 'sqlite:copy.db'],
])('without a store, %s %s creates none and names the place where it looked', async (...args) => {
  const file = `${line.storeUrl.replace('sqlite:', '')}.elsewhere`
  const elsewhere = openCommandLine({ storeUrl: `sqlite:${file}` })
  const { exitCode, out, notes } = await elsewhere.run(...args)
  expect([exitCode, out]).toEqual([1, ''])
  expect(notes).toContain(`there is no store at ${file}: `)
  expect(existsSync(file)).toBe(false)
  elsewhere.close()
})

test('on a PostgreSQL database without a store, commands make no tables and name it, until the first account is created', async () => {
  const database = await createPostgresDatabase()
  const client = new Client(database.url)
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  const tables = async () =>
    (await client.query(`select from pg_tables where schemaname = 'public'`)).rowCount
  const elsewhere = openCommandLine({ storeUrl: database.url })
  const name = new URL(database.url).pathname
  for (const args of [['account', 'list'], ['doctor'], ['audit']]) {
    const { exitCode, out, notes } = await elsewhere.run(...args)
    expect(exitCode).toBe(1)
    expect(out + notes).toMatch(
      new RegExp(`there is no store in postgres://\\S+${name}: correct DATABASE_URL`),
    )
    expect(await tables()).toBe(0)
  }
  const { exitCode, notes } = await elsewhere.run('copy', '--to', `${line.storeUrl}.copy`)
  expect([exitCode, notes]).toEqual([
    1,
    expect.stringContaining('there is no store in this database'),
  ])
  expect(await tables()).toBe(0)
  expect((await elsewhere.run('account', 'create', 'Ada')).exitCode).toBe(0)
  expect((await elsewhere.run('account', 'list')).out).toContain('Ada')
  elsewhere.close()
  await client.end()
  await database.remove()
})

test('maintenance is changed with a note that running servers follow within seconds, which show leaves out', async () => {
  const made = openCommandLine()
  expect(await made.run('maintenance', 'on')).toEqual({
    exitCode: 0,
    out: 'maintenance is on: inference requests are answered 503 until `tollgate maintenance off`\n',
    notes: expect.stringContaining('Running servers apply this within seconds'),
  })
  expect((await made.run('maintenance', 'show')).notes).toBe('')
  made.close()
})

test('the first account can be created before the first start', async () => {
  const storeUrl = `${line.storeUrl}.new`
  const first = openCommandLine({ storeUrl })
  expect((await first.run('account', 'create', 'Ada')).exitCode).toBe(0)
  expect((await first.run('account', 'list')).out).toContain('Ada')
  first.close()
})

describe('--help', () => {
  const commands = Object.entries(GROUPS).flatMap(([group, verbs]) =>
    verbs.map((verb): [string, string[]] => [`${group} ${verb}`, [group, verb]]),
  )

  test.each<[string, string[]]>([
    ...commands,
    ['audit', ['audit']],
    ['copy', ['copy']],
    ['serve', ['serve']],
  ])('of %s says how it is used', async (name, args) => {
    const { exitCode, out, notes } = await line.run(...args, '--help')
    expect([exitCode, notes]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^Usage: tollgate ${name}( |$)`, 'm'))
  })

  test('has words for every command, argument and option', () => {
    const settings = () => {
      throw new Error('no command runs here')
    }
    const terminal = { columnsMax: null, out: () => {}, note: () => {}, progress: () => {} }
    const runs = { operations: OPERATIONS, commands: COMMANDS, explain: () => null }
    const serve = async () => {}
    const program = tollgateProgram({ version: '1', ...runs, settings, terminal, serve })
    let terms = 0
    const check = (command: Command): void => {
      for (const each of [command, ...command.registeredArguments, ...command.options]) {
        terms++
        const described = each instanceof Command ? each.description() : each.description
        expect(described, each instanceof Command ? each.name() : '').toMatch(/\S/)
      }
      for (const below of command.commands) check(below)
    }
    check(program)
    expect(terms).toBeGreaterThan(40)
  })

  test.each(Object.entries(GROUPS))('of %s lists its commands', async (group, verbs) => {
    const { exitCode, out } = await line.run(group, '--help')
    expect(exitCode).toBe(0)
    for (const verb of verbs) {
      expect(out).toMatch(new RegExp(`^  ${verb} .*\\S`, 'm'))
    }
  })

  test('reads no environment and opens no store', async () => {
    const { out } = await line.run('credit', 'add', '--help')
    expect(out).toBe(`Usage: tollgate credit add [options] <account> <dollars>

add credit to an account, or remove it

Arguments:
  account           the account: its external ID, name, email address or ID, acct_…
  dollars           the amount, such as 25 or 0.50, without a $ sign; a negative amount removes paid
                    credit

Options:
  --reference <id>  required: your own ID for this credit; a repeat with the same ID adds nothing
  --free            free credit: pays for open-weight text models only, and expires
  --expires <when>  required with --free: when it expires, such as 2027-01-31 or 90d
  --json            print JSON
  -h, --help        display help for command

A shell replaces $2 in $25, so that 5 is left: type amounts without a $ sign.
\`tollgate account entries <account>\` shows what was added and removed.

Examples:
  tollgate credit add Ada 25 --reference invoice-1042
  tollgate credit add Ada 5 --reference welcome-1042 --free --expires 90d
  tollgate credit add Ada -25 --reference removal-1042
`)
  })
})

describe('a wrong command line fails, with the reason and a hint to --help', () => {
  test.each<[string[], RegExp]>([
    [['acount', 'list'], /unknown command 'acount'\n\(Did you mean account\?\)/],
    [['account', 'lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
    [['account', 'create'], /missing required argument 'name'/],
    [['account', 'create', ' '], /`<name>` must be 1 to 200 characters/],
    [['account', 'create', 'a\u001bb'], /without control characters/],
    [['account', 'create', 'a', 'b'], /too many arguments/],
    [['account', 'create', 'a', '--email', 'ada'], /`--email` must be an email address/],
    [['account', 'list', '--all'], /unknown option '--all'/],
    [['account', 'list', '--limit', '0'], /`--limit` must be a whole number from 1 to 100/],
    [['account', 'list', '--limit', '1e2'], /`--limit` must be a whole number from 1 to 100/],
    [['account', 'list', '--limit', '101'], /`--limit` must be a whole number from 1 to 100/],
    [['credit', 'add', 'acct_1'], /missing required argument 'dollars'/],
    [['credit', 'add', 'acct_1', 'ten'], /`<dollars>` must be dollars such as 10/],
    [['credit', 'add', 'acct_1', '0.0000001'], /at most six after the point/],
    [['credit', 'add', 'acct_1', '99999999999'], /`<dollars>` must be at most \$100,000,000/],
    [['account', 'update', 'acct_1', '--fee', '200'], /`--fee` must be 0 to 100 percent, such as/],
    [
      ['account', 'update', 'acct_1', '--fee', '2.555'],
      /`--fee` must be 0 to 100 percent, such as/,
    ],
    [['request', 'settle', 'req_1', '-4'], /`<dollars>` must be zero or more dollars, such as/],
    [['request', 'settle', 'req_1', 'ten'], /`<dollars>` must be zero or more dollars, such as/],
    [['usage', '--since', '2027-13-40'], /`--since` must be a date such as 2027-01-31, a time/],
    [['usage', '--until', 'soon'], /`--until` must be a date such as 2027-01-31, a time/],
    [['token', 'create', '--name', 'a', '--expires', 'soon'], /`--expires` must be a date such as/],
    [['token', 'create', '--name', 'a', '--expires', '2020-01-31'], /must be in the future/],
    [
      ['credit', 'add', 'acct_1', '100000000.01', '--reference', 'r'],
      /`<dollars>` must be at most \$100,000,000/,
    ],
    [
      ['credit', 'add', 'acct_1', '1'],
      /`--reference` is required: your own ID for this credit, such as invoice-1042, so that a repeat/,
    ],
    [
      ['credit', 'add', 'acct_1', '1', '--free', '--expires', 'soon'],
      /`--expires` must be a date such as 2027-01-31, a time such as/,
    ],
    [['credit', 'add', 'acct_1', '1', '--free', '--expires', '2030-02-31'], /`--expires` must be/],
    [
      ['credit', 'add', 'acct_1', '1', '--free', '--expires', '2030-01-01T12:00'],
      /`--expires` must be a date such as 2027-01-31, a time such as/,
    ],
    [['key', 'create', 'acct_1', '--name', ''], /`--name` must be 1 to 200 characters/],
    [
      ['request', 'list', '--key', 'sk-1'],
      /`--key` must be the shown part or ID of an API key, key_…/,
    ],
    [['request', 'list', '--after', '2'], /`--after` must be the `next_cursor` of a page/],
    [['account', 'list', '--after', '2'], /`--after` must be the `next_cursor` of a page/],
    [['request', 'list', '--state', 'done'], /`--state` must be open, unresolved, provisional/],
    [['key', 'rotate', 'key_1', '--grace', '8d'], /`--grace` must be at most 7d\./],
    [['copy', '--to', 'nowhere'], /`--to` cannot be used: a database URL is sqlite:/],
    [
      ['action', 'list', '--action', 'addCredits'],
      /`--action` must be names of operations: addCredit, changeAccount, /,
    ],
    [['account', 'create', 'M\ufffdller'], /`<name>` has characters that are not UTF-8/],
    [['credit', 'add', 'acct_1', '9'.repeat(30)], /`<dollars>` must be at most \$100,000,000/],
    [['doctor', 'now'], /Expected 0 arguments but got 1: now\.\n/],
    [['copy'], /required option '--to <url>' not specified/],
    [['export', 'store.jsonl'], /`tollgate copy --to <url>` copies a store to another/],
    [['import', 'store.jsonl'], /`tollgate copy --to <url>` copies a store to another/],
  ])('%j', async (args, message) => {
    const { exitCode, out, notes } = await line.run(...args)
    expect([exitCode, out]).toEqual([2, ''])
    expect(notes).toMatch(/^tollgate: /)
    expect(notes).toMatch(message)
    expect(notes).toMatch(/\(add --help to see its arguments and options\)\n$|: unknown command /)
  })
})

describe('with --json a failure is one line of JSON on standard error, with its code', () => {
  test.each<[string[], number, string]>([
    [['acount', 'list'], 2, 'invalid_usage'],
    [['account', 'list', '--limit', '0'], 2, 'invalid_parameter'],
    [['credit', 'add', 'acct_1', 'ten'], 2, 'invalid_usage'],
    [['account', 'show', 'acct_0'], 3, 'not_found'],
    [['usage', '--csv'], 2, 'invalid_usage'],
    [['usage', '--format', 'focus'], 2, 'invalid_usage'],
    [['catalog', 'refresh'], 1, 'command_failed'],
  ])('%j', async (args, code, errorCode) => {
    const { exitCode, out, notes } = await line.run(...args, '--json')
    expect([exitCode, out]).toEqual([code, ''])
    expect(notes).toMatch(/^.+\n$/)
    expect(JSON.parse(notes)).toEqual({
      error: { message: expect.stringMatching(/\S/), code: errorCode },
    })
  })
})
