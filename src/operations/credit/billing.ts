import { z } from 'zod'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import { text } from '../fields.ts'
import { foundAccount, notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'

/** The buyer on receipts, for owners of the account. */
export function billingOperations(parts: OperationParts) {
  return [showBilling(parts), changeBilling(parts)]
}

const BILLING_PATH = { member: '/app/api/accounts/{account_id}/billing' } as const

function showBilling({ store }: OperationParts) {
  return operation({
    name: 'getBilling',
    method: 'GET',
    needsOwner: true,
    paths: BILLING_PATH,
    summary: 'The billing details of the account: the buyer on receipts of purchases from now on.',
    answers: { 200: ownBillingShape },
    async run({ reader, caller, accountId }) {
      const account = await foundAccount(readsFor({ caller, reader }, store), accountId)
      return { object: 'billing', billing: billingAnswer(account.billingJson) }
    },
  })
}

function changeBilling({ ledger }: OperationParts) {
  return operation({
    name: 'changeBilling',
    method: 'POST',
    needsOwner: true,
    paths: BILLING_PATH,
    summary:
      'Change the buyer on receipts of purchases from now on. Earlier receipts stay as they are.',
    body: z.strictObject({ billing: neededBilling.describe(BILLING_WORDS) }),
    example: { billing: { name: 'Helix Lab GmbH', tax_id: 'DE811907301' } },
    isHarmless: true,
    answers: { 200: ownBillingShape },
    async run({ accountId, by, body: { billing: billingJson } }) {
      const account = await ledger.updateAccount({ id: accountId, billingJson }, by)
      if (account === null || account === 'externalIdTaken') throw notFound('account', accountId)
      return { object: 'billing', billing: billingAnswer(account.billingJson) }
    },
  })
}

const line = (charsMax: number) => text({ charsMax }).nullable().default(null)

const BILLING_WORDS =
  'The buyer on receipts of purchases from then on. It replaces all earlier billing details. Null: the name and the email address of the account.'

const neededBilling = z
  .strictObject({
    name: line(TEXT_CHARS_MAX.name).describe('The name of the buyer; null: none.'),
    address: line(TEXT_CHARS_MAX.buyerAddress).describe(
      'The address on one line, such as `Kai 3, 20457 Hamburg, Germany`; null: none.',
    ),
    tax_id: line(TEXT_CHARS_MAX.taxId).describe('The tax ID of the buyer; null: none.'),
  })
  .nullable()
  .transform((billing) => {
    const isEmpty = billing === null || Object.values(billing).every((value) => value === null)
    return isEmpty ? null : JSON.stringify(billing)
  })

/** The name, address and tax ID that the receipts of an account are for, as the text that is stored; null: none. */
export const billingField = neededBilling.optional().describe(BILLING_WORDS)

/** Billing details as responses have them. */
export const billingShape = z
  .object({
    name: z.string().nullable().describe('The name; null: none.'),
    address: z.string().nullable().describe('The address, on one line; null: none.'),
    tax_id: z.string().nullable().describe('The tax ID; null: none.'),
  })
  .nullable()
  .describe('The buyer on receipts. Null: the name and the email address of the account.')

/** Billing details of an account as responses have them. */
export function billingAnswer(stored: string | null): z.infer<typeof billingShape> {
  return stored === null ? null : billingShape.parse(JSON.parse(stored))
}

/** The billing details that an owner reads. */
const ownBillingShape = z
  .object({ object: z.literal('billing'), billing: billingShape })
  .meta({ id: 'Billing' })
