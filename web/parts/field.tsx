import { type ComponentProps, type ReactNode, useId } from 'react'

interface FieldProps extends ComponentProps<'input'> {
  readonly label: string
  /** A sentence below. */
  readonly hint?: ReactNode
  /** The fault of the field; shown in place of the hint. */
  readonly error?: string | null
  /** Shown inside the field, before the typed text. */
  readonly prefix?: string
}

/** A labelled input with its hint or its error. */
export function Field({ label, hint, error = null, prefix, className = '', ...input }: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
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
        />
      </span>
      {isDescribed && (
        <small id={hintId} className={error === null ? '' : 'err'}>
          {error ?? hint}
        </small>
      )}
    </div>
  )
}

/** A field for an amount in dollars. */
export function DollarField(input: Omit<FieldProps, 'className' | 'prefix'>) {
  return <Field className="num" prefix="$" inputMode="decimal" autoComplete="off" {...input} />
}
