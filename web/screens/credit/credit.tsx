import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { saleQuery } from '../../api/sale.ts'
import { AddButton } from '../../parts/buttons.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useTitle } from '../../parts/use-title.ts'
import type { CreditForm } from '../../searches.ts'
import { useAccountName, useMe } from '../../shell/use-account.ts'
import { AddCredit } from './add-credit.tsx'
import { BillingDetails } from './billing-details.tsx'
import { CreditHistory } from './credit-history.tsx'
import { Pending } from './pending.tsx'
import { RedeemCode } from './redeem-code.tsx'

const route = getRouteApi('/$account/credit')

/** The credit of an account, its history, and how to add more. */
export function CreditScreen() {
  useTitle('Credit')
  const { open, bought = null } = route.useSearch()
  const navigate = route.useNavigate()
  // Whether the form of a purchase led to the billing details, which then lead back to it.
  const [isBuying, setBuying] = useState(false)
  const isOwner = useAccountName().role !== 'member'
  const sale = useQuery({ ...saleQuery(useMe()), enabled: isOwner })
  const isNothingSold = sale.data?.methods.length === 0
  const show = (form: CreditForm | null) =>
    void navigate({
      search: ({ open: _, receipt: __, ...before }) =>
        form === null ? before : { ...before, open: form },
      // Back closes the form.
      replace: form === null,
      resetScroll: false,
    })
  return (
    <>
      <div className="top flex-wrap">
        <h1>Credit</h1>
        {isOwner && (
          <Buttons
            isNothingSold={isNothingSold}
            mayBuy={!isNothingSold && (sale.isError || sale.data !== undefined)}
            onOpen={(form) => {
              setBuying(false)
              show(form)
            }}
          />
        )}
      </div>
      {isOwner && isNothingSold && (
        <p className="note mb-3.5">Credit is not sold here: ask your operator.</p>
      )}
      {isOwner && !isNothingSold && (
        <p className="only-s mb-3.5">
          <button type="button" className="link" onClick={() => show('billing')}>
            Billing details
          </button>
        </p>
      )}
      <CreditHistory>
        <Pending bought={bought} />
      </CreditHistory>
      {isOwner && open === 'redeem' && <RedeemCode onClose={() => show(null)} />}
      {isOwner && open === 'buy' && (
        <AddCredit onBilling={() => setBuying(true)} onClose={() => show(null)} />
      )}
      {isOwner && open === 'billing' && (
        <BillingDetails
          onClose={() => {
            show(isBuying ? 'buy' : null)
            setBuying(false)
          }}
        />
      )}
    </>
  )
}

interface ButtonsProps {
  readonly isNothingSold: boolean
  /** Whether credit is sold, or it is not known whether it is. */
  readonly mayBuy: boolean
  readonly onOpen: (form: CreditForm) => void
}

/** The actions of an owner. Buying comes first if credit is sold. */
function Buttons({ isNothingSold, mayBuy, onOpen }: ButtonsProps) {
  return (
    <>
      {/* A phone has room for two buttons: there, a link below them leads to it. */}
      {!isNothingSold && (
        <button type="button" className="btn hide-s" onClick={() => onOpen('billing')}>
          Billing details
        </button>
      )}
      <button
        type="button"
        className={isNothingSold ? 'btn pri' : 'btn'}
        onClick={() => onOpen('redeem')}
      >
        <span className="hide-s">
          <Icon name="gift" />
        </span>
        Redeem a code
      </button>
      {mayBuy && <AddButton onClick={() => onOpen('buy')}>Add credit</AddButton>}
    </>
  )
}
