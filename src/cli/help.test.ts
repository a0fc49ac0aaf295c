import { afterAll, describe, expect, test } from 'vitest'
import { OTHER_NAMES } from './program.ts'
import { openCommandLine } from './testing/command-line.ts'
import { faultOf, program } from './testing/fault-of.ts'
import { examplesOf, SHOWN_COMMANDS } from './testing/helps.ts'

const line = openCommandLine()
afterAll(() => line.close())

test.each(SHOWN_COMMANDS)(
  'the help of %s has an example of it, and each of its examples is a command',
  async (words) => {
    const { out } = await line.run(...words.split(' '), '--help')
    const examples = examplesOf(out)
    expect(examples[0]?.startsWith(words), out).toBe(true)
    expect(examples.map(faultOf).filter((fault) => fault !== null)).toEqual([])
  },
)

test.each(SHOWN_COMMANDS)(
  '%s takes --json, and its help fits a terminal of 80 columns',
  async (words) => {
    const { out } = await line.run(...words.split(' '), '--help')
    if (words !== 'serve') expect(out).toMatch(/^ {2}--json /m)
    // Arguments and options are wrapped to the width of the terminal.
    const [, below = ''] = out.split('-h, --help')
    expect(below).not.toBe('')
    expect(below.split('\n').filter((text) => text.length > 80)).toEqual([])
  },
)

test('the help of a command that takes a user lists the accepted names of a user', async () => {
  const { out } = await line.run('user', 'role', '--help')
  expect(out).toContain("the user's email address or ID, user_…")
})

test('the help of the program fits a terminal of 80 columns', async () => {
  const { out } = await line.run('--help')
  // Commands are wrapped to the width of the terminal.
  const written = out.split('\n').filter((text) => /^(?:\S| {2}tollgate )/.test(text))
  expect(written.length).toBeGreaterThan(20)
  expect(written.filter((text) => text.length > 80)).toEqual([])
})

test.each([program, ...program.commands].map((each) => [each.name(), each] as const))(
  'the commands below %s, and its options, are wrapped to a terminal of 80 columns',
  (_, command) => {
    const help = Object.assign(command.createHelp(), { helpWidth: 80 })
    const written = help.formatHelp(command, help).split('\n')
    expect(written.filter((text) => text.length > 80)).toEqual([])
  },
)

describe('help', () => {
  test.each([
    [['credit', 'add'], 'Usage: tollgate credit add '],
    [['credit', 'code', 'create'], 'Usage: tollgate credit code create '],
    [['key'], 'Usage: tollgate key '],
    [[], 'Usage: tollgate [options] [command]'],
  ])('with %j prints the help of that command', async (words, usage) => {
    const { exitCode, out, notes } = await line.run('help', ...words)
    expect([exitCode, notes]).toEqual([0, ''])
    expect(out).toContain(usage)
  })
})

test('help runs no command, whatever arguments follow its name', async () => {
  for (const [words] of SHOWN_COMMANDS) {
    const { exitCode, out } = await line.run('help', ...words.split(' '), 'Ada', '5')
    expect([words, exitCode]).toEqual([words, 0])
    expect(out).toContain(`Usage: tollgate ${words} `)
  }
})

