import { Command } from 'commander'
import {
  type Account,
  createAccount,
  getAccount,
  listAccounts,
  updateAccount,
} from '../ledger/accounts.ts'
import { type AccountCredit, getCredits } from '../ledger/activity/activity.ts'
import { accountAnswer } from '../operations/answers/account.ts'
import { listAnswer } from '../operations/answers/list.ts'
import { type Books, type CommandInput, withBooks, withNewBooks } from './books.ts'
import { dollars, readEmail, readId, readName, readRowLimit } from './read-values.ts'
import { table } from './table.ts'
import { CommandFailure } from './terminal.ts'

interface JsonOption {
  readonly json?: true
}

/** `tollgate account`: who owns credit. */
export function accountCommand(input: CommandInput): Command {
  const command = new Command('account').description('make, list and disable accounts')
  command
    .command('create')
    .description('make an account; it has no credit yet')
    .argument('<name>', 'what people call it', readName)
    .option('--email <address>', 'whom to write to', readEmail)
    .option('--json', 'print JSON')
    .action((name: string, options: JsonOption & { readonly email?: string }) =>
      withNewBooks(input, async (books) => {
        const account = await createAccount(books.store.db, {
          id: books.ids.next('acct'),
          name,
          email: options.email ?? null,
          nowMs: books.clock.nowMs(),
        })
        const json = options.json === true
        await print(books, { account, json })
        if (!json) books.terminal.note(nextSteps(account.id))
      }),
    )
  command
    .command('list')
    .description('list accounts, newest first, with their credit')
    .option('--limit <rows>', 'how many at the most', readRowLimit, 100)
    .option('--after <account>', 'go on after this account id', readId('acct'))
    .option('--json', 'print JSON')
    .action((options: JsonOption & { readonly limit: number; readonly after?: string }) =>
      withBooks(input, (books) => list(books, options)),
    )
  command
    .command('show')
    .description('show one account with its credit')
    .argument('<account>', 'its id, acct_…')
    .option('--json', 'print JSON')
    .action((id: string, options: JsonOption) =>
      withBooks(input, async (books) => {
        const account = await getAccount(books.store.db, id)
        await print(books, { account: found(account, id), json: options.json === true })
      }),
    )
  for (const { verb, disabled, description } of SWITCHES) {
    command
      .command(verb)
      .description(description)
      .argument('<account>', 'its id, acct_…')
      .option('--json', 'print JSON')
      .action((id: string, options: JsonOption) =>
        withBooks(input, async (books) => {
          const account = await updateAccount(books.store.db, { id, disabled })
          await print(books, { account: found(account, id), json: options.json === true })
        }),
      )
  }
  return command
}

function nextSteps(accountId: string): string {
  return `
Next, give it credit, in dollars, and make it a key:
  npx tollgate credit grant ${accountId} 25
  npx tollgate key create ${accountId}`
}

const SWITCHES = [
  {
    verb: 'disable',
    disabled: true,
    description: 'refuse every request of its keys from now on; what runs goes on and is charged',
  },
  { verb: 'enable', disabled: false, description: 'let its keys be used again' },
]

function found(account: Account | null, accountId: string): Account {
  if (account === null) {
    throw new CommandFailure(
      `no account has the id ${accountId}: \`tollgate account list\` shows them`,
    )
  }
  return account
}

async function print(
  books: Books,
  { account, json }: { readonly account: Account; readonly json: boolean },
): Promise<void> {
  const lines = await linesOf(books, [account])
  const [answer] = lines.map(({ account, purses }) => accountAnswer(account, purses))
  books.terminal.out(json ? JSON.stringify(answer) : accountTable(lines))
}

async function list(
  books: Books,
  options: JsonOption & { readonly limit: number; readonly after?: string },
): Promise<void> {
  const { store, terminal } = books
  const { accounts, nextCursor } = await listAccounts(store.reports, {
    limit: options.limit,
    cursor: options.after ?? null,
  })
  const lines = await linesOf(books, accounts)
  if (options.json === true) {
    const answers = lines.map(({ account, purses }) => accountAnswer(account, purses))
    terminal.out(JSON.stringify(listAnswer(answers, nextCursor)))
    return
  }
  terminal.out(
    lines.length === 0
      ? 'no accounts yet: make one with `tollgate account create <name>`'
      : accountTable(lines),
  )
  if (nextCursor !== null) terminal.note(`more: --after ${nextCursor}`)
}

interface AccountLine {
  readonly account: Account
  readonly purses: AccountCredit
}

async function linesOf(
  { store, clock }: Books,
  accounts: readonly Account[],
): Promise<AccountLine[]> {
  const credits = await getCredits(store.db, {
    accountIds: accounts.map(({ id }) => id),
    nowMs: clock.nowMs(),
  })
  return accounts.flatMap((account) => {
    const purses = credits.get(account.id)
    return purses === undefined ? [] : [{ account, purses }]
  })
}

function accountTable(lines: readonly AccountLine[]): string {
  return table(
    ['ACCOUNT', 'NAME', 'STATE', 'AVAILABLE', 'HELD', 'FREE'],
    lines.map(({ account, purses: { backed, free } }) => [
      account.id,
      account.name,
      account.disabled ? 'disabled' : 'active',
      dollars(backed.availableMicros),
      dollars(backed.heldMicros + free.heldMicros),
      dollars(free.availableMicros),
    ]),
  )
}
