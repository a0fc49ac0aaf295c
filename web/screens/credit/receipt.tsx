import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type Receipt as ReceiptAnswer, receiptQuery } from '../../api/sale.ts'
import { money } from '../../format/money.ts'
import { dayAndMinute } from '../../format/time.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Failed, GreyForm } from '../../parts/states.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { paidText } from './purchase-words.ts'

interface ReceiptProps {
  readonly purchaseId: string
  readonly onClose: () => void
}

/** The receipt of a purchase, with its seller and its buyer, for printing. */
export function Receipt({ purchaseId, onClose }: ReceiptProps) {
  const query = useQuery(receiptQuery(useAccountId(), purchaseId))
  return (
    <Dialog title="Receipt" onClose={onClose}>
      {query.data !== undefined ? (
        <Lines receipt={query.data} />
      ) : query.isError ? (
        <Failed
          what="The receipt could not be read."
          error={query.error}
          onRetry={() => query.refetch()}
        />
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
    </Dialog>
  )
}

function Lines({ receipt: { purchase, seller, account } }: { receipt: ReceiptAnswer }) {
  const { id, method, credit, reversed, paid, created_at: createdAt } = purchase
  const lines: readonly (readonly [name: string, value: ReactNode])[] = [
    ...(seller.name === null ? [] : [['Seller', seller.name] as const]),
    ...(seller.tax_id === null ? [] : [['Tax ID of the seller', seller.tax_id] as const]),
    ['Buyer', account.name],
    ...(account.email === null ? [] : [['Email', account.email] as const]),
    [
      'Purchase',
      <span className="mono" key="id">
        {id}
      </span>,
    ],
    ['Credited', dayAndMinute(new Date(purchase.credited_at ?? createdAt))],
    ['Paid by', method],
    ...(paid === null ? [] : [['Paid', paidText(paid)] as const]),
    ...(reversed === 0 ? [] : [['Went back', money(reversed)] as const]),
  ]
  return (
    <dl className="kv">
      {lines.map(([name, value]) => (
        <Line key={name} name={name} value={value} />
      ))}
      <dt className="tot">Prepaid credit</dt>
      <dd className="tot">{money(credit - reversed)}</dd>
    </dl>
  )
}

function Line({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}
