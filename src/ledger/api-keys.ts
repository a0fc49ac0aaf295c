import type { Kysely } from 'kysely'
import { API_KEYS, type ApiKeyRow, type Tables } from '../store/schema.ts'
import type { Micros } from '../vocabulary/money.ts'
import { makeApiKey } from './api-key-text.ts'

export interface CreateApiKeyInput {
  /** An id of the prefix `key`. */
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The `<tag>` of `sk-<tag>-…`. */
  readonly keyTag: string
  /** Default null: no limit. */
  readonly creditLimitMicros?: Micros | null
  /** Default null: never. */
  readonly expiresAtMs?: number | null
  readonly nowMs: number
}

/** The key's text is in this answer and nowhere else, ever. */
export interface CreatedApiKey {
  readonly apiKey: ApiKeyRow
  readonly text: string
}

/** Makes a key for an account. Null where there is no such account. */
export async function createApiKey(
  db: Kysely<Tables>,
  input: CreateApiKeyInput,
): Promise<CreatedApiKey | null> {
  const made = makeApiKey(input.keyTag)
  return db.transaction().execute(async (trx) => {
    const account = await trx
      .selectFrom('accounts')
      .select('id')
      .where('id', '=', input.accountId)
      .executeTakeFirst()
    if (account === undefined) return null
    const apiKey: ApiKeyRow = {
      ...API_KEYS.start,
      id: input.id,
      accountId: input.accountId,
      name: input.name,
      keyHash: made.hash,
      displayPrefix: made.displayPrefix,
      expiresAtMs: input.expiresAtMs ?? null,
      creditLimitMicros: input.creditLimitMicros ?? null,
      createdAtMs: input.nowMs,
    }
    await trx.insertInto('api_keys').values(API_KEYS.record(apiKey)).execute()
    return { apiKey, text: made.text }
  })
}

/** Null where there is no such key, or it was deleted. */
export async function getApiKey(db: Kysely<Tables>, apiKeyId: string): Promise<ApiKeyRow | null> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', apiKeyId)
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst()
  return row === undefined ? null : API_KEYS.read(row)
}

export interface ListApiKeysInput {
  readonly accountId: string
  /** The last id of the page before; null or absent: the first page. */
  readonly cursor?: string | null
  readonly limit: number
}

/** One page of an account's keys, newest first, without deleted ones. */
export async function listApiKeys(
  db: Kysely<Tables>,
  { accountId, cursor, limit }: ListApiKeysInput,
): Promise<{ readonly apiKeys: readonly ApiKeyRow[]; readonly nextCursor: string | null }> {
  let query = db
    .selectFrom('api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('deleted_at_ms', 'is', null)
  if (cursor !== undefined && cursor !== null) query = query.where('id', '<', cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const apiKeys = rows.slice(0, limit).map((row) => API_KEYS.read(row))
  return { apiKeys, nextCursor: rows.length > limit ? (apiKeys.at(-1)?.id ?? null) : null }
}

export interface UpdateApiKeyInput {
  readonly id: string
  readonly name?: string
  readonly disabled?: boolean
  /** Null: no limit. */
  readonly creditLimitMicros?: Micros | null
  /** Null: never. */
  readonly expiresAtMs?: number | null
}

/** Changes what is given and nothing else. Null where there is no such key, or it was deleted. */
export async function updateApiKey(
  db: Kysely<Tables>,
  input: UpdateApiKeyInput,
): Promise<ApiKeyRow | null> {
  const { name, disabled, creditLimitMicros, expiresAtMs } = input
  const change = {
    ...(name === undefined ? {} : { name }),
    ...(disabled === undefined ? {} : { disabled: disabled ? 1 : 0 }),
    ...(creditLimitMicros === undefined ? {} : { credit_limit_micros: creditLimitMicros }),
    ...(expiresAtMs === undefined ? {} : { expires_at_ms: expiresAtMs }),
  }
  if (Object.keys(change).length === 0) return getApiKey(db, input.id)
  const row = await db
    .updateTable('api_keys')
    .set(change)
    .where('id', '=', input.id)
    .where('deleted_at_ms', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : API_KEYS.read(row)
}

export interface DeleteApiKeyInput {
  readonly id: string
  readonly nowMs: number
}

/**
 * Deletes a key: it authenticates nobody and is listed nowhere; its requests stay. False where there
 * is no such key, or it was deleted before.
 */
export async function deleteApiKey(db: Kysely<Tables>, input: DeleteApiKeyInput): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ deleted_at_ms: input.nowMs })
    .where('id', '=', input.id)
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
