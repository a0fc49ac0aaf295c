import { Command } from 'commander'
import { getAccount } from '../ledger/accounts.ts'
import {
  type ApiKey,
  createApiKey,
  deleteApiKey,
  listApiKeys,
  updateApiKey,
} from '../ledger/api-keys.ts'
import { apiKeyAnswer } from '../operations/answers/api-key.ts'
import { listAnswer } from '../operations/answers/list.ts'
import type { Micros } from '../vocabulary/money.ts'
import { type CommandInput, withBooks } from './books.ts'
import {
  dollars,
  moment,
  readDollars,
  readId,
  readMoment,
  readName,
  readRowLimit,
} from './read-values.ts'
import { table } from './table.ts'
import { CommandFailure } from './terminal.ts'

interface CreateOptions {
  readonly name: string
  readonly limit?: Micros
  readonly expires?: number
  readonly json?: true
}

/** `tollgate key`: what clients send. */
export function keyCommand(input: CommandInput): Command {
  const command = new Command('key').description('make, list, change, disable and delete API keys')
  command
    .command('create')
    .description('make an API key; it is shown once, now')
    .argument('<account>', 'whose credit it spends, acct_…')
    .option('--name <name>', 'what people call it', readName, 'default')
    .option('--limit <dollars>', 'the most it may ever spend', readDollars)
    .option('--expires <date>', 'when it stops working, such as 2027-01-31', readMoment)
    .option('--json', 'print JSON')
    .action((accountId: string, options: CreateOptions) => create(input, { accountId, options }))
  command
    .command('list')
    .description("list an account's API keys, newest first")
    .argument('<account>', 'its id, acct_…')
    .option('--limit <rows>', 'how many at the most', readRowLimit, 100)
    .option('--after <key>', 'go on after this key id', readId('key'))
    .option('--json', 'print JSON')
    .action((accountId: string, options: ListOptions) => list(input, { accountId, options }))
  command
    .command('update')
    .description('change what is given of an API key, from its next request on')
    .argument('<key>', 'its id, key_…')
    .option('--name <name>', 'what people call it', readName)
    .option('--limit <dollars>', 'the most it may ever spend, or none', orNone(readDollars))
    .option('--expires <date>', 'when it stops working, or none', orNone(readMoment))
    .option('--json', 'print JSON')
    .action((id: string, options: UpdateOptions) => update(input, { id, options }))
  command
    .command('delete')
    .description('refuse its requests for good; what it did stays in Activity')
    .argument('<key>', 'its id, key_…')
    .option('--json', 'print JSON')
    .action((id: string, options: { readonly json?: true }) => remove(input, { id, options }))
  for (const { verb, disabled, description } of SWITCHES) {
    command
      .command(verb)
      .description(description)
      .argument('<key>', 'its id, key_…')
      .option('--json', 'print JSON')
      .action((id: string, options: { readonly json?: true }) =>
        withBooks(input, async ({ store, terminal }) => {
          const apiKey = await updateApiKey(store.db, { id, disabled })
          if (apiKey === null) throw noApiKey(id)
          terminal.out(
            options.json === true ? JSON.stringify(apiKeyAnswer(apiKey)) : keyTable([apiKey]),
          )
        }),
      )
  }
  return command
}

const SWITCHES = [
  { verb: 'disable', disabled: true, description: 'refuse its requests from now on' },
  { verb: 'enable', disabled: false, description: 'let it be used again' },
]

interface ListOptions {
  readonly limit: number
  readonly after?: string
  readonly json?: true
}

function create(
  input: CommandInput,
  { accountId, options }: { readonly accountId: string; readonly options: CreateOptions },
): Promise<void> {
  checkLimit(options.limit)
  return withBooks(input, async ({ store, ids, clock, keyTag, terminal }) => {
    if (options.expires !== undefined && options.expires <= clock.nowMs()) {
      throw new CommandFailure('the key would never work: --expires is in the past')
    }
    const created = await createApiKey(store.db, {
      id: ids.next('key'),
      accountId,
      name: options.name,
      keyTag,
      creditLimitMicros: options.limit ?? null,
      expiresAtMs: options.expires ?? null,
      nowMs: clock.nowMs(),
    })
    if (created === null) throw noAccount(accountId)
    if (options.json === true) {
      terminal.out(JSON.stringify({ ...apiKeyAnswer(created.apiKey), key: created.text }))
      return
    }
    terminal.out(created.text)
    terminal.note(`This is the only time the key ${created.apiKey.id} is shown.`)
  })
}

