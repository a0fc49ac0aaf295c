import { z } from 'zod'
import { text } from '../fields.ts'

const NAME_CHARS_MAX = 200
const ADDRESS_CHARS_MAX = 500
const TAX_ID_CHARS_MAX = 50

const line = (charsMax: number) => text({ charsMax }).nullable().default(null)

/** The name, address and tax ID that the receipts of an account are for, as the text that is stored; null: none. */
export const billingField = z
  .strictObject({
    name: line(NAME_CHARS_MAX).describe('The name of the buyer; null: none.'),
    address: line(ADDRESS_CHARS_MAX).describe(
      'The address on one line, such as `Kai 3, 20457 Hamburg, Germany`; null: none.',
    ),
    tax_id: line(TAX_ID_CHARS_MAX).describe('The tax ID of the buyer; null: none.'),
  })
  .nullable()
  .transform((billing) => {
    const isEmpty = billing === null || Object.values(billing).every((value) => value === null)
    return isEmpty ? null : JSON.stringify(billing)
  })
  .optional()
  .describe(
    'The buyer on receipts. It replaces all earlier billing details. Null: the name and the email address of the account.',
  )

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
