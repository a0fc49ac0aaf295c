import { createHash, randomInt } from 'node:crypto'
import type { Kysely } from 'kysely'
import { type ListPage, type Page, readPage } from '../store/list-page.ts'
import { CREDIT_CODES, type CreditCodeRow, type Tables } from '../store/schema.ts'
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
  return CREDIT_CODES.readOne(query)
}

/** One page of codes, newest first. */
export function listCreditCodes(db: Kysely<Tables>, page: Page): Promise<ListPage<CreditCodeRow>> {
  const query = db.selectFrom('credit_codes').selectAll()
  return readPage(query, { ...page, read: CREDIT_CODES.read })
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