test('a name of other programs has one hint, without names that look alike, at commands that exist', async () => {
  const { out } = await line.run('--help')
  const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
  const all = OTHER_NAMES.flatMap(({ names }) => names)
  expect(all.filter((name) => commands.includes(name))).toEqual([])
  expect(new Set(all).size).toBe(all.length)
  for (const { names, meant } of OTHER_NAMES) {
    for (const name of names) {
      const words = name.split(' ')
      const { notes } = await line.run(...words)
      expect(notes).toBe(`tollgate: unknown command '${words.at(-1)}': ${meant}\n`)
    }
    const shown = [...meant.matchAll(/`tollgate ([a-z ]*[a-z])/g)]
    expect(shown, meant).not.toEqual([])
    for (const [, words = ''] of shown) {
      expect((await line.run('help', ...words.split(' '))).exitCode, meant).toBe(0)
    }
  }
})

describe('a mistake of a newcomer', () => {
  test.each<[string[], string]>([
    [['key', 'get', 'key_1'], "unknown command 'get': the commands are create, list, show"],
    [['begin'], "unknown command 'begin': the commands are serve, doctor"],
    [['help', 'begin'], "unknown command 'begin': the commands are serve, doctor"],
    [['start'], "unknown command 'start': `tollgate serve` starts the gateway"],
    [['models', 'list'], "unknown command 'models': `tollgate catalog list` shows the models"],
    [['refund', 'Ada', '5'], 'a refund at the card provider removes the credit of the payment;'],
    [['account', 'delete', 'Ada'], '`tollgate account suspend <account>` refuses all requests'],
    [['user', 'suspend', 'ada@example.org'], '`tollgate user remove <email>` ends the access'],
    [['credit', 'remove', 'Ada', '5'], '`tollgate credit add <account> -5 --reference'],
    [['restore', 'one.db'], 'put a copy of the backup in the place of the store'],
    [['fee', '--help'], '`tollgate account update <account> --fee 12` sets the fee'],
    [['help', 'invite'], '`tollgate user --help` shows how to list and invite people'],
    [['help', 'acount'], "unknown command 'acount'\n(Did you mean account?)"],
    [['help', 'key', 'get'], "unknown command 'get': the commands are create, list, show"],
    [['begin', '--help'], "unknown command 'begin': the commands are serve, doctor"],
    [['acount', '--help'], "unknown command 'acount'\n(Did you mean account?)"],
    [['acount', 'list', '-h'], "unknown command 'acount'\n(Did you mean account?)"],
    [['--help', 'acount'], "unknown command 'acount'\n(Did you mean account?)"],
    [['account', 'lst', '--help'], "unknown command 'lst'\n(Did you mean list?)"],
    [['credit', 'code', 'get', '--help'], "unknown command 'get': the commands are create, list"],
    [['account', 'create', 'Ada', 'Lovelace'], 'Quote text that has spaces.'],
    [['audit', 'log'], 'got 1: log. `tollgate action list` shows the audit log.'],
    [['serve', '--port', '8788'], 'settings are environment variables, or lines of .env'],
    [['serve', 'now'], 'got 1: now. Settings are environment variables, or lines of .env'],
    [
      ['usage', '--from', '2027-01-01'],
      "unknown option '--from': a range is --since and --until\n",
    ],
    [
      ['account', 'show', 'key_01m8dygxmcjh2pympmxf241cgg'],
      '`<account>` must be the external ID, name, email address or ID of an account, acct_…, not the ID of an API key: `tollgate account list` shows the accounts.',
    ],
    [
      ['key', 'show', 'acct_1'],
      '`<key>` must be the shown part or ID of an API key, key_…, not the ID of an account: `tollgate key list <account>`',
    ],
    [['request', 'show', 'Ada'], '`<request>` must be the ID of a request, req_…: `tollgate req'],
    [
      ['request', 'list', '--key', 'key_1,acct_1'],
      '`--key` must be the shown part or ID of an API key',
    ],
    [['account', 'show', ' '], '`<account>` must be the external ID, name, email address or ID'],
    [['credit', 'add', 'acct_1', '1,000', '--reference', 'r'], 'digits without commas'],
    [['credit', 'add', 'acct_1', '1', '--free', '--expires', '31.1.2030'], 'from now, such as 12h'],
    [['account', 'statement', 'acct_1', '--since', '1/31/2027'], 'how long ago, such as 24h or 7d'],
    [['usage', '--since', 'last week'], 'how long ago, such as 24h or 7d'],
  ])('%j is answered with what to type', async (words, said) => {
    const { exitCode, notes } = await line.run(...words)
    expect(exitCode).toBe(2)
    expect(notes).toContain(said)
  })

  test('an ID that is not known names the command that lists IDs', async () => {
    const { exitCode, notes } = await line.run('account', 'show', 'acct_0')
    expect([exitCode, notes]).toEqual([
      3,
      'tollgate: No account has the ID "acct_0". `tollgate account list` shows the IDs.\n',
    ])
  })

  test('the text of a key in place of its ID is refused, and not repeated', async () => {
    const { notes } = await line.run('key', 'show', 'sk-tollgate-not_a_real_key')
    expect(notes).toContain('`<key>` must be the shown part or ID of an API key')
    expect(notes).not.toContain('not_a_real_key')
  })

  test('the text of a leaked key in place of its ID is answered with its shown part', async () => {
    const { notes } = await line.run('key', 'show', `sk-tollgate-abc${'x'.repeat(36)}wxyz`)
    expect(notes).toContain(
      'shown part or ID of an API key, key_…: of this text, it is sk-tollgate-abc…wxyz.\n',
    )
    expect(notes).not.toContain('xxx')
  })
})

test('credit that was added by the command of 0.2.0 is added as before', async () => {
  const { id } = await line.json('account', 'create', 'Ada')
  const grant = ['credit', 'grant', String(id), '$5', '--reference', 'r']
  expect((await line.run(...grant)).out).toBe(`added $5.00 of paid credit to "Ada" (${id})\n`)
  expect((await line.run('credit', '--help')).out).not.toContain('grant')
})

test('--since takes a duration before now', async () => {
  const { id } = await line.json('account', 'create', 'Ada')
  await line.run('credit', 'add', String(id), '5', '--reference', 'r')
  const since = async (time: string) => {
    const statement = await line.json('account', 'statement', String(id), '--since', time)
    return Date.now() - Date.parse(String(statement['from']))
  }
  const dayMs = 86_400_000
  const sinceMs = await since('7d')
  // The range begins with the start of its first day, in UTC.
  expect(sinceMs).toBeGreaterThanOrEqual(7 * dayMs)
  expect(sinceMs).toBeLessThan(9 * dayMs)
})
