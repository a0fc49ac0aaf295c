import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { reversalName } from '../../../src/vocabulary/entry-words.ts'
import { type Receipt as ReceiptAnswer, receiptQuery } from '../../api/sale.ts'
import { money } from '../../format/money.ts'
import { dayAndMinute } from '../../format/time.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Line } from '../../parts/drawer-part.tsx'
import { ContactLink } from '../../parts/service-name.tsx'
import { Failed, GreyForm } from '../../parts/states.tsx'
import { useIsTab } from '../../shell/account-screen.tsx'
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
  const title = titleOf(query.data)
  return (
    <Dialog title={title} onClose={onClose}>
      {query.data !== undefined ? (
        <Lines receipt={query.data} />
      ) : query.isError ? (
        <Failed what="The receipt could not be loaded." query={query} />
      ) : (
        <GreyForm />
      )}
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
      {/* Below the buttons, so that the first of them is focused, not a link in the small print. */}
      <p className="note no-print">
        <Corrections title={title} />
      </p>
    </Dialog>
  )
}

/** Where an owner or an operator changes the buyer on later receipts, and who corrects this one. */
function Corrections({ title }: { readonly title: string }) {
  const account = useAccountId()
  const { role } = useNameOf(account)
  const isTab = useIsTab()
  const noun = title.toLowerCase()
  return (
    <>
      {(isTab || role !== 'member') && (
        <>
          Later {noun}s have the buyer of the <BillingLink isTab={isTab} account={account} />.
        </>
      )}{' '}
      {!isTab && (
        <>
          To correct this {noun}, <ContactLink>ask the operator</ContactLink>.
        </>
      )}
    </>
  )
}

function BillingLink({ isTab, account }: { readonly isTab: boolean; readonly account: string }) {
  const shared = { className: 'link', params: { account }, children: 'billing details' }
  return isTab ? (
    <Link {...shared} to="/operator/accounts/$account/settings" />
  ) : (
    <Link {...shared} to="/$account/credit" search={{ open: 'billing' }} />
  )
}

/** The document is called an invoice only if the seller has a name and a tax ID. */
function titleOf(receipt: ReceiptAnswer | undefined): string {
  const { name = null, tax_id: taxId = null } = receipt?.seller ?? {}
  return name === null || taxId === null ? 'Receipt' : 'Invoice'
}

type NamedLine = readonly [name: string, value: ReactNode]

function Lines({ receipt }: { readonly receipt: ReceiptAnswer }) {
  const { purchase, seller, buyer, fee, tax, reference } = receipt
  const { credit, reversed, reversal, paid, created_at: createdAt } = purchase
  const isReversed = receipt.reversals.length > 0
  const lines: readonly NamedLine[] = [
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
        <Line key={place} term={name}>
          {value}
        </Line>
      ))}
      <Line term={totalName} className="tot">
        {total}
      </Line>
    </dl>
  )
}

/** Each refund and dispute with its date, and what remains of the payment and of the credit; none where there was none. */
function reversalLines({ purchase, reversals }: ReceiptAnswer): readonly NamedLine[] {
  const { credit, reversed, paid } = purchase
  if (reversals.length === 0 || paid === null) return []
  const remaining = reversals.reduce(
    (units, change) => units + BigInt(change.paid.units),
    BigInt(paid.units),
  )
  return [
    ...reversals.map(
      (change): NamedLine => [
        reversalName(change),
        <Change key={change.created_at} change={change} />,
      ],
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
function line(name: string, value: ReactNode): readonly NamedLine[] {
  return value === null ? [] : [[name, value]]
}
