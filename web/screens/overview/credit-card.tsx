import type { ReactNode } from 'react'
import type { Overview } from '../../api/answers.ts'
import { money, moneyParts } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayOf } from '../../format/time.ts'
import { useNow } from '../../parts/now.ts'
import { Grey } from '../../parts/states.tsx'

type Credit = Overview['credit']

interface Share {
  readonly text: string
  readonly amountMicros: number
  readonly tone: string
}

interface CreditCardProps {
  readonly overview: Overview
  /** Shown at the right of the card's head. Default: nothing. */
  readonly children?: ReactNode
}

/** The available and the held credit, and how long it lasts. */
export function CreditCard({ overview: { credit }, children }: CreditCardProps) {
  const now = useNow()
  const { whole, rest } = moneyParts(debtOr(credit))
  const shares = sharesOf(credit, now)
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
      <Bar shares={shares} />
      <dl className="legend">
        {shares.map(({ text, amountMicros, tone }) => (
          <div key={text} className="contents">
            <dt>
              <i className={`swatch ${tone}`} />
              {text}
            </dt>
            <dd>{money(amountMicros)}</dd>
          </div>
        ))}
      </dl>
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

function sharesOf(credit: Credit, now: Date): readonly Share[] {
  const { held_running: running, held_estimated: estimated, held_unresolved: unresolved } = credit
  const { free } = credit
  const shares: Share[] = [
    { text: 'Paid credit', amountMicros: credit.available, tone: 'of-accent' },
  ]
  if (running.amount > 0) {
    const text = `Held by ${counted(running.requests, 'running request')}`
    shares.push({ text, amountMicros: running.amount, tone: 'of-2' })
  }
  if (estimated.amount > 0) {
    const text = `Held by ${counted(estimated.requests, 'estimated request')}`
    shares.push({ text, amountMicros: estimated.amount, tone: 'of-4' })
  }
  if (unresolved.amount > 0) {
    const text = `Held by ${counted(unresolved.requests, 'unresolved request')}`
    shares.push({ text, amountMicros: unresolved.amount, tone: 'of-3' })
  }
  if (free.available > 0) {
    const end = free.expires_at === null ? '' : `, expires ${dayOf(new Date(free.expires_at), now)}`
    shares.push({ text: `Free credit${end}`, amountMicros: free.available, tone: 'hollow' })
  }
  return shares
}

// Keeps a small share visible.
const SHARE_MIN = 0.012

function Bar({ shares }: { shares: readonly Share[] }) {
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

function paceOf({ days_left, available, has_backed_credit }: Credit): string {
  if (available <= 0 && !has_backed_credit) return 'No credit has been added yet.'
  if (available <= 0) return 'Requests are refused until credit is added.'
  if (days_left === null) return 'Nothing was spent in the last 7 days.'
  if (days_left < 1) return 'At the rate of the last 7 days it is used up within a day.'
  if (days_left >= 365) return 'At the rate of the last 7 days it lasts over a year.'
  return `At the rate of the last 7 days it lasts about ${counted(Math.round(days_left), 'day')}.`
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
