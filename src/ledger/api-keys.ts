import { hash, randomInt } from 'node:crypto'
import { type Kysely, type Selectable, sql } from 'kysely'
import { containsText } from '../store/conditions.ts'
import { type ListPage, type Page, readPage } from '../store/list-page.ts'
import { API_KEYS, type ApiKeyRow, type Tables } from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { newestOpenedAt } from './activity/newest-request.ts'
import type { CommandedLedger } from './commands.ts'
import type { AddApiKeyInput, AddApiKeyVerdict } from './ledger.ts'
import type { OperatorAction } from './operator-actions.ts'
import type { KeySpending } from './rules/open-hold.ts'

/** Makes a key for an account. Null if there is no such account. Throws Problem `too_many_keys`. */
export async function createApiKey(
  ledger: Pick<CommandedLedger, 'addApiKey'>,
  {
    keyTag,
    ...input
  }: Omit<AddApiKeyInput, 'keyHash' | 'displayPrefix'> & {
    /** The `<tag>` of `sk-<tag>-…`. */
    readonly keyTag: string
  },
  by: OperatorAction | null = null,
): Promise<{
  readonly apiKey: ApiKeyRow
  readonly text: string
} | null> {
  const { text, hash, displayPrefix } = makeApiKey(keyTag)
  const made = { ...input, keyHash: hash, displayPrefix }
  const apiKey = keyOf(await ledger.addApiKey(made, by), made)
  return apiKey === null ? null : { apiKey, text }
}

/** The key that was made. Throws Problem `too_many_keys` if it would be one too many. */
function keyOf(
  verdict: AddApiKeyVerdict,
  { keysMax }: Pick<AddApiKeyInput, 'keysMax'>,
): ApiKeyRow | null {
  if (typeof verdict !== 'string') return verdict
  const count = keysMax?.toLocaleString('en-US')
  const message =
    verdict === 'tooManyKeys'
      ? `This account has as many API keys as its members can have: ${count}. Delete keys that are no longer used, or ask the operator for more.`
      : `As many API keys were created in this account within 24 hours as its members can create: ${count}. Try again tomorrow, or ask the operator for more.`
  throw new Problem('too_many_keys', { message })
}

/**
 * Gives a key a new text, which only this answer has; the one before works until the grace has passed. Null if there
 * is no such key.
 */
export async function rotateApiKey(
  ledger: Pick<CommandedLedger, 'rotateApiKey'>,
  {
    apiKeyId,
    keyTag,
    graceMs,
  }: { readonly apiKeyId: string; readonly keyTag: string; readonly graceMs: number },
  by: OperatorAction | null,
): Promise<{ readonly apiKey: ApiKeyRow; readonly text: string } | null> {
  const { text, hash: keyHash, displayPrefix } = makeApiKey(keyTag)
  const apiKey = await ledger.rotateApiKey({ id: apiKeyId, keyHash, displayPrefix, graceMs }, by)
  return apiKey === null ? null : { apiKey, text }
}

/** Whether a key has a text: the Playground's key has none. */
export function hasText({ keyHash }: Pick<ApiKeyRow, 'keyHash'>): boolean {
  return !keyHash.startsWith('playground/')
}

/** The credit limit of an account's Playground key until someone changes it. */
const PLAYGROUND_LIMIT_MICROS = micros(5_000_000)

/** A Playground whose key is deleted again and again makes no more rows than this. */
const PLAYGROUND_KEYS_A_DAY = 20

/**
 * The key that requests of the page's Playground run on, which is made at its first use, and again after it
 * was deleted. The key has no text: the value in place of its hash is no SHA-256, so no text that a client sends can
 * match it. Its ID follows from the account and the number of earlier Playground keys, so two first uses make one key.
 * It is not one of the keys that members can have. Null if there is no such account. Throws Problem `too_many_keys` if it was deleted
 * again and again within 24 hours.
 */
export async function getPlaygroundKeyHash(
  accountId: string,
  {
    db,
    ledger,
    nowMs,
  }: {
    readonly db: Kysely<Tables>
    readonly ledger: Pick<CommandedLedger, 'addApiKey'>
    readonly nowMs: number
  },
): Promise<string | null> {
  const earlier = await db
    .selectFrom('api_keys')
    .select(['key_hash', 'deleted_at_ms', 'created_at_ms'])
    .where('account_id', '=', accountId)
    .where('key_hash', 'like', 'playground/%')
    .execute()
  const current = earlier.find((row) => row.deleted_at_ms === null)
  if (current !== undefined) return current.key_hash
  const made = earlier.filter(({ created_at_ms }) => created_at_ms > nowMs - DAY_MS)
  if (made.length >= PLAYGROUND_KEYS_A_DAY) {
    throw new Problem('too_many_keys', {
      message: `The Playground's key was deleted ${made.length} times within 24 hours. Try again tomorrow.`,
    })
  }
  const keyHash = `playground/${accountId}/${earlier.length}`
  const time = accountId.slice('acct_'.length).slice(0, 10)
  const apiKey = {
    id: `key_${time}${hash('sha256', keyHash, 'hex').slice(0, 16)}`,
    accountId,
    name: 'Playground',
    keyHash,
    displayPrefix: '',
    creditLimitMicros: PLAYGROUND_LIMIT_MICROS,
  }
  const added = keyOf(await ledger.addApiKey(apiKey, null), { keysMax: null })
  return added?.keyHash ?? null
}

