import type { Kysely } from 'kysely'
import { CREDIT_CODES, type CreditCodeRow, type Tables } from '../store/schema.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { Page } from './activity/activity.ts'
import { makeCreditCode } from './credit-code-text.ts'

export interface CreateCreditCodeInput {
  /** An id of the prefix `code`. */
  readonly id: string
  /** Above zero. */
  readonly amountMicros: Micros
  /** Null: never. */
  readonly expiresAtMs: number | null
  readonly nowMs: number
}

/** The code's text is in this answer and nowhere else, ever. */
export interface CreatedCreditCode {
  readonly creditCode: CreditCodeRow
  readonly text: string
}

/** Makes a code that is worth backed credit. */
export async function createCreditCode(
  db: Kysely<Tables>,
  { id, amountMicros, expiresAtMs, nowMs }: CreateCreditCodeInput,
): Promise<CreatedCreditCode> {
  const made = makeCreditCode()
  const creditCode: CreditCodeRow = {
    ...CREDIT_CODES.start,
    id,
    codeHash: made.hash,
    displaySuffix: made.displaySuffix,
    amountMicros,
    createdAtMs: nowMs,
    expiresAtMs,
  }
  await db.insertInto('credit_codes').values(CREDIT_CODES.record(creditCode)).execute()
  return { creditCode, text: made.text }
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

export interface RevokeCreditCodeInput {
  readonly id: string
  readonly nowMs: number
}

/**
 * Makes a code worth nothing, unless it was redeemed or revoked before; answers the code as it is
 * then. Null where there is no such code.
 */
export async function revokeCreditCode(
  db: Kysely<Tables>,
  { id, nowMs }: RevokeCreditCodeInput,
): Promise<CreditCodeRow | null> {
  await db
    .updateTable('credit_codes')
    .set({ revoked_at_ms: nowMs })
    .where('id', '=', id)
    .where('redeemed_at_ms', 'is', null)
    .where('revoked_at_ms', 'is', null)
    .execute()
  return getCreditCode(db, id)
}
