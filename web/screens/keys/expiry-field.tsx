import { useId, useState } from 'react'
import { DAY_MS, MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import { dayAndMinute } from '../../format/time.ts'
import { useNow } from '../../parts/now.ts'

/** When a key ends: never, so many days from now, or at a moment. */
export type Expiry =
  | { readonly kind: 'never' }
  | { readonly kind: 'days'; readonly days: number }
  | { readonly kind: 'date'; readonly at: Date }

const CHOICES = [
  { text: 'Never', days: null },
  { text: '30 days', days: 30 },
  { text: '90 days', days: 90 },
  { text: '1 year', days: 365 },
] as const

/** The moment as the server wants it; null: never. */
export function expiryTime(expiry: Expiry, now: Date): string | null {
  return momentOf(expiry, now)?.toISOString() ?? null
}

interface ExpiryFieldProps {
  readonly value: Expiry
  readonly onChange: (expiry: Expiry) => void
  readonly error: string | null
  /** The consequence of the expiry. Default: that of a key. */
  readonly then?: string
  /** The meaning of no expiry. Default: that for a key. */
  readonly never?: string
}

/** Picks an expiry and says what it means. */
export function ExpiryField({
  value,
  onChange,
  error,
  then = 'From then on, requests with the key are refused with api_key_expired.',
  never = 'The key works until it is disabled or deleted.',
}: ExpiryFieldProps) {
  const now = useNow()
  const hintId = useId()
  const [fault, setFault] = useState<string | null>(null)
  const [first] = useState(value)
  const wrong = error ?? fault
  const at = momentOf(value, now)
  const pick = (expiry: Expiry) => {
    setFault(null)
    onChange(expiry)
  }
  return (
    <fieldset className="fld" aria-describedby={hintId}>
      <legend className="mb-1">Expires</legend>
      <div className="chips">
        {CHOICES.map(({ text, days }) => (
          <button
            key={text}
            type="button"
            aria-pressed={days === null ? value.kind === 'never' : isDays(value, days)}
            onClick={() => pick(days === null ? { kind: 'never' } : { kind: 'days', days })}
          >
            {text}
          </button>
        ))}
        <button
          type="button"
          aria-pressed={value.kind === 'date'}
          onClick={() => pick({ kind: 'date', at: at ?? new Date(now.getTime() + 30 * DAY_MS) })}
        >
          On a date
        </button>
      </div>
      {value.kind === 'date' && (
        <input
          className="inp"
          type="datetime-local"
          aria-label="Date and time of the expiry"
          value={localText(value.at)}
          // One that has passed stays as it is until another is picked.
          min={value === first ? undefined : localText(now)}
          required
          onChange={(event) => {
            const picked = new Date(event.target.value)
            if (!Number.isNaN(picked.getTime())) pick({ kind: 'date', at: picked })
          }}
          aria-invalid={wrong === null ? undefined : true}
          aria-describedby={hintId}
          onInvalid={(event) => {
            // As in other fields, in place of the browser's own bubble.
            event.preventDefault()
            const { currentTarget: field } = event
            setFault(faultOf(field))
            if (field.form?.querySelector('input:invalid') === field) field.focus()
          }}
        />
      )}
      <small id={hintId} className={wrong === null ? '' : 'err'}>
        {wrong ?? (at === null ? never : `On ${dayAndMinute(at)}. ${then}`)}
      </small>
    </fieldset>
  )
}

/** The fault of the picked moment, and what to pick. */
function faultOf({ validity }: HTMLInputElement): string {
  return validity.rangeUnderflow
    ? 'Choose a time that is still to come.'
    : 'Enter a whole date and time.'
}

function momentOf(expiry: Expiry, now: Date): Date | null {
  switch (expiry.kind) {
    case 'never':
      return null
    case 'days':
      return new Date(now.getTime() + expiry.days * DAY_MS)
    case 'date':
      return expiry.at
  }
}

function isDays(value: Expiry, days: number): boolean {
  return value.kind === 'days' && value.days === days
}

/** As a `datetime-local` field has it: local, to the minute. */
function localText(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS)
  return local.toISOString().slice(0, 16)
}
