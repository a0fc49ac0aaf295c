import { Command } from 'commander'
import { type Audit, auditStore } from '../ledger/audit/audit.ts'
import type { Difference } from '../ledger/audit/difference.ts'
import { auditAnswer } from '../operations/answers/audit.ts'
import { type CommandInput, withBooks } from './books.ts'
import { counted, listed } from './counted.ts'
import { showProgress } from './progress.ts'
import { moment, table } from './table.ts'
import { CommandFailure } from './terminal.ts'

/** `tollgate audit`: recomputes every balance, hold and charge; exits 1 where one differs. */
export function auditCommand(input: CommandInput): Command {
  return new Command('audit')
    .description('recompute every balance, hold and charge from the entries and requests')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExits 0 if every figure is exact, 1 if one differs by a micro-dollar.')
    .action((options: { readonly json?: true }) =>
      withBooks(input, async ({ store, terminal }) => {
        const audit = await auditStore(
          store,
          showProgress({ terminal, say: (rows) => `audited ${counted(rows, 'row')}` }),
        )
        const { ok, differences } = audit
        if (options.json === true) terminal.out(JSON.stringify(auditAnswer(audit)))
        else terminal.out(ok ? found(audit) : differenceTable(differences))
        if (!ok) throw new CommandFailure(counted(differences.length, 'difference'))
      }),
    )
}

// The books of a copy that lacks the latest requests are exact too: what is newest in it shows that.
function found({ checked, newestRequest }: Audit): string {
  if (checked.accounts === 0) {
    return 'empty store: it has no account. If it should, DATABASE_URL names another store or a bad copy'
  }
  const counts = listed([
    [checked.accounts, 'account'],
    [checked.apiKeys, 'apiKey'],
    [checked.requests, 'request'],
    [checked.entries, 'entry'],
    [checked.creditCodes, 'code'],
  ])
  const newest =
    newestRequest === null ? 'none' : `${newestRequest.id}, ${moment(newestRequest.openedAtMs)}`
  return `exact: ${counts}\nnewest request: ${newest}`
}

/** Figures that differ, as a person reads them. */
export function differenceTable(differences: readonly Difference[]): string {
  return table(
    ['WHAT', 'ID', 'STORED', 'RECOMPUTED'],
    differences.map(({ what, id, stored, recomputed }) => [
      what,
      id,
      String(stored),
      String(recomputed),
    ]),
  )
}
