import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { billingQuery, type SaleMethod, saleQuery } from '../../api/sale.ts'
import { CloseFooter, Dialog } from '../../parts/dialog.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, Failed, GreyForm } from '../../parts/states.tsx'
import { useAccountId, useMe, useNameOf } from '../../shell/use-account.ts'
import { PayByCard } from './pay-by-card.tsx'
import { tokenName } from './purchase-words.ts'

// Loaded separately, because it draws QR codes, which few users need.
const Deposit = lazy(() => import('./deposit.tsx').then((module) => ({ default: module.Deposit })))

interface AddCreditProps {
  /** Called before the billing details are opened in its place. */
  readonly onBilling: () => void
  readonly onClose: () => void
}

/** The ways to buy credit, and the form of the chosen one. */
export function AddCredit({ onBilling, onClose }: AddCreditProps) {
  const query = useQuery(saleQuery(useMe()))
  const [chosen, setChosen] = useState<string | null>(null)
  const { data } = query
  if (data === undefined) {
    return (
      <Dialog title="Add credit" onClose={onClose}>
        {query.isError ? (
          <Failed what="The ways to pay could not be loaded." query={query} />
        ) : (
          <GreyForm />
        )}
        <CloseFooter />
      </Dialog>
    )
  }
  const method = data.methods.find(({ id }) => id === chosen) ?? data.methods[0]
  return (
    <Dialog title="Add credit" onClose={onClose}>
      {method === undefined ? (
        <>
          <Empty title="This gateway does not sell credit.">
            <p>Ask the operator for a code, and redeem it.</p>
          </Empty>
          <CloseFooter />
        </>
      ) : (
        <>
          {data.methods.length > 1 && (
            <Segments
              label="How to pay"
              className="justify-self-start"
              options={data.methods.map((one) => ({ value: one.id, text: methodName(one) }))}
              value={method.id}
              onChange={setChosen}
            />
          )}
          <ReceiptBuyer onBilling={onBilling} />
          <MethodForm key={method.id} method={method} onClose={onClose} />
        </>
      )}
    </Dialog>
  )
}

/** The buyer on the receipt, which is read before the purchase: a receipt does not change. Nothing while it is not known. */
function ReceiptBuyer({ onBilling }: Pick<AddCreditProps, 'onBilling'>) {
  const account = useAccountId()
  const { name } = useNameOf(account)
  const { data } = useQuery(billingQuery(account))
  if (data === undefined) return null
  return (
    <p className="note">
      The receipt is for <b>{data.billing?.name ?? name}</b>.{' '}
      <Link
        className="link"
        to="/$account/credit"
        params={{ account }}
        search={{ open: 'billing' }}
        onClick={onBilling}
      >
        Change billing details
      </Link>
    </p>
  )
}

interface MethodFormProps {
  readonly method: SaleMethod
  readonly onClose: () => void
}

function MethodForm({ method, onClose }: MethodFormProps) {
  if (!method.available) {
    return (
      <>
        <p className="problem" role="status">
          {methodName(method)} can’t be used for now. Nothing that you have sent is lost. Try again
          in a few minutes.
        </p>
        <CloseFooter />
      </>
    )
  }
  switch (method.kind) {
    case 'card':
      return <PayByCard method={method} onClose={onClose} />
    case 'deposit':
      return (
        <Suspense fallback={<GreyForm />}>
          <Deposit method={method} onClose={onClose} />
        </Suspense>
      )
  }
}

function methodName(method: SaleMethod): string {
  return method.kind === 'card' ? 'Card' : tokenName(method.token, method.chain_id)
}
