/** The billing details of an account. */
interface Billing {
  readonly name: string | null
  /** On one line. */
  readonly address: string | null
  readonly tax_id: string | null
}

/** The buyer on a receipt. */
export interface ReceiptBuyer extends Billing {
  readonly name: string
  readonly email: string | null
}

/** The buyer of an account: its billing details; without them, its name. `billingJson`: null: it has none. */
export function receiptBuyerOf({
  name,
  email,
  billingJson,
}: {
  readonly name: string
  readonly email: string | null
  readonly billingJson: string | null
}): ReceiptBuyer {
  // Written by the operations that change billing details.
  const billing: Billing | null = billingJson === null ? null : JSON.parse(billingJson)
  return {
    name: billing?.name ?? name,
    address: billing?.address ?? null,
    tax_id: billing?.tax_id ?? null,
    email,
  }
}
