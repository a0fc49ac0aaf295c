import type { Kysely } from 'kysely'
import { API_KEYS, type ApiKeyRow, type Tables } from '../store/schema.ts'
import { makeApiKey } from './api-key-text.ts'
import type { AddApiKeyInput, Ledger } from './ledger.ts'

interface CreateApiKeyInput extends Omit<AddApiKeyInput, 'keyHash' | 'displayPrefix'> {
  /** The `<tag>` of `sk-<tag>-…`. */
  readonly keyTag: string
}

/** The key's text is in this answer and nowhere else, ever. */
interface CreatedApiKey {
  readonly apiKey: ApiKeyRow
  readonly text: string
}

/** Makes a key for an account. Null where there is no such account. */
export async function createApiKey(
  ledger: Pick<Ledger, 'addApiKey'>,
  { keyTag, ...input }: CreateApiKeyInput,
): Promise<CreatedApiKey | null> {
  const { text, hash, displayPrefix } = makeApiKey(keyTag)
  const apiKey = await ledger.addApiKey({ ...input, keyHash: hash, displayPrefix })
  return apiKey === null ? null : { apiKey, text }
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

interface ListApiKeysInput {
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
