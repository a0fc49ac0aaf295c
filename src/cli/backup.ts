import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { backupStore, WrongPlace } from '../store/sqlite/backup.ts'
import { type CommandInput, withStore } from './command-context.ts'
import { grouped } from './table.ts'
import { CommandFailure, showProgress } from './terminal.ts'

// SQLite copies in one statement without reporting progress, so the size of the file is watched.
const WATCH_INTERVAL_MS = 200

/**
 * `tollgate backup`: the store as it is at one moment, in a file of its own. It is no operation: over
 * HTTP, a caller would choose a path on the server's disk.
 */
export function backupCommand(input: CommandInput): Command {
  return new Command('backup')
    .description('copy a SQLite store to a file, also while a server uses it')
    .argument('<file>', 'the new file; it must not exist')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A backup is a whole store: DATABASE_URL=sqlite:<file> opens it, to audit it or to serve from it.
It contains the hashes of keys and the secret of account tags: keep it as safe as the store.`,
    )
    .action((name: string, options: { readonly json?: true }) =>
      withStore(input, async ({ store, terminal }) => {
        const file = resolve(name)
        const { location } = store
        if (location.kind === 'postgres') {
          throw new CommandFailure(
            'back PostgreSQL up with its own tools, such as pg_dump; `tollgate copy` moves a store',
          )
        }
        if (options.json !== true) terminal.note(`copying ${location.file} …`)
        let watching: NodeJS.Timeout | undefined
        await backupStore(store.db, {
          file,
          onCopy: (partial) => {
            const show = showProgress(terminal, (bytes) => `copied ${megabytes(bytes)}`)
            watching = setInterval(() => show(bytesOf(partial)), WATCH_INTERVAL_MS)
          },
        })
          .catch(rethrowWrongPlace)
          .finally(() => clearInterval(watching))
        const bytes = bytesOf(file)
        terminal.out(
          options.json === true
            ? JSON.stringify({ object: 'backup', file, bytes })
            : `backed up to ${file}: ${grouped(bytes)} bytes`,
        )
      }),
    )
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
