import { Command } from 'commander'
import type { AddCreditInput, Entry } from '../ledger/ledger.ts'
import { entryAnswer } from '../operations/answers/entry.ts'
import { StoreRefused } from '../store/store-unavailable.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Micros } from '../vocabulary/money.ts'
import { type CommandInput, withBooks } from './books.ts'
import { creditCodeCommand, redeemCommand } from './credit-code.ts'
import { dollars, readDollars, readMoment } from './read-values.ts'
import { CommandFailure } from './terminal.ts'

interface GrantOptions {
  readonly free?: true
  readonly expires?: number
  readonly reference?: string
  readonly json?: true
}

/** `tollgate credit`: what accounts may spend. */
export function creditCommand(input: CommandInput): Command {
  const command = new Command('credit').description(
    'give accounts credit, or codes that are worth credit',
  )
  command
    .command('grant')
    .description('add credit to an account, or take it back')
    .argument('<account>', 'its id, acct_…')
    .argument('<dollars>', 'how much; a negative amount takes backed credit back', readDollars)
    .option('--free', 'free credit: pays for open-weight text models only, and expires')
    .option('--expires <date>', 'when free credit expires, such as 2027-01-31', readMoment)
    .option('--reference <id>', 'your own id of this credit: repeating it adds nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', GRANT_EXAMPLES)
    .action((accountId: string, amountMicros: Micros, options: GrantOptions) =>
      grant(input, { accountId, amountMicros, options }),
    )
  command.addCommand(creditCodeCommand(input))
  command.addCommand(redeemCommand(input))
  return command
}

const GRANT_EXAMPLES = `
Examples:
  tollgate credit grant acct_… 25 --reference invoice-1042
  tollgate credit grant acct_… 5 --free --expires 2027-01-31
  tollgate credit grant acct_… -25 --reference chargeback-1042`

interface Grant {
  readonly accountId: string
  readonly amountMicros: Micros
  readonly options: GrantOptions
}

function grant(input: CommandInput, { accountId, amountMicros, options }: Grant): Promise<void> {
  const free = options.free === true
  if (free && options.expires === undefined) {
    throw new CommandFailure('free credit expires: say when with --expires <date>')
  }
  if (!free && options.expires !== undefined) {
    throw new CommandFailure('only free credit expires: leave --expires out, or add --free')
  }
  if (amountMicros === 0) throw new CommandFailure('the amount is zero: there is nothing to add')
  if (free && amountMicros < 0)
    throw new CommandFailure('free credit cannot be taken back: it expires')
  return withBooks(input, async ({ ledger, ids, terminal }) => {
    const added: AddCreditInput = {
      accountId,
      purse: free ? 'free' : 'backed',
      amountMicros,
      expiresAtMs: options.expires ?? null,
      reference: options.reference ?? ids.next('ent'),
    }
    const verdict = await ledger.addCredit(added).catch(rethrowRefusal)
    switch (verdict.kind) {
      case 'added':
      case 'exists':
        if (options.json === true) terminal.out(JSON.stringify(entryAnswer(verdict.entry)))
        else if (verdict.kind === 'exists')
          terminal.out('this reference was added before: nothing changed')
        else terminal.out(inWords(verdict.entry))
        return
      case 'conflict':
        throw new CommandFailure(
          `the reference was used for ${dollars(verdict.entry.amountMicros)} of ${verdict.entry.purse} credit before: use another`,
        )
      case 'unknownAccount':
        throw new CommandFailure(
          `no account has the id ${accountId}: \`tollgate account list\` shows them`,
        )
      default:
        assertNever(verdict)
    }
  })
}

/** What the ledger refuses, such as an expiry that has passed, is the person's to put right. */
function rethrowRefusal(error: unknown): never {
  throw error instanceof StoreRefused ? new CommandFailure(`refused: ${error.message}`) : error
}

function inWords({ accountId, amountMicros, purse }: Entry): string {
  return amountMicros < 0
    ? `took ${dollars(-amountMicros)} of ${purse} credit from ${accountId}`
    : `added ${dollars(amountMicros)} of ${purse} credit to ${accountId}`
}
