import { Command } from 'commander'
import { auditAnswer } from '../answers/audit.ts'
import { auditStore } from '../ledger/audit.ts'
import { type CommandInput, withBooks } from './books.ts'
import { table } from './table.ts'
import { CommandFailure } from './terminal.ts'

/** `tollgate audit`: recomputes every balance, hold and charge; exits 1 where one differs. */
export function auditCommand(input: CommandInput): Command {
  return new Command('audit')
    .description('recompute every balance, hold and charge from the rows behind it')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits 0 where every figure is exact, 1 where one is off by a micro-dollar.',
    )
    .action((options: { readonly json?: true }) =>
      withBooks(input, async ({ store, terminal }) => {
        const audit = await auditStore(store)
        const { ok, checked, differences } = audit
        if (options.json === true) {
          terminal.out(JSON.stringify(auditAnswer(audit)))
        } else if (ok) {
          terminal.out(
            `exact: ${checked.accounts} accounts, ${checked.apiKeys} keys, ${checked.requests} requests, ${checked.entries} entries`,
          )
        } else {
          terminal.out(
            table(
              ['WHAT', 'ID', 'STORED', 'RECOMPUTED'],
              differences.map(({ what, id, stored, recomputed }) => [
                what,
                id,
                String(stored),
                String(recomputed),
              ]),
            ),
          )
        }
        if (!ok) throw new CommandFailure(`${differences.length} figures differ`)
      }),
    )
}