interface UpdateOptions {
  readonly name?: string
  readonly limit?: Micros | 'none'
  readonly expires?: number | 'none'
  readonly json?: true
}

function update(
  input: CommandInput,
  { id, options }: { readonly id: string; readonly options: UpdateOptions },
): Promise<void> {
  const { name, limit, expires, json } = options
  if (name === undefined && limit === undefined && expires === undefined) {
    throw new CommandFailure('nothing to change: give --name, --limit or --expires')
  }
  if (limit !== 'none') checkLimit(limit)
  return withBooks(input, async ({ store, terminal }) => {
    const apiKey = await updateApiKey(store.db, {
      id,
      ...(name === undefined ? {} : { name }),
      ...(limit === undefined ? {} : { creditLimitMicros: limit === 'none' ? null : limit }),
      ...(expires === undefined ? {} : { expiresAtMs: expires === 'none' ? null : expires }),
    })
    if (apiKey === null) throw noApiKey(id)
    terminal.out(json === true ? JSON.stringify(apiKeyAnswer(apiKey)) : keyTable([apiKey]))
  })
}

function remove(
  input: CommandInput,
  { id, options }: { readonly id: string; readonly options: { readonly json?: true } },
): Promise<void> {
  return withBooks(input, async ({ store, clock, terminal }) => {
    if (!(await deleteApiKey(store.db, { id, nowMs: clock.nowMs() }))) throw noApiKey(id)
    terminal.out(
      options.json === true
        ? JSON.stringify({ id, object: 'key', deleted: true })
        : `deleted ${id}; what it did stays in Activity`,
    )
  })
}

function checkLimit(limitMicros: Micros | undefined): void {
  if (limitMicros !== undefined && limitMicros < 0) {
    throw new CommandFailure('a limit cannot be negative')
  }
}

/** Reads a value or `none`, which takes it away. Not null: commander makes an empty text of that. */
function orNone<T>(read: (text: string) => T): (text: string) => T | 'none' {
  return (text) => (text === 'none' ? text : read(text))
}

function list(
  input: CommandInput,
  { accountId, options }: { readonly accountId: string; readonly options: ListOptions },
): Promise<void> {
  return withBooks(input, async ({ store, terminal }) => {
    const { apiKeys, nextCursor } = await listApiKeys(store.reports, {
      accountId,
      limit: options.limit,
      cursor: options.after ?? null,
    })
    if (apiKeys.length === 0 && (await getAccount(store.reports, accountId)) === null) {
      throw noAccount(accountId)
    }
    if (options.json === true) {
      terminal.out(JSON.stringify(listAnswer(apiKeys.map(apiKeyAnswer), nextCursor)))
      return
    }
    terminal.out(
      apiKeys.length === 0
        ? 'no API keys: make one with `tollgate key create <account>`'
        : keyTable(apiKeys),
    )
    if (nextCursor !== null) terminal.note(`more: --after ${nextCursor}`)
  })
}

function noApiKey(apiKeyId: string): CommandFailure {
  return new CommandFailure(
    `no API key has the id ${apiKeyId}: \`tollgate key list <account>\` shows them`,
  )
}

function noAccount(accountId: string): CommandFailure {
  return new CommandFailure(
    `no account has the id ${accountId}: \`tollgate account list\` shows them`,
  )
}

function keyTable(apiKeys: readonly ApiKey[]): string {
  return table(
    ['ID', 'KEY', 'NAME', 'STATE', 'SPENT', 'LIMIT', 'EXPIRES'],
    apiKeys.map((apiKey) => [
      apiKey.id,
      apiKey.displayPrefix,
      apiKey.name,
      apiKey.disabled ? 'disabled' : 'active',
      dollars(apiKey.spendMicros),
      apiKey.creditLimitMicros === null ? '-' : dollars(apiKey.creditLimitMicros),
      moment(apiKey.expiresAtMs),
    ]),
  )
}
