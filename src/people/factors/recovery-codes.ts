import { randomInt } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { RECOVERY_CODES } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'
import { makeTypedCode, plainTypedCode } from '../../vocabulary/typed-code.ts'
import { hashSecret } from '../link-text.ts'

const CODES = 10
// Four groups of four characters are 80 bits, so that a fast hash keeps them safe.
const SHAPE = { groups: 4, groupChars: 4, randomInt }

interface OfUser {
  readonly userId: string
  readonly nowMs: number
}

/**
 * Gives a user ten new recovery codes; earlier ones no longer work. Returns them: the only place that has their
 * texts.
 */
export async function replaceRecoveryCodes(
  trx: Transaction<Tables>,
  { userId, nowMs: createdAtMs }: OfUser,
): Promise<readonly string[]> {
  const codes = Array.from({ length: CODES }, () => makeTypedCode(SHAPE))
  const rows = codes.map((code) => {
    const codeHash = hashSecret(plainTypedCode(code))
    return RECOVERY_CODES.record({ ...RECOVERY_CODES.start, userId, codeHash, createdAtMs })
  })
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await trx.insertInto('recovery_codes').values(rows).execute()
  return codes
}

/** Uses up a recovery code. False: it is not the user's, or was used before. */
export async function takeRecoveryCode(
  db: Kysely<Tables>,
  { userId, code, nowMs }: OfUser & { readonly code: string },
): Promise<boolean> {
  const taken = await db
    .updateTable('recovery_codes')
    .set({ used_at_ms: nowMs })
    .where('user_id', '=', userId)
    .where('code_hash', '=', hashSecret(plainTypedCode(code)))
    .where('used_at_ms', 'is', null)
    .returning('code_hash')
    .executeTakeFirst()
  return taken !== undefined
}
