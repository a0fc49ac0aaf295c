import type { Kysely } from 'kysely'
import type { Tables } from './schema.ts'

/** Facts about a store itself. */
type SettingName =
  /** The base address of the upstream that the store's money was spent at, or `simulator`. */
  | 'upstream'
  /** The secret under which account ids become tags, hexadecimal. */
  | 'account_tag_secret'
  /** The secret under which the reported costs to look up are drawn, hexadecimal. */
  | 'lookup_draw_secret'
  /** The secret under which browsers are known, hexadecimal. */
  | 'known_browser_secret'
  /** `on` during maintenance: inference answers 503. */
  | 'maintenance'
  /** Identifies the payments of this store at their provider. */
  | 'sale_store'
  /** The public key below which accounts have deposit addresses, as its SHA-256, hexadecimal. */
  | 'sale_key'
  /** The kinds of alerts whose occasions from before there were such alerts are noted without emails, as a number. */
  | 'alerts_noted'
  /** A number that every change to a key, or to its account, raises. */
  | 'callers_version'

/** Null if the setting was never written. */
export async function readSetting(db: Kysely<Tables>, name: SettingName): Promise<string | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}

/** Raises `callers_version`, on either engine. */
export const RAISE_CALLERS_VERSION = `insert into settings (name, value) values ('callers_version', '1')
  on conflict (name) do update set value = cast(cast(settings.value as bigint) + 1 as text)`

interface SettingInput {
  readonly name: SettingName
  readonly value: string
}

/** Writes a setting, and replaces its old value. */
export async function writeSetting(db: Kysely<Tables>, input: SettingInput): Promise<void> {
  await db
    .insertInto('settings')
    .values(input)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: input.value }))
    .execute()
}

/** Writes a setting unless it has a value, and returns its value. */
export async function settingOnce(db: Kysely<Tables>, input: SettingInput): Promise<string> {
  await db
    .insertInto('settings')
    .values(input)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await readSetting(db, input.name)) ?? input.value
}

/** The store's money was spent at another upstream. */
export class UpstreamMismatch extends Error {
  override readonly name = 'UpstreamMismatch'
}

/**
 * Binds a store to an upstream: play money of the simulator must never buy from a real one. Throws
 * `UpstreamMismatch` where the simulator and a real upstream would share a store.
 */
export async function claimUpstream(db: Kysely<Tables>, upstream: string): Promise<void> {
  const owner = await settingOnce(db, { name: 'upstream', value: upstream })
  refuseOtherMoney(owner, upstream)
  if (owner !== upstream) await writeSetting(db, { name: 'upstream', value: upstream })
}

/** Throws `UpstreamMismatch` as {@link claimUpstream} does. By position: the upstream of the store, and the configured one. */
export function refuseOtherMoney(owner: string, upstream: string): void {
  // From one real upstream to another, credit is the same money.
  if ((owner === 'simulator') === (upstream === 'simulator')) return
  throw new UpstreamMismatch(
    owner === 'simulator'
      ? `the store has the simulator's play money, which must not buy from ${upstream}: set DATABASE_URL to another store`
      : `the store has real credit, of the upstream ${owner}, and no upstream is configured: configure one, or set DATABASE_URL to another store`,
  )
}
