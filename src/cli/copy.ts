import { rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { type Audit, auditView } from '../ledger/audit/audit.ts'
import { type AtWork, readAtWork } from '../ledger/instances/open-instance.ts'
import { AUDIT_CHECKS } from '../operations/gateway/upkeep.ts'
import { type Copied, CopyFailed, CopyUnconfirmed, copyStore } from '../store/copy-store.ts'
import { parseDatabaseUrl, showDatabaseUrl } from '../store/database-url.ts'
import { readSetting } from '../store/settings.ts'
import { backupStore, WrongPlace } from '../store/sqlite/backup.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { messageOf } from '../vocabulary/message-of.ts'
import { type CommandInput, refuseLostLog, requireStore, withStore } from './command-context.ts'
import { addHelp } from './help-text.ts'
import { counted, grouped } from './table.ts'
import {
  CommandFailure,
  explainSignals,
  showProgress,
  type Terminal,
  UsageFailure,
} from './terminal.ts'
import { differenceTable } from './upkeep.ts'

interface CopyOptions {
  readonly to: string
  readonly from?: string
  readonly json?: true
}

/** `tollgate copy`: every row of a store to an empty one, on the same engine or another. */
export function copyCommand(input: CommandInput): Command {
  const command = new Command('copy')
    .description('copy the whole store to an empty one, such as from SQLite to PostgreSQL')
    .requiredOption('--to <url>', 'required: the new store, postgres://… or sqlite:/path')
    .option('--from <url>', 'the store to copy; default: the store of DATABASE_URL')
    .option('--json', 'print JSON')
    .action((options: CopyOptions) => run(input, options))
  return addHelp(command, {
    help: `The new store must be empty: a SQLite file that does not exist yet, or a
PostgreSQL database without tables. One transaction copies, counts and audits
all rows. If a step fails, nothing is copied, and the old store is unchanged.

To move a gateway, for example from SQLite to PostgreSQL:
  1. Stop \`tollgate serve\`.
  2. Run \`tollgate copy --to postgres://user@host/database\`.
  3. Start \`tollgate serve\` with that DATABASE_URL. API keys and balances are
     unchanged.

You can copy while a server runs, but the copy lacks all later changes. Never
serve from both stores: each would charge for the same credit.

Other users of this machine can read a password in --to. Set PGPASSWORD instead.
docs/moving-stores.md describes each step.`,
    examples: [
      'tollgate copy --to postgres://tollgate@db.example.com/tollgate',
      'tollgate copy --from postgres://… --to sqlite:/var/lib/tollgate/tollgate.db',
    ],
  })
}

/** A command of an earlier release, which only names `tollgate copy`. */
export function retiredCommand(name: string): Command {
  return new Command(name)
    .description('replaced by `tollgate copy --to <url>`')
    .argument('[words...]', 'ignored')
    .allowUnknownOption()
    .action((_words: unknown, _options: unknown, command: Command) =>
      command.error(
        `error: \`tollgate ${name}\` is gone: \`tollgate copy --to <url>\` copies a store to another one, ` +
          'without a file between them',
      ),
    )
}

interface Verified extends AtWork {
  /** The upstream that the store belongs to; null: nothing was served from it. */
  readonly upstream: string | null
}

/** The two addresses, as they may be shown. */
interface Addresses {
  readonly from: string
  readonly to: string
}

async function run({ settings, terminal }: CommandInput, options: CopyOptions): Promise<void> {
  const from = options.from ?? settings().storeUrl
  const shown = { from: shownAddress('from', from), to: shownAddress('to', options.to) }
  requireStore(from, options.from === undefined ? null : '--from')
  refuseLostLog(from)
  // Read now: heartbeats grow old during a long copy.
  const startedAtMs = systemClock.nowMs()
  let isCommitting = false
  const stopExplaining = explainSignals(terminal, {
    isJson: options.json === true,
    stopped: () =>
      isCommitting
        ? `${shown.to} has every row or none. \`tollgate audit\` on it shows which; if it is empty, copy again`
        : `nothing was copied to ${shown.to}, and ${shown.from} is unchanged. The same command copies from the beginning`,
  })
  const copied = await copyStore<Verified>({
    from,
    to: options.to,
    onCommit() {
      isCommitting = true
    },
    onRows: showProgress(terminal, (rows) => `copied ${counted(rows, 'row')}`),
    async verify(copy) {
      const audit = await auditView(copy, {
        checks: AUDIT_CHECKS,
        onRows: showProgress(terminal, (rows) => `audited ${counted(rows, 'row')}`),
      })
      if (!audit.ok) throw notExact(terminal, audit)
      const upstream = await readSetting(copy, 'upstream')
      return { upstream, ...(await readAtWork(copy, startedAtMs)) }
    },
  })
    .catch((error: unknown) => {
      if (error instanceof CopyFailed)
        throw new CommandFailure(`nothing was copied: ${error.message}`)
      throw error instanceof CopyUnconfirmed ? new CommandFailure(error.message) : error
    })
    .finally(stopExplaining)
  if (options.json === true) terminal.out(JSON.stringify(copyAnswer(shown, copied)))
  else report(terminal, shown, copied)
}

/** By position: the option, and its address. */
function shownAddress(option: 'from' | 'to', url: string): string {
  if (url === '') throw new UsageFailure(`\`--${option}\` is empty: write the address of a store`)
  try {
    parseDatabaseUrl(url)
  } catch (cause) {
    throw new UsageFailure(`\`--${option}\` cannot be used: ${messageOf(cause)}`, { cause })
  }
  return showDatabaseUrl(url)
}

function notExact(terminal: Terminal, { differences }: Audit): CommandFailure {
  terminal.note(differenceTable(differences))
  return new CommandFailure(
    `nothing was copied: the audit of the store failed, ${counted(differences.length, 'difference')}`,
  )
}

/** By position: the terminal, the addresses, and the finished copy. */
function report(
  terminal: Terminal,
  { from, to }: Addresses,
  { rows, verified: { upstream, instances, openHolds } }: Copied<Verified>,
): void {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  terminal.out(`copied ${counted(all, 'row')} from ${from} to ${to}; the audit is exact`)
  if (upstream === 'simulator') terminal.note('all money of the store is play money')
  else if (upstream !== null) terminal.note(`the store belongs to the upstream ${upstream}`)
  if (instances > 0) {
    terminal.note(
      'a server uses the old store, or was killed seconds ago: the copy lacks its later changes. ' +
        'To move the store, stop the server and copy again to an empty store.',
    )
  }
  if (openHolds > 0) {
    terminal.note(
      `${counted(openHolds, 'openHold')}: the next \`tollgate serve\` on the copy makes them unresolved, ` +
        "and settles them by the provider's records",
    )
  }
}

function copyAnswer(shown: Addresses, { rows, verified }: Copied<Verified>) {
  return {
    object: 'copy',
    ...shown,
    rows,
    upstream: verified.upstream,
    servers: verified.instances,
    open_holds: verified.openHolds,
    exact: true,
  }
}

// SQLite copies in one statement without reporting progress, so the size of the file is watched.
const WATCH_INTERVAL_MS = 200

/**
 * `tollgate backup`: the store as it is at one moment, in a file of its own. It is no operation: over
 * HTTP, a caller would choose a path on the server's disk.
 */
export function backupCommand(input: CommandInput): Command {
  const command = new Command('backup')
    .description('copy a SQLite store to a file, also while a server uses it')
    .argument('<file>', 'the new file; it must not exist')
    .option('--json', 'print JSON')
    .action((name: string, options: { readonly json?: true }) =>
      withStore(input, async ({ store, terminal }) => {
        const file = resolve(name)
        const { location } = store
        if (location.kind === 'postgres') {
          throw new CommandFailure(
            'this store is PostgreSQL: back it up with its own tools, such as pg_dump',
          )
        }
        let watching: NodeJS.Timeout | undefined
        let stopExplaining = () => {}
        await backupStore(store.db, {
          file,
          onCopy: (partial) => {
            if (options.json !== true) terminal.note(`copying ${location.file} …`)
            stopExplaining = explainSignals(terminal, {
              isJson: options.json === true,
              stopped() {
                // SQLite has the second one while it writes the first.
                for (const path of [partial, `${partial}-journal`]) rmSync(path, { force: true })
                return `${file} was not written`
              },
            })
            const show = showProgress(terminal, (bytes) => `copied ${megabytes(bytes)}`)
            watching = setInterval(() => show(bytesOf(partial)), WATCH_INTERVAL_MS)
          },
        })
          .catch(rethrowWrongPlace)
          .finally(() => {
            clearInterval(watching)
            stopExplaining()
          })
        const bytes = bytesOf(file)
        terminal.out(
          options.json === true
            ? JSON.stringify({ object: 'backup', file, bytes })
            : `backed up to ${file}: ${grouped(bytes)} bytes`,
        )
      }),
    )
  return addHelp(command, {
    help: `A backup is a whole store: DATABASE_URL=sqlite:<file> opens it, to audit it or
to serve from it. It contains the hashes of keys and the secret of account tags:
keep it as safe as the store. docs/deploy.md has a nightly backup.`,
    examples: ['tollgate backup 2027-01-31.db', 'DATABASE_URL=sqlite:2027-01-31.db tollgate audit'],
  })
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function megabytes(bytes: number): string {
  return `${grouped(Math.floor(bytes / 1_000_000))} MB`
}

function rethrowWrongPlace(error: unknown): never {
  throw error instanceof WrongPlace ? new CommandFailure(error.message) : error
}
