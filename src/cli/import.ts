import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { type Audit, auditView } from '../ledger/audit/audit.ts'
import { readAtWork } from '../ledger/instances/at-work.ts'
import { type Imported, ImportRefused, importStore } from '../store/copy/import-store.ts'
import { parseDatabaseUrl, showDatabaseUrl } from '../store/database-url.ts'
import { openStore } from '../store/open-store.ts'
import { acquireServeLock, type ServeLock, ServeLockHeld } from '../store/sqlite/serve-lock.ts'
import { StoreRefused } from '../store/store-unavailable.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { differenceTable } from './audit.ts'
import type { CommandInput } from './books.ts'
import { counted } from './counted.ts'
import { showProgress } from './progress.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** `tollgate import`: fills an empty store with what `tollgate export` wrote. */
export function importCommand(input: CommandInput): Command {
  return new Command('import')
    .description('fill an empty store with a file of `tollgate export`')
    .argument('<file>', 'what `tollgate export` wrote, on SQLite or PostgreSQL')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
DATABASE_URL says which store. It must be empty: a SQLite file that is not there yet, or a PostgreSQL
database without tables. All rows are there in the end, counted and audited, or none are.

API keys, balances, limits, models and prices are as they were, and so is \`tollgate audit\`.
Requests that were in flight at the export count as cut off: the next \`tollgate serve\` makes them
unresolved (on PostgreSQL after half a minute), and settles them by the provider's records.`,
    )
    .action((name: string, options: { readonly json?: true }) =>
      run(input, { file: readable(resolve(name)), json: options.json === true }),
    )
}

function readable(file: string): string {
  try {
    accessSync(file, constants.R_OK)
  } catch (cause) {
    throw new CommandFailure(`${file} can't be read: is it there, and are its rights right?`, {
      cause,
    })
  }
  if (statSync(file).isDirectory()) throw new CommandFailure(`${file} is a folder, not an export`)
  return file
}

interface Verified {
  readonly audit: Audit
  readonly openHolds: number
}

async function run(
  { settings, terminal }: CommandInput,
  { file, json }: { readonly file: string; readonly json: boolean },
): Promise<void> {
  const { storeUrl } = settings()
  const location = parseDatabaseUrl(storeUrl)
  const lock = location.kind === 'sqlite' ? lockForImport(location.file) : null
  try {
    // Makes the tables.
    await (await openStore({ url: storeUrl })).close()
    const imported = await importStore<Verified>({
      location,
      file,
      onRows: showProgress({ terminal, say: (rows) => `imported ${counted(rows, 'row')}` }),
      async verify(view) {
        const audit = await auditView(
          view,
          showProgress({ terminal, say: (rows) => `audited ${counted(rows, 'row')}` }),
        )
        if (!audit.ok) throw notExact(terminal, audit)
        const { openHolds } = await readAtWork(view, systemClock.nowMs())
        return { audit, openHolds }
      },
    }).catch(rethrowForThePerson)
    if (json) terminal.out(JSON.stringify(answer(file, imported)))
    else tell(terminal, { file, store: showDatabaseUrl(storeUrl), imported })
  } finally {
    lock?.release()
  }
}

function lockForImport(file: string): ServeLock {
  try {
    return acquireServeLock(file)
  } catch (error) {
    throw error instanceof ServeLockHeld ? new CommandFailure(error.message) : error
  }
}

function notExact(terminal: Terminal, { differences }: Audit): CommandFailure {
  terminal.note(differenceTable(differences))
  return new CommandFailure(
    `the books in the file are not exact, ${counted(differences.length, 'difference')}: nothing was ` +
      'imported. Was the file changed? See `tollgate audit` on the store that it came from.',
  )
}

function rethrowForThePerson(error: unknown): never {
  if (error instanceof ImportRefused) {
    throw new CommandFailure(`nothing was imported: ${error.message}`)
  }
  if (error instanceof StoreRefused) {
    throw new CommandFailure(`nothing was imported: the store refuses a row: ${error.message}`)
  }
  throw error
}

interface Done {
  readonly file: string
  /** As it may be shown. */
  readonly store: string
  readonly imported: Imported<Verified>
}

function tell(terminal: Terminal, { file, store, imported }: Done): void {
  const { rows, upstream, verified } = imported
  terminal.out(
    `imported ${counted(sum(rows), 'row')} from ${file} into ${store}; the books are exact`,
  )
  if (upstream !== null) terminal.note(`the store belongs to the upstream ${upstream}`)
  if (verified.openHolds > 0) {
    terminal.note(
      `${counted(verified.openHolds, 'openHold')} at the export: the next \`tollgate serve\` makes them ` +
        "unresolved, and settles them by the provider's records",
    )
  }
}

function answer(file: string, { rows, upstream, verified }: Imported<Verified>) {
  return { object: 'import', file, rows, upstream, open_holds: verified.openHolds, exact: true }
}

function sum(rows: Readonly<Record<string, number>>): number {
  return Object.values(rows).reduce((all, some) => all + some, 0)
}
