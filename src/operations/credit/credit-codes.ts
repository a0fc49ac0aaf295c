import { z } from 'zod'
import { Gate, type GateSettings } from '../../journey/gate/gate.ts'
import {
  createCreditCode,
  getCreditCode,
  hashCreditCode,
  listCreditCodes,
} from '../../ledger/credit-codes.ts'
import type { CreditCodeRow } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import {
  futureField,
  idCursor,
  idField,
  listAnswer,
  listShape,
  moneyField,
  pageQuery,
  positiveAmountField,
  text,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths, staffPaths } from '../paths.ts'
import { beyondText, entryAnswer, entryShape } from './credit.ts'

const ONE_CODE = staffPaths('codes/{code_id}')

/** Credit codes: each can be redeemed once, for paid credit. */
export function creditCodeOperations(parts: OperationParts) {
  return [create(parts), list(parts), show(parts), revoke(parts), redeem(parts)]
}

function create({ ledger, ids, clock }: OperationParts) {
  return operation({
    name: 'createCode',
    method: 'POST',
    scope: 'credit',
    paths: staffPaths('codes'),
    summary: 'Create a credit code. Its text is returned only in this answer.',
    body: z.strictObject({
      amount: positiveAmountField,
      expires_at: futureField(clock)
        .nullish()
        .describe('When the code expires. Absent or null: never.'),
    }),
    example: { amount: 5_000_000 },
    answers: { 201: createdCreditCodeShape },
    async run({ by, body: { amount, expires_at } }) {
      const made = {
        id: ids.next('code'),
        amountMicros: amount,
        expiresAtMs: expires_at ?? null,
      }
      const { creditCode, text } = await createCreditCode(ledger, made, by)
      return { ...creditCodeAnswer(creditCode), code: text }
    },
  })
}

function list({ store }: OperationParts) {
  return operation({
    name: 'listCodes',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('codes'),
    summary: 'Credit codes, newest first.',
    query: pageQuery('codes', {}),
    answers: { 200: listShape(creditCodeShape) },
    async run({ reader, query: { limit, cursor } }) {
      const page = await listCreditCodes(store.pages(reader), { limit, cursor })
      return listAnswer(page.rows.map(creditCodeAnswer), idCursor('codes', page.nextCursor))
    },
  })
}

function show({ store }: OperationParts) {
  return operation({
    name: 'getCode',
    method: 'GET',
    scope: 'read',
    paths: ONE_CODE,
    summary: 'One credit code, with the account that redeemed it.',
    answers: { 200: creditCodeShape },
    problems: ['not_found'],
    async run({ param }) {
      const codeId = param('code_id')
      const creditCode = await getCreditCode(store.db, codeId)
      if (creditCode === null) throw notFound('credit code', codeId)
      return creditCodeAnswer(creditCode)
    },
  })
}

function revoke({ ledger }: OperationParts) {
  return operation({
    name: 'revokeCode',
    method: 'DELETE',
    scope: 'credit',
    paths: ONE_CODE,
    summary: 'Revoke a credit code that has not been redeemed.',
    isHarmless: true,
    answers: { 200: creditCodeShape },
    problems: ['not_found', 'credit_code_redeemed'],
    async run({ by, param }) {
      const codeId = param('code_id')
      const creditCode = await ledger.revokeCreditCode(codeId, by)
      if (creditCode === null) throw notFound('credit code', codeId)
      if (creditCode.redeemedBy !== null) {
        throw new Problem('credit_code_redeemed', {
          message: `Account ${creditCode.redeemedBy} has redeemed this credit code. Remove the credit from that account instead.`,
        })
      }
      return creditCodeAnswer(creditCode)
    },
  })
}

/** Limits the tries of a user of the page, so that codes can't be guessed. */
const TRIES: GateSettings = {
  counts: 'user',
  inFlightMax: 5,
  requestsPerMinuteMax: 5,
}

function redeem({ ledger, clock, onCallersChanged }: OperationParts) {
  // Lists of operations are also made without a process, only to read their descriptions.
  let tries: Gate | null = null
  return operation({
    name: 'redeemCode',
    method: 'POST',
    scope: 'credit',
    paths: accountPaths('/redeem'),
    needsOwner: true,
    summary:
      'Redeem a credit code for an account. A code can be redeemed once: a repeat by the same account answers 200 and the existing entry.',
    body: z.strictObject({ code: text({ charsMax: TEXT_CHARS_MAX.creditCode }) }),
    example: { code: 'XXXXXX-XXXXXX-XXXXXX-XXXXXX' },
    answers: { 200: entryShape, 201: entryShape },
    problems: ['not_found', 'unknown_credit_code', 'credit_code_redeemed', 'credit_code_expired'],
    async run({ caller, accountId, by, body: { code } }) {
      tries ??= new Gate({ clock, settings: TRIES })
      if (caller.kind === 'member') countTry(tries, caller)
      const input = { accountId, codeHash: hashCreditCode(code) }
      const verdict = await ledger.redeemCode(input, by)
      switch (verdict.kind) {
        case 'redeemed':
          await onCallersChanged({ accountId })
          return { httpStatus: 201, body: entryAnswer(verdict.entry) }
        case 'exists':
          return { httpStatus: 200, body: entryAnswer(verdict.entry) }
        case 'used':
          throw new Problem('credit_code_redeemed', { param: 'code' })
        case 'expired':
          throw new Problem('credit_code_expired', {
            message: 'This credit code has expired. Ask for another one.',
            param: 'code',
          })
        case 'revoked':
          throw new Problem('credit_code_expired', {
            message: 'This credit code was revoked. Ask for another one.',
            param: 'code',
          })
        case 'beyondBalance':
          throw invalidParameter('code', beyondText('The credit of `code`', verdict))
        case 'unknownCode':
          throw new Problem('unknown_credit_code', { param: 'code' })
        case 'unknownAccount':
          throw notFound('account', input.accountId)
        default:
          return assertNever(verdict)
      }
    },
  })
}

/** Throws Problem `rate_limited`. */
function countTry(tries: Gate, { userId }: { readonly userId: string }): void {
  tries.enter({ apiKeyId: userId, accountId: userId, hasBackedCredit: true }).leave()
}

/** A credit code, never with its text. */
export const creditCodeShape = z
  .object({
    id: idField('code'),
    object: z.literal('credit_code'),
    suffix: z.string().describe('The last characters of the code.'),
    amount: moneyField.describe('The paid credit of the code, in micro-dollars.'),
    expires_at: timeField.nullable().describe('When the code expires; null: never.'),
    revoked_at: timeField.nullable(),
    redeemed_at: timeField.nullable(),
    redeemed_by: idField('acct')
      .nullable()
      .describe('The account that redeemed it; null: none has.'),
    created_at: timeField,
  })
  .meta({ id: 'CreditCode' })

/** A code that has just been made: the only answer with its text. */
export const createdCreditCodeShape = creditCodeShape
  .extend({
    code: z.string().describe('The text of the code. It is not returned again.'),
  })
  .meta({ id: 'CreatedCreditCode' })

/** A credit code as responses have it. */
function creditCodeAnswer(row: CreditCodeRow): z.infer<typeof creditCodeShape> {
  return {
    id: row.id,
    object: 'credit_code',
    suffix: row.displaySuffix,
    amount: row.amountMicros,
    expires_at: timeOrNull(row.expiresAtMs),
    revoked_at: timeOrNull(row.revokedAtMs),
    redeemed_at: timeOrNull(row.redeemedAtMs),
    redeemed_by: row.redeemedBy,
    created_at: timeAnswer(row.createdAtMs),
  }
}
