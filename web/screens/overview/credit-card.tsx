import type { ReactNode } from 'react'
import type { Overview } from '../../api/answers.ts'
import { moneyParts } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import {
  CreditLegend,
  type CreditShare,
  creditShares,
  FreeCreditLine,
} from '../../parts/credit-shares.tsx'
import { useNow } from '../../parts/now.ts'
import { Grey } from '../../parts/states.tsx'

type Credit = Overview['credit']

interface CreditCardProps {
  readonly overview: Overview
  /** Shown at the right of the card's head. Default: nothing. */
  readonly children?: ReactNode
}

/** The available and the held credit, and how long it lasts. */
export function CreditCard({ overview: { credit }, children }: CreditCardProps) {
  const now = useNow()
  const paidMicros = debtOr(credit)
  const { whole, rest } = moneyParts(paidMicros)
  const shares = creditShares(
    {
      paidMicros,
      running: heldBy(credit.held_running),
      estimated: heldBy(credit.held_estimated),
      unresolved: heldBy(credit.held_unresolved),
      free: credit.free,
    },
    now,
  )
  return (
    <section className="card credit" aria-labelledby="credit-title">
      <div className="flex items-center justify-between">
        <h2 className="lab" id="credit-title">
          Available credit
        </h2>
        {children}
      </div>
      <p className={credit.backed.balance < 0 ? 'big neg' : 'big'}>
        {whole}
        <small>{rest}</small>
      </p>
      <FreeCreditLine availableMicros={credit.free.available} />
      <Bar shares={shares} />
      <CreditLegend shares={shares} />
      <footer>
        <p className="note">{paceOf(credit)}</p>
      </footer>
    </section>
  )
}

/** The available credit, or the debt, below zero. */
function debtOr({ available, backed }: Credit): number {
  return backed.balance < 0 ? backed.balance : available
}

function heldBy({ requests, amount }: Credit['held_running']) {
  return { requests, amountMicros: amount }
}

// Keeps a small share visible.
const SHARE_MIN = 0.012

function Bar({ shares }: { shares: readonly CreditShare[] }) {
  const drawn = shares.filter(({ tone, amountMicros }) => tone !== 'hollow' && amountMicros > 0)
  const totalMicros = drawn.reduce((total, { amountMicros }) => total + amountMicros, 0)
  return (
    <div className="bar" aria-hidden="true">
      {drawn.map(({ text, amountMicros, tone }) => (
        <i
          key={text}
          className={tone}
          style={{ flex: Math.max(SHARE_MIN, amountMicros / totalMicros) }}
        />
      ))}
    </div>
  )
}

function paceOf({ days_left, available, free, recent_charge, has_backed_credit }: Credit): string {
  if (available <= 0 && free.available > 0) {
    return 'Requests for other models are refused until credit is added.'
  }
  if (available <= 0 && !has_backed_credit) return 'No credit has been added yet.'
  if (available <= 0) return 'Requests are refused until credit is added.'
  if (recent_charge === 0) return 'Nothing was spent in the last 7 days.'
  if (days_left === null) return 'The forecast of how long credit lasts begins after a day.'
  if (days_left < 1) return 'At the rate of the last 7 days, credit is used up within a day.'
  if (days_left >= 365) return 'At the rate of the last 7 days, credit lasts over a year.'
  return `At the rate of the last 7 days, credit lasts about ${counted(Math.round(days_left), 'day')}.`
}

/** The shape of the card until the answer arrives. */
export function GreyCreditCard() {
  return (
    <section className="card credit gap-4" aria-hidden="true">
      <Grey width={110} />
      <Grey width={150} height={34} />
      <Grey width="100%" height={8} />
      <Grey width="100%" />
      <Grey width="100%" />
      <Grey width="60%" />
    </section>
  )
}
