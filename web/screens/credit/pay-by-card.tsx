import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { MICROS_PER_DOLLAR, showDollarText } from '../../../src/vocabulary/money.ts'
import { beginPayment, paymentPage, quoteQuery, type SaleMethod } from '../../api/sale.ts'
import { useSend } from '../../api/use-write.ts'
import { AMOUNT_FAULT, CENT_MICROS, money, readMoney } from '../../format/money.ts'
import { percentOf } from '../../format/numbers.ts'
import { DollarField } from '../../parts/field.tsx'
import { DialogForm } from '../../parts/form-dialog.tsx'
import { Prose } from '../../parts/prose.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { useCameBack } from '../../parts/use-came-back.ts'
import { useAccountId, useMe } from '../../shell/use-account.ts'

interface PayByCardProps {
  readonly method: Extract<SaleMethod, { kind: 'card' }>
  readonly onClose: () => void
}

const USUAL_DOLLARS = [10, 25, 50, 100]

/** Asks for an amount, shows the price, and opens the page of the payment. */
export function PayByCard({ method, onClose }: PayByCardProps) {
  const accountId = useAccountId()
  const [typed, setTyped] = useState('25')
  const begin = useSend({
    mutationFn: (amountMicros: number) =>
      beginPayment({ account_id: accountId, method: method.id, amount: amountMicros }),
    onSuccess: ({ url }) => window.location.assign(paymentPage(url)),
  })
  useCameBack(begin.reset)
  const read = readMoney(typed)
  const wrong = typed.trim() === '' ? null : amountFault(read, method)
  const amountMicros = wrong === null ? read : null
  const isPlay = useMe().mode === 'simulator'
  const isLeaving = begin.isPending || begin.isSuccess
  const refusal = refusalOf(begin.error, ['amount'])
  return (
    <DialogForm
      submit={isLeaving ? 'Opening the payment' : 'Continue to payment'}
      isReady={amountMicros !== null && !isLeaving}
      problem={refusal.rest}
      onSubmit={() => {
        if (amountMicros !== null) begin.mutate(amountMicros)
      }}
      onClose={onClose}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <div className="flex flex-wrap gap-2" role="group" aria-label="Usual amounts">
        {USUAL_DOLLARS.filter(
          (dollars) => amountFault(dollars * MICROS_PER_DOLLAR, method) === null,
        ).map((dollars) => (
          <button
            key={dollars}
            type="button"
            className="btn"
            aria-pressed={dollars * MICROS_PER_DOLLAR === amountMicros}
            onClick={() => setTyped(String(dollars))}
          >
            ${dollars}
          </button>
        ))}
      </div>
      <DollarField
        label="Amount"
        name="amount"
        required
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        error={wrong ?? refusal.at('amount')}
        hint={`From ${money(method.minimum)} to ${money(method.maximum)}, in whole cents.`}
      />
      <Price method={method} amountMicros={amountMicros} />
      {isPlay && (
        <p className="note">Play money: no real card is needed, and nothing is charged.</p>
      )}
    </DialogForm>
  )
}

interface PriceProps {
  readonly method: PayByCardProps['method']
  readonly amountMicros: number | null
}

function Price({ method, amountMicros }: PriceProps) {
  const query = useQuery({
    ...quoteQuery(method.id, amountMicros ?? 0),
    enabled: amountMicros !== null,
  })
  const quote = amountMicros === null ? undefined : query.data
  return (
    <p aria-live="polite">
      {quote !== undefined ? (
        <>
          You pay <b className="num">{showDollarText(quote.pay.amount)}</b>
          {quote.fee_bps > 0 && `, ${percentOf(quote.fee_bps)} of it for the service,`} and get{' '}
          <b className="num">{money(quote.credit)}</b> of paid credit, which does not expire.
        </>
      ) : amountMicros !== null && query.isError ? (
        <>
          The price could not be loaded: <Prose text={query.error.message} />
        </>
      ) : (
        'Paid credit, which does not expire.'
      )}
    </p>
  )
}

function amountFault(
  amountMicros: number | null,
  { minimum, maximum }: PayByCardProps['method'],
): string | null {
  if (amountMicros === null) return AMOUNT_FAULT
  if (amountMicros % CENT_MICROS !== 0) return 'Enter whole cents, such as 12.50.'
  if (amountMicros < minimum) return `At least ${money(minimum)}.`
  if (amountMicros > maximum) return `At most ${money(maximum)} at a time.`
  return null
}
