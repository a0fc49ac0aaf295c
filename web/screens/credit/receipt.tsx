import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { reversalName } from '../../../src/vocabulary/entry-words.ts'
import { type Receipt as ReceiptAnswer, receiptQuery } from '../../api/sale.ts'
import { money } from '../../format/money.ts'
import { dayAndMinute } from '../../format/time.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { ContactLink } from '../../parts/service-name.tsx'
import { Failed, GreyForm } from '../../parts/states.tsx'
import { useAccountId, useNameOf } from '../../shell/use-account.ts'
import { methodName, paidText } from './purchase-words.ts'
import { ReversalChip } from './reversal-chip.tsx'

interface ReceiptProps {
  readonly purchaseId: string
  readonly onClose: () => void
}

/** The receipt of a purchase, with its seller and its buyer, for printing. */
export function Receipt({ purchaseId, onClose }: ReceiptProps) {
  const query = useQuery(receiptQuery(useAccountId(), purchaseId))
  return (
    <Dialog title={titleOf(query.data)} onClose={onClose}>
      {query.data !== undefined ? (
        <Lines receipt={query.data} />
      ) : query.isError ? (
        <Failed what="The receipt could not be loaded." query={query} />
      ) : (
        <GreyForm />
      )}
      <p className="note no-print">
        <LaterBuyer />
        To correct this receipt, <ContactLink>ask the operator</ContactLink>.
      </p>
      <footer className="no-print">
        <button type="button" className="btn ghost" onClick={onClose}>
          Close
        </button>
        <button
          type="button"
          className="btn pri"
          disabled={query.data === undefined}
          onClick={() => window.print()}
        >
          Print
        </button>
      </footer>
    </Dialog>
  )
}

/** Where an owner changes the buyer on later receipts; nothing for members. */
function LaterBuyer() {
  const account = useAccountId()
  if (useNameOf(account).role === 'member') return null
  return (
    <>
      Later receipts have the buyer of the{' '}
      <Link
        className="link"
        to="/$account/credit"
        params={{ account }}
        search={{ open: 'billing' }}
      >
        billing details
      </Link>
      .{' '}
    </>
  )
}

/** The document is called an invoice only if the seller has a name and a tax ID. */
function titleOf(receipt: ReceiptAnswer | undefined): string {
  const { name = null, tax_id: taxId = null } = receipt?.seller ?? {}
  return name === null || taxId === null ? 'Receipt' : 'Invoice'
}

type Line = readonly [name: string, value: ReactNode]

function Lines({ receipt }: { readonly receipt: ReceiptAnswer }) {
  const { purchase, seller, buyer, fee, tax, reference } = receipt
  const { credit, reversed, reversal, paid, created_at: createdAt } = purchase
  const isReversed = receipt.reversals.length > 0
  const lines: readonly Line[] = [
    ...line('Number', receipt.number),
    ...(reversal === null
      ? []
      : [['State', <ReversalChip key="state" reversal={reversal} />] as const]),
    ['Date', dayAndMinute(new Date(purchase.credited_at ?? createdAt))],
    ...line('Seller', seller.name),
    ...line('Tax ID of the seller', seller.tax_id),
    ['Buyer', buyer.name],
    ...line('Address', buyer.address),
    ...line('Tax ID of the buyer', buyer.tax_id),
    ...line('Email', buyer.email),
    ['Method', methodName(purchase)],
    [
      'Reference',
      <span className="mono" key="reference">
        {reference ?? purchase.id}
      </span>,
    ],
    ...(isReversed ? [] : [['Paid credit', money(credit)] as const]),
    ...(fee === null ? [] : [['Fee', money(fee)] as const]),
    ...(tax === null || tax.units === '0' ? [] : [['Tax', paidText(tax)] as const]),
    ...(paid !== null && isReversed ? [['Paid', paidText(paid)] as const] : []),
    ...reversalLines(receipt),
  ]
  const [totalName, total] =
    paid === null || isReversed ? ['Credit', money(credit - reversed)] : ['Paid', paidText(paid)]
  return (
    <dl className="kv">
      {lines.map(([name, value], place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two refunds have the same name
        <NamedValue key={place} name={name} value={value} />
      ))}
      <dt className="tot">{totalName}</dt>
      <dd className="tot">{total}</dd>
    </dl>
  )
}

/** Each refund and dispute with its date, and what remains of the payment and of the credit; none where there was none. */
function reversalLines({ purchase, reversals }: ReceiptAnswer): readonly Line[] {
  const { credit, reversed, paid } = purchase
  if (reversals.length === 0 || paid === null) return []
  const remaining = reversals.reduce(
    (units, change) => units + BigInt(change.paid.units),
    BigInt(paid.units),
  )
  return [
    ...reversals.map(
      (change): Line => [reversalName(change), <Change key={change.created_at} change={change} />],
    ),
    ['Remaining payment', paidText({ ...paid, units: String(remaining) })],
    ['Credit bought', money(credit)],
    ['Credit removed', money(-reversed)],
  ]
}

function Change({ change }: { readonly change: ReceiptAnswer['reversals'][number] }) {
  const { amount, paid, created_at: createdAt } = change
  // A line is not broken between the sign and its amount.
  const sign = amount > 0 ? '+\u2060' : ''
  return (
    <>
      <span>{sign + paidText(paid)}</span>
      <span className="two">{dayAndMinute(new Date(createdAt))}</span>
    </>
  )
}

/** A line with a value; none without. By position: its name and its value. */
function line(name: string, value: ReactNode): readonly Line[] {
  return value === null ? [] : [[name, value]]
}

function NamedValue({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}