/** The row of an account's Playground key; null: it has none yet. */
export async function getPlaygroundKey(
  db: Kysely<Tables>,
  accountId: string,
): Promise<Selectable<Tables['api_keys']> | null> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('key_hash', 'like', 'playground/%')
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

/** The limits and the spend of the key that the first request of the Playground creates. */
export const NEW_PLAYGROUND_KEY: KeySpending = {
  ...API_KEYS.start,
  creditLimitMicros: PLAYGROUND_LIMIT_MICROS,
}

/** Null if there is no such key, or it was deleted. */
export async function getApiKey(db: Kysely<Tables>, apiKeyId: string): Promise<ApiKeyRow | null> {
  return API_KEYS.readOne(
    db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', apiKeyId)
      .where('deleted_at_ms', 'is', null),
  )
}

/**
 * One page of an account's keys, or with null of all keys, newest first, without deleted ones; those that have a text
 * in name, prefix or id.
 */
export function listApiKeys(
  db: Kysely<Tables>,
  {
    accountId,
    search,
    ...page
  }: Page & { readonly accountId: string | null; readonly search?: string | undefined },
): Promise<ListPage<ApiKeyRow>> {
  let query = db.selectFrom('api_keys').selectAll().where('deleted_at_ms', 'is', null)
  if (accountId !== null) query = query.where('account_id', '=', accountId)
  if (search !== undefined) {
    query = query.where(containsText(search, sql`name || ' ' || display_prefix || ' ' || id`))
  }
  return readPage(query, { ...page, read: API_KEYS.read })
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_CHARS = 43
const KEY_PATTERN = /^[0-9A-Za-z]{40,64}$/

/**
 * Makes a key of a deployment's tag from the system's random source: its text, `sk-<tag>-` and 43 characters (256 bits),
 * which is shown once and stored nowhere, and what the store keeps: the hash, and the tag with the first three and last
 * four characters.
 */
export function makeApiKey(keyTag: string) {
  let random = ''
  for (let i = 0; i < RANDOM_CHARS; i++) random += ALPHABET.charAt(randomInt(ALPHABET.length))
  const text = `sk-${keyTag}-${random}`
  const displayPrefix = `sk-${keyTag}-${random.slice(0, 3)}…${random.slice(-4)}`
  return { text, hash: hashApiKey(text), displayPrefix }
}

/** SHA-256 of a key, lower-case hexadecimal. The key is random, so a fast hash keeps it safe. */
export function hashApiKey(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Whether a text has the shape of a key, so that it is worth looking up. */
export function isApiKeyShaped({
  text,
  keyTag,
}: Readonly<Record<'text' | 'keyTag', string>>): boolean {
  const prefix = `sk-${keyTag}-`
  return text.startsWith(prefix) && KEY_PATTERN.test(text.slice(prefix.length))
}

/**
 * When the latest request of each key opened its hold, by key id; a key without requests has none. For a key
 * all of whose requests were pruned from Activity, it is when the latest of them was settled.
 */
export async function getLastUses(
  db: Kysely<Tables>,
  apiKeyIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (apiKeyIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('api_keys')
    .select(({ selectFrom }) => [
      'api_keys.id',
      newestOpenedAt('api_keys').as('opened_at_ms'),
      selectFrom('pruned_requests')
        .select('pruned_requests.latest_settled_at_ms')
        .whereRef('pruned_requests.api_key_id', '=', 'api_keys.id')
        .as('pruned_at_ms'),
    ])
    .where('api_keys.id', 'in', apiKeyIds)
    .execute()
  return new Map(
    rows.flatMap(({ id, opened_at_ms: openedAtMs, pruned_at_ms: prunedAtMs }) => {
      const usedAtMs = openedAtMs ?? prunedAtMs
      return usedAtMs === null ? [] : [[id, usedAtMs]]
    }),
  )
}
/** The named keys by id, deleted ones too; those of one account, unless it is null. */
export async function getNamedKeys(
  db: Kysely<Tables>,
  {
    accountId,
    apiKeyIds,
  }: { readonly accountId: string | null; readonly apiKeyIds: readonly string[] },
): Promise<ReadonlyMap<string, ApiKeyRow>> {
  if (apiKeyIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('api_keys')
    .selectAll()
    .$if(accountId !== null, (query) => query.where('account_id', '=', accountId ?? ''))
    .where('id', 'in', apiKeyIds)
    .execute()
  return new Map(rows.map((row) => [row.id, API_KEYS.read(row)]))
}

const LIMITED_KEYS_MAX = 100

/** The keys of an account that have a limit or an expiry, newest first: the first hundred. */
export async function listLimitedKeys(
  db: Kysely<Tables>,
  accountId: string,
): Promise<readonly ApiKeyRow[]> {
  return API_KEYS.readAll(
    db
      .selectFrom('api_keys')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('deleted_at_ms', 'is', null)
      .where(({ eb, or }) =>
        or([
          eb('credit_limit_micros', 'is not', null),
          eb('allowance_micros', 'is not', null),
          eb('expires_at_ms', 'is not', null),
        ]),
      )
      .orderBy('id', 'desc')
      .limit(LIMITED_KEYS_MAX),
  )
}
