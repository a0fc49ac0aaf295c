import { createHmac, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'

/** Turns an account id into the tag that the provider sees in its place. */
type AccountTagger = (accountId: string) => string

const SECRET_BYTES = 32
const TAGS_MAX = 10_000

/**
 * Opens the store's account tags: stable as long as the store lives, and not reversible without its
 * secret, which is made the first time. Throws `StoreUnavailable`.
 */
export async function openAccountTagger(db: Kysely<Tables>): Promise<AccountTagger> {
  const secret = await settingOnce(db, {
    name: 'account_tag_secret',
    value: randomBytes(SECRET_BYTES).toString('hex'),
  })
  return createAccountTagger(Buffer.from(secret, 'hex'))
}

/** Tags under a secret: HMAC-SHA-256 of the account id, 43 characters of base64url. */
export function createAccountTagger(secret: Uint8Array): AccountTagger {
  const tags = new Map<string, string>()
  return (accountId) => {
    const known = tags.get(accountId)
    if (known !== undefined) return known
    const tag = createHmac('sha256', secret).update(accountId).digest('base64url')
    if (tags.size >= TAGS_MAX) tags.clear()
    tags.set(accountId, tag)
    return tag
  }
}
