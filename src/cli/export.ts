import { resolve } from 'node:path'
import { Command } from 'commander'
import { type AtWork, readAtWork } from '../ledger/instances/at-work.ts'
import { type Exported, exportView } from '../store/copy/export-view.ts'
import { FileExists } from '../store/new-file.ts'
import { type CommandInput, withBooks } from './books.ts'
import { counted, grouped } from './counted.ts'
import { showProgress } from './progress.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** `tollgate export`: every row of the store, as text that a store on any engine takes. */
export function exportCommand(input: CommandInput): Command {
  return new Command('export')
    .description('write the whole store to a file that `tollgate import` reads, on any engine')
    .argument('<file>', 'where to; it must not be there yet')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
To move a store, for example from SQLite to PostgreSQL:
  1. stop \`tollgate serve\`, so that nothing happens that the export does not have
  2. tollgate export store.jsonl
  3. DATABASE_URL=postgres://user:password@host/database tollgate import store.jsonl
  4. start \`tollgate serve\` with that DATABASE_URL; API keys and balances are as they were

Beside a running server the export is of one moment, and exact, but a copy alone: do not serve from both.
The file has no API keys, but their hashes and the secret of account tags: keep it as safe as the store.`,
    )
    .action((name: string, options: { readonly json?: true }) =>
      withBooks(input, async ({ store, clock, terminal }) => {
        const file = resolve(name)
        const onRows = showProgress({ terminal, say: (rows) => `exported ${counted(rows, 'row')}` })
        const { exported, atWork } = await store
          .snapshot(async (view) => ({
            exported: await exportView({ view, engine: store.location.kind, file, onRows }),
            atWork: await readAtWork(view, clock.nowMs()),
          }))
          .catch(rethrowExisting)
        if (options.json === true) terminal.out(JSON.stringify(answer({ file, exported, atWork })))
        else tell(terminal, { file, exported, atWork })
      }),
    )
}

interface Done {
  readonly file: string
  readonly exported: Exported
  readonly atWork: AtWork
}

function tell(terminal: Terminal, { file, exported, atWork }: Done): void {
  const rows = Object.values(exported.rows).reduce((all, some) => all + some, 0)
  terminal.out(`exported ${counted(rows, 'row')} to ${file}: ${grouped(exported.bytes)} bytes`)
  const { instances, openHolds } = atWork
  if (instances > 0) {
    terminal.note(
      'a server works with this store, or has just been killed: what it does from now on is not in the ' +
        'file. To move the store, stop the server and export again.',
    )
  }
  if (openHolds > 0) {
    terminal.note(
      `${counted(openHolds, 'openHold')}: where the file is imported they count as cut off, and are ` +
        "settled by the provider's records or released.",
    )
  }
}

function answer({ file, exported, atWork }: Done) {
  return {
    object: 'export',
    file,
    bytes: exported.bytes,
    sha256: exported.sha256,
    schema: exported.schema,
    rows: exported.rows,
    servers: atWork.instances,
    open_holds: atWork.openHolds,
  }
}

function rethrowExisting(error: unknown): never {
  throw error instanceof FileExists ? new CommandFailure(error.message) : error
}
