import { randomFillSync } from 'node:crypto'
import { statSync } from 'node:fs'
import type { CatalogSettings } from '../catalog/catalog.ts'
import type { Ledger } from '../ledger/commands.ts'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import type { MailSettings } from '../mail/mail-server.ts'
import type { OperationParts } from '../operations/operation-parts.ts'
import type { OperationSource } from '../operations/operations.ts'
import type { OutsideProvider } from '../people/outside/outside-door.ts'
import type { SaleSettings } from '../sale/open-methods.ts'
import { parseDatabaseUrl, showDatabaseUrl } from '../store/database-url.ts'
import { StoreMissing } from '../store/migrate.ts'
import { openStore } from '../store/open-store.ts'
import { BeatFile, LogMissing } from '../store/sqlite/beat-file.ts'
import type { Store } from '../store/store.ts'
import type { Dialect } from '../upstreams/upstream.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { createIdSource, type IdSource } from '../vocabulary/ids.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** An open store for commands. It is safe while a server runs: commands never mark its holds unresolved. */
export interface CommandContext {
  readonly store: Store
  readonly ledger: Ledger
  readonly ids: IdSource
  readonly clock: Clock
  readonly terminal: Terminal
}

/** The part of the environment that commands read. */
export interface CommandSettings
  extends Pick<
    OperationParts,
    'keyTag' | 'keyLimits' | 'pageUrl' | 'serviceName' | 'webhookNetworks'
  > {
  readonly storeUrl: string
  /** How a person types the program: `tollgate` or `npx tollgate`. */
  readonly typedName: string
  /** The address of a running server with these settings. */
  readonly serverUrl: string
  readonly sale: SaleSettings
  /** Null: no email is sent. */
  readonly mail: MailSettings | null
  /** The providers at which people can sign in. Absent: none. */
  readonly outside?: readonly OutsideProvider[]
  /** The providers; absent: none is configured, and the simulator takes their place. */
  readonly upstreams?: LiveUpstreams
}

/** How providers are reached, and the settings of their catalog; loaded for the commands that ask them something. */
export interface LiveUpstreams {
  /** Reads their settings. Throws `ConfigError`. */
  readonly load: () => Promise<ConfiguredUpstreams>
  readonly loadDialect: (name: string) => Promise<Dialect>
  readonly catalog: CatalogSettings
  readonly publicNames: PublicNames
}

/** The inputs of a command: where the store is, which operations it may run, and where to write. */
export interface CommandInput {
  /** Reads the environment when a command runs, so that `--help` needs none. Throws `ConfigError`. */
  readonly settings: () => CommandSettings
  readonly operations: readonly OperationSource[]
  readonly terminal: Terminal
}

/**
 * Opens the store for one command and closes it after the command, also after a failure. Throws `CommandFailure`
 * where there is no store yet: a command in the wrong folder, or on the wrong database, must not answer for an empty one.
 */
export async function withStore<T>(
  input: CommandInput,
  use: (opened: CommandContext) => Promise<T>,
): Promise<T> {
  const { storeUrl } = input.settings()
  requireStore(storeUrl)
  try {
    return await withStoreFor(input, 'never', use)
  } catch (error) {
    if (!(error instanceof StoreMissing)) throw error
    throw new CommandFailure(
      `there is no store in ${showDatabaseUrl(storeUrl)}: correct DATABASE_URL. ${NEW_STORE_ADVICE}`,
      { cause: error },
    )
  }
}

/**
 * Throws `CommandFailure` if a SQLite store lacks its log, and with it the latest commits: a copy would pass for whole, and
 * a change would hide the loss from the next server.
 */
export function refuseLostLog(url: string): void {
  const location = parseDatabaseUrl(url)
  if (location.kind === 'postgres') return
  try {
    new BeatFile(location.file).check()
  } catch (cause) {
    if (!(cause instanceof LogMissing)) throw cause
    throw new CommandFailure(
      `if a server runs on this store, stop it with SIGTERM, which writes what only it has, and try again. If none runs: ${cause.message}`,
      { cause },
    )
  }
}

/** Whether there is such a file. Throws `CommandFailure` if this user can't look into its folder. */
function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EACCES')) return false
    throw new CommandFailure(
      `this user cannot open the folder of the store ${file}: run the command as the user that runs the server (docs/deploy.md)`,
      { cause },
    )
  }
}

const NEW_STORE_ADVICE = 'For a new store, start the server or run `tollgate account create`.'

/** Throws `CommandFailure` if the address is of a SQLite file that does not exist, or that this user can't see. By position: it, and the option that names it. */
export function requireStore(url: string, option: string | null = null): void {
  const location = parseDatabaseUrl(url)
  if (location.kind === 'postgres' || isFile(location.file)) return
  if (option !== null) {
    throw new CommandFailure(`there is no store at ${location.file}: correct \`${option}\``)
  }
  throw new CommandFailure(
    `there is no store at ${location.file}: go to the folder that \`tollgate serve\` was started in, ` +
      `or set DATABASE_URL. ${NEW_STORE_ADVICE}`,
  )
}

/** Opens the store for a command that may be the first on it: makes the store if there is none. */
export function withNewStore<T>(
  input: CommandInput,
  use: (opened: CommandContext) => Promise<T>,
): Promise<T> {
  return withStoreFor(input, 'ifEmpty', use)
}

async function withStoreFor<T>(
  input: CommandInput,
  migrateStore: 'never' | 'ifEmpty',
  use: (opened: CommandContext) => Promise<T>,
): Promise<T> {
  const { storeUrl } = input.settings()
  refuseLostLog(storeUrl)
  const clock = systemClock
  const ids = createIdSource({ clock, fillRandom: (bytes) => randomFillSync(bytes) })
  const store = await openStore({ url: storeUrl, clock, migrateStore })
  try {
    const ledger = createLedger({ location: store.location, clock })
    try {
      return await use({ store, ledger, ids, clock, terminal: input.terminal })
    } finally {
      await ledger.close()
    }
  } finally {
    await store.close()
  }
}
