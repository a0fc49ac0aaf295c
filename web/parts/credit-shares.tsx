import { money } from '../format/money.ts'
import { counted } from '../format/numbers.ts'
import { dayOf } from '../format/time.ts'

/** A part of an account's credit. */
export interface CreditShare {
  readonly text: string
  readonly amountMicros: number
  readonly tone: string
}

interface Held {
  readonly requests: number
  readonly amountMicros: number
}

interface CreditParts {
  /** The available paid credit; below zero, the debt. */
  readonly paidMicros: number
  readonly running: Held
  readonly estimated: Held
  readonly unresolved: Held
  readonly free: { readonly available: number; readonly expires_at: string | null }
}

const HELD_TONES = [
  ['running', 'of-2'],
  ['estimated', 'of-4'],
  ['unresolved', 'of-3'],
] as const

/** The paid, held and free credit of an account; parts without an amount are left out. */
export function creditShares(parts: CreditParts, now: Date): readonly CreditShare[] {
  const { paidMicros, free } = parts
  const end = free.expires_at === null ? '' : `, expires ${dayOf(new Date(free.expires_at), now)}`
  const others = [
    ...HELD_TONES.map(([state, tone]) => ({
      text: `Held by ${counted(parts[state].requests, `${state} request`)}`,
      amountMicros: parts[state].amountMicros,
      tone,
    })),
    { text: `Free credit${end}`, amountMicros: free.available, tone: 'hollow' },
  ]
  return [
    { text: 'Paid credit', amountMicros: paidMicros, tone: 'of-accent' },
    ...others.filter(({ amountMicros }) => amountMicros > 0),
  ]
}

/** The free credit that is available, and the models that it pays for; nothing if there is none. */
export function FreeCreditLine({ availableMicros }: { readonly availableMicros: number }) {
  if (availableMicros <= 0) return null
  return (
    <p className="note -mt-1.5 mb-3">
      and <b className="text-ink">{money(availableMicros)}</b> of free credit, for open-weight text
      models only
    </p>
  )
}

/** The names, colours and amounts of shares. */
export function CreditLegend({ shares }: { readonly shares: readonly CreditShare[] }) {
  return (
    <dl className="legend">
      {shares.map(({ text, amountMicros, tone }) => (
        <div key={text} className="contents">
          <dt>
            <i className={`swatch ${tone}`} />
            {text}
          </dt>
          <dd className={amountMicros < 0 ? 'neg' : ''}>{money(amountMicros)}</dd>
        </div>
      ))}
    </dl>
  )
}
