import { Command } from 'commander'
import { hashCreditCode } from '../ledger/credit-code-text.ts'
import { createCreditCode, listCreditCodes, revokeCreditCode } from '../ledger/credit-codes.ts'
import type { CreditCodeRow } from '../ledger/rows.ts'
import { creditCodeAnswer } from '../operations/answers/credit-code.ts'
import { entryAnswer } from '../operations/answers/entry.ts'
import { listAnswer } from '../operations/answers/list.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Micros } from '../vocabulary/money.ts'
import { type CommandInput, withBooks, withNewBooks } from './books.ts'
import { dollars, moment, readDollars, readId, readMoment, readRowLimit } from './read-values.ts'
import { table } from './table.ts'
import { CommandFailure } from './terminal.ts'

interface JsonOption {
  readonly json?: true
}

/** `tollgate credit code`: codes that are worth backed credit, once. */
export function creditCodeCommand(input: CommandInput): Command {
  const command = new Command('code').description('make, list and revoke credit codes')
  command
    .command('create')
    .description('make a code that is worth backed credit, once; it is shown once, now')
    .argument('<dollars>', 'what it is worth', readDollars)
    .option('--expires <date>', 'when it stops being worth it, such as 2027-01-31', readMoment)
    .option('--json', 'print JSON')
    .action((amountMicros: Micros, options: CreateOptions) =>
      create(input, { amountMicros, options }),
    )
  command
    .command('list')
    .description('list codes, newest first, and who has their credit')
    .option('--limit <rows>', 'how many at the most', readRowLimit, 100)
    .option('--after <code-id>', 'go on after this code id', readId('code'))
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(input, options))
  command
    .command('revoke')
    .description('make a code worth nothing, unless it was redeemed before')
    .argument('<code-id>', 'its id, code_…')
    .option('--json', 'print JSON')
    .action((id: string, options: JsonOption) => revoke(input, { id, options }))
  return command
}

/** `tollgate credit redeem`: gives an account the credit of a code. */
export function redeemCommand(input: CommandInput): Command {
  return (
    new Command('redeem')
      .description('give an account the credit of a code; a code can be redeemed once')
      .argument('<account>', 'its id, acct_…')
      .argument('<code>', 'the code, in any case, with or without hyphens')
      .option('--json', 'print JSON')
      // By position: as the arguments stand in the command.
      .action((accountId: string, code: string, options: JsonOption) =>
        redeem(input, { accountId, code, options }),
      )
  )
}

interface CreateOptions extends JsonOption {
  readonly expires?: number
}

interface ListOptions extends JsonOption {
  readonly limit: number
  readonly after?: string
}

function create(
  input: CommandInput,
  { amountMicros, options }: { readonly amountMicros: Micros; readonly options: CreateOptions },
): Promise<void> {
  if (amountMicros <= 0) throw new CommandFailure('a code is worth more than nothing')
  return withNewBooks(input, async ({ store, ids, clock, terminal }) => {
    const nowMs = clock.nowMs()
    const expiresAtMs = options.expires ?? null
    if (expiresAtMs !== null && expiresAtMs <= nowMs) {
      throw new CommandFailure('the expiry is in the past: nobody could redeem the code')
    }
    const { creditCode, text } = await createCreditCode(store.db, {
      id: ids.next('code'),
      amountMicros,
      expiresAtMs,
      nowMs,
    })
    if (options.json === true) {
      terminal.out(JSON.stringify({ ...creditCodeAnswer(creditCode), code: text }))
      return
    }
    terminal.out(text)
    terminal.note(`This is the only time the code ${creditCode.id} is shown.`)
  })
}

function list(input: CommandInput, options: ListOptions): Promise<void> {
  return withBooks(input, async ({ store, terminal }) => {
    const { creditCodes, nextCursor } = await listCreditCodes(store.reports, {
      limit: options.limit,
      cursor: options.after ?? null,
    })
    if (options.json === true) {
      terminal.out(JSON.stringify(listAnswer(creditCodes.map(creditCodeAnswer), nextCursor)))
      return
    }
    terminal.out(
      creditCodes.length === 0
        ? 'no credit codes: make one with `tollgate credit code create <dollars>`'
        : codeTable(creditCodes),
    )
    if (nextCursor !== null) terminal.note(`more: --after ${nextCursor}`)
  })
}

function revoke(
  input: CommandInput,
  { id, options }: { readonly id: string; readonly options: JsonOption },
): Promise<void> {
  return withBooks(input, async ({ store, clock, terminal }) => {
    const creditCode = await revokeCreditCode(store.db, { id, nowMs: clock.nowMs() })
    if (creditCode === null) {
      throw new CommandFailure(`no code has the id ${id}: \`tollgate credit code list\` shows them`)
    }
    if (creditCode.redeemedBy !== null) {
      throw new CommandFailure(
        `the code was redeemed by ${creditCode.redeemedBy}: take the credit back with \`tollgate credit grant\` and a negative amount`,
      )
    }
    terminal.out(
      options.json === true
        ? JSON.stringify(creditCodeAnswer(creditCode))
        : codeTable([creditCode]),
    )
  })
}

interface Redemption {
  readonly accountId: string
  readonly code: string
  readonly options: JsonOption
}

function redeem(input: CommandInput, { accountId, code, options }: Redemption): Promise<void> {
  return withBooks(input, async ({ ledger, terminal }) => {
    const verdict = await ledger.redeemCode({ accountId, codeHash: hashCreditCode(code) })
    switch (verdict.kind) {
      case 'redeemed':
      case 'exists':
        if (options.json === true) terminal.out(JSON.stringify(entryAnswer(verdict.entry)))
        else if (verdict.kind === 'exists')
          terminal.out('this account redeemed the code before: nothing changed')
        else
          terminal.out(
            `added ${dollars(verdict.entry.amountMicros)} of backed credit to ${accountId}`,
          )
        return
      case 'used':
        throw new CommandFailure('another account has redeemed this code')
      case 'expired':
        throw new CommandFailure('the code has expired')
      case 'revoked':
        throw new CommandFailure('the code was revoked')
      case 'unknownCode':
        throw new CommandFailure('no code is like this: check it for wrong characters')
      case 'unknownAccount':
        throw new CommandFailure(
          `no account has the id ${accountId}: \`tollgate account list\` shows them`,
        )
      default:
        assertNever(verdict)
    }
  })
}

function codeTable(rows: readonly CreditCodeRow[]): string {
  return table(
    ['ID', 'CODE', 'WORTH', 'STATE', 'ACCOUNT', 'EXPIRES'],
    rows.map((row) => [
      row.id,
      `…${row.displaySuffix}`,
      dollars(row.amountMicros),
      stateOf(row),
      row.redeemedBy ?? '-',
      moment(row.expiresAtMs),
    ]),
  )
}

function stateOf({ redeemedBy, revokedAtMs }: CreditCodeRow): string {
  if (redeemedBy !== null) return 'redeemed'
  return revokedAtMs === null ? 'unredeemed' : 'revoked'
}
