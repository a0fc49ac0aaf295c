import type { Kysely } from 'kysely'
import { CREDIT_CODES, type CreditCodeRow, type Tables } from '../store/schema.ts'
import type { Page } from './activity/activity.ts'
import { makeCreditCode } from './credit-code-text.ts'
import type { AddCreditCodeInput, Ledger } from './ledger.ts'

/** A code without its text, which is made with it. */
type CreateCreditCodeInput = Omit<AddCreditCodeInput, 'codeHash' | 'displaySuffix'>

/** The code's text is in this answer and nowhere else, ever. */
interface CreatedCreditCode {
  readonly creditCode: CreditCodeRow
  readonly text: string
}

/** Makes a code that is worth backed credit. */
export async function createCreditCode(
  ledger: Pick<Ledger, 'addCreditCode'>,
  input: CreateCreditCodeInput,
): Promise<CreatedCreditCode> {
  const { text, hash, displaySuffix } = makeCreditCode()
  const creditCode = await ledger.addCreditCode({ ...input, codeHash: hash, displaySuffix })
  return { creditCode, text }
}

/** Null where there is no such code. */
export async function getCreditCode(
  db: Kysely<Tables>,
  creditCodeId: string,
): Promise<CreditCodeRow | null> {
  const query = db.selectFrom('credit_codes').selectAll().where('id', '=', creditCodeId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : CREDIT_CODES.read(row)
}

/** One page of codes, newest first; the cursor of the next is null where there is none. */
export async function listCreditCodes(
  db: Kysely<Tables>,
  { cursor, limit }: Page,
): Promise<{
  readonly creditCodes: readonly CreditCodeRow[]
  readonly nextCursor: string | null
}> {
  let query = db.selectFrom('credit_codes').selectAll()
  if (cursor !== undefined && cursor !== null) query = query.where('id', '<', cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const creditCodes = rows.slice(0, limit).map((row) => CREDIT_CODES.read(row))
  return { creditCodes, nextCursor: rows.length > limit ? (creditCodes.at(-1)?.id ?? null) : null }
}
