import { z } from 'zod'
import { getAccount } from '../ledger/accounts.ts'
import { findCredit, listEntries } from '../ledger/activity/activity.ts'
import type { AddCreditInput } from '../ledger/ledger.ts'
import { isCodeReference } from '../ledger/rules/add-credit.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { Problem } from '../vocabulary/problem.ts'
import { noAccount } from './accounts.ts'
import type { AdminParts } from './admin-parts.ts'
import { entryAnswer, entryShape } from './answers/entry.ts'
import { listAnswer, listShape } from './answers/list.ts'
import { type Answered, type Operation, operation } from './operation.ts'
import {
  changeField,
  entryCursor,
  entryPageQuery,
  momentField,
  positiveAmountField,
  text,
} from './request-fields.ts'

/** What accounts may spend, and how it came and went. */
export function creditAdmin(parts: AdminParts): readonly Operation[] {
  return [add(parts), entries(parts)]
}

const referenceField = text({ charsMax: 200 }).refine(
  (reference) => !isCodeReference(reference),
  'must not begin with `code_`, which the ids of credit codes do',
)

const creditBody = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('backed'),
      amount: changeField.describe('Micro-dollars; below zero takes backed credit back.'),
      reference: referenceField,
    }),
    z.strictObject({
      kind: z.literal('free'),
      amount: positiveAmountField,
      expires_at: momentField,
      reference: referenceField,
    }),
  ],
  'must be backed or free',
)

function add(parts: AdminParts): Operation {
  return operation({
    name: 'addCredit',
    method: 'POST',
    path: '/v1/admin/accounts/{account_id}/credit',
    summary:
      'Add credit, or take backed credit back, once a reference: a repeat answers 200 and the entry that is there.',
    body: creditBody,
    answers: { 200: entryShape, 201: entryShape },
    problems: ['not_found', 'reference_conflict'],
    async run({ param, body }) {
      const input: AddCreditInput = {
        accountId: param('account_id'),
        purse: body.kind,
        amountMicros: body.amount,
        expiresAtMs: body.kind === 'free' ? body.expires_at : null,
        reference: body.reference,
      }
      await refusePastExpiry(parts, input)
      return addCredit(parts, input)
    },
  })
}

/** A repeat is answered also when what it added has expired since. */
async function refusePastExpiry(
  { store, clock }: AdminParts,
  { expiresAtMs, ...place }: AddCreditInput,
): Promise<void> {
  if (expiresAtMs === null || expiresAtMs > clock.nowMs()) return
  if ((await findCredit(store.db, place)) !== null) return
  throw new Problem('invalid_parameter', {
    message: '`expires_at` must be in the future.',
    param: 'expires_at',
  })
}

async function addCredit(parts: AdminParts, input: AddCreditInput): Promise<Answered> {
  const verdict = await parts.books.addCredit(input)
  switch (verdict.kind) {
    case 'added':
      await parts.onCallersChanged()
      return { httpStatus: 201, body: entryAnswer(verdict.entry) }
    case 'exists':
      return { httpStatus: 200, body: entryAnswer(verdict.entry) }
    case 'conflict':
      throw new Problem('reference_conflict', { param: 'reference' })
    case 'unknownAccount':
      throw noAccount()
    default:
      return assertNever(verdict)
  }
}

function entries({ store }: AdminParts): Operation {
  return operation({
    name: 'listEntries',
    method: 'GET',
    path: '/v1/admin/accounts/{account_id}/entries',
    summary: "Every line of the account's books, newest first.",
    query: entryPageQuery('entries'),
    answers: { 200: listShape(entryShape) },
    problems: ['not_found'],
    async run({ param, query: { limit, cursor } }) {
      const accountId = param('account_id')
      if ((await getAccount(store.db, accountId)) === null) throw noAccount()
      const page = await listEntries(store.reports, { accountId, before: cursor ?? null, limit })
      const next = entryCursor('entries', page.nextBefore)
      return { httpStatus: 200, body: listAnswer(page.entries.map(entryAnswer), next) }
    },
  })
}
