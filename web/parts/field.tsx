import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { dateText } from '../format/ranges.ts'
import { Prose } from './prose.tsx'

interface FieldProps extends ComponentProps<'input'> {
  readonly label: string
  /** A sentence below. */
  readonly hint?: ReactNode
  /** The fault of the field; shown in place of the hint. */
  readonly error?: string | null
  /** Shown inside the field, before the typed text. */
  readonly prefix?: string
}

/** A labelled input with its hint or its error: the form's or the server's, else what the browser finds wrong. */
export function Field({
  label,
  hint,
  error: givenError = null,
  prefix,
  className = '',
  ...input
}: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  const [fault, setFault] = useState<string | null>(null)
  const error = givenError ?? fault
  const isDescribed = error !== null || hint !== undefined
  return (
    <div className="fld">
      <label htmlFor={id}>{label}</label>
      <span className={prefix === undefined ? '' : 'pre'}>
        {prefix !== undefined && <i aria-hidden="true">{prefix}</i>}
        <input
          id={id}
          className={`inp ${className}`}
          aria-invalid={error === null ? undefined : true}
          aria-describedby={isDescribed ? hintId : undefined}
          {...input}
          onInvalid={(event) => {
            // In place of the browser's own bubble, which covers other fields and goes away.
            event.preventDefault()
            const { currentTarget: field } = event
            setFault(faultOf(field))
            if (field.form?.querySelector('input:invalid') === field) field.focus()
          }}
          onInput={({ currentTarget: field }) => {
            if (fault !== null) setFault(field.validity.valid ? null : faultOf(field))
          }}
          onBlur={(event) => {
            const { currentTarget: field } = event
            // An empty field is no fault until the form is sent.
            if (field.value !== '' && !field.validity.valid) setFault(faultOf(field))
            input.onBlur?.(event)
          }}
        />
      </span>
      {isDescribed && (
        <small id={hintId} className={error === null ? '' : 'err'}>
          {error === null ? hint : <Prose text={error} />}
        </small>
      )}
    </div>
  )
}

/** The fault of the text of an input, and what to enter instead. */
function faultOf({ validity, type, minLength, min }: HTMLInputElement): string {
  if (validity.valueMissing) return 'Fill in this field.'
  if (validity.tooShort) return `Enter at least ${minLength} characters.`
  if (validity.rangeUnderflow) return `Choose ${dateText(min)} or a later day.`
  if (validity.patternMismatch) return 'Enter the six digits.'
  if (type === 'email') return 'Enter an email address, such as ada@example.com.'
  return type === 'url' ? 'Enter an address that begins with https://.' : 'Enter a whole date.'
}

/** A field for an amount in dollars. */
export function DollarField(input: Omit<FieldProps, 'className' | 'prefix'>) {
  return <Field className="num" prefix="$" inputMode="decimal" autoComplete="off" {...input} />
}
