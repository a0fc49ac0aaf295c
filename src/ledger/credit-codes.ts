import { createHash, randomInt } from 'node:crypto'
import type { Kysely } from 'kysely'
import { CREDIT_CODES, type CreditCodeRow, type Tables } from '../store/schema.ts'
import type { Page } from '../vocabulary/page.ts'
import { makeTypedCode, plainTypedCode } from '../vocabulary/typed-code.ts'
import type { CommandedLedger } from './commands.ts'
import type { AddCreditCodeInput } from './ledger.ts'
import type { OperatorAction } from './operator-actions.ts'

/** A code without its text. */
type CreateCreditCodeInput = Omit<AddCreditCodeInput, 'codeHash' | 'displaySuffix'>

/** Makes a code that is worth paid credit. Only this result ever has its text. */
export async function createCreditCode(
  ledger: Pick<CommandedLedger, 'addCreditCode'>,
  input: CreateCreditCodeInput,
  by: OperatorAction | null = null,
): Promise<{ readonly creditCode: CreditCodeRow; readonly text: string }> {
  const { text, hash, displaySuffix } = makeCreditCode()
  const creditCode = await ledger.addCreditCode({ ...input, codeHash: hash, displaySuffix }, by)
  return { creditCode, text }
}

/** Null if there is no such code. */
export async function getCreditCode(
  db: Kysely<Tables>,
  creditCodeId: string,
): Promise<CreditCodeRow | null> {
  const query = db.selectFrom('credit_codes').selectAll().where('id', '=', creditCodeId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : CREDIT_CODES.read(row)
}

/** One page of codes, newest first; the cursor of the next is null if there is none. */
export async function listCreditCodes(
  db: Kysely<Tables>,
  { cursor, limit }: Page,
): Promise<{
  readonly creditCodes: readonly CreditCodeRow[]
  readonly nextCursor: string | null
}> {
  let query = db.selectFrom('credit_codes').selectAll()
  if (cursor != null) query = query.where('id', '<', cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const creditCodes = rows.slice(0, limit).map((row) => CREDIT_CODES.read(row))
  return { creditCodes, nextCursor: rows.length > limit ? (creditCodes.at(-1)?.id ?? null) : null }
}

const GROUPS = 4
const GROUP_CHARS = 6

/**
 * Makes a code from the system's random source: its text, four groups of six characters (120 bits), which is shown once
 * and stored nowhere, and the hash and the last group, which the store keeps.
 */
export function makeCreditCode() {
  const text = makeTypedCode({ groups: GROUPS, groupChars: GROUP_CHARS, randomInt })
  return { text, hash: hashCreditCode(text), displaySuffix: text.slice(-GROUP_CHARS) }
}

/** SHA-256 of a code as typed, lower-case hexadecimal: see `plainTypedCode`. */
export function hashCreditCode(typed: string): string {
  return createHash('sha256').update(plainTypedCode(typed)).digest('hex')
}
