import { useState } from 'react'
import { ApiError } from '../api/client.ts'
import type { TypedTerms } from '../format/terms.ts'
import { Field } from './field.tsx'

interface TermsFieldsProps {
  /** What no list means. */
  readonly all: string
  readonly typed: TypedTerms
  readonly onChange: (typed: TypedTerms) => void
  /** What the server refused; shown at its field, if it is one of these. */
  readonly error: Error | null
}

/** The models of a key or an account, folded away until they are wanted. */
export function TermsFields({ all, typed, onChange, error }: TermsFieldsProps) {
  // As it was in the beginning: it does not fold while its last word is deleted.
  const [isSet] = useState(typed.allow + typed.deny !== '')
  const refused = error instanceof ApiError ? fieldOf(error.param) : null
  const input = (name: keyof TypedTerms) => ({
    name,
    autoComplete: 'off',
    value: typed[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange({ ...typed, [name]: event.target.value }),
    error: refused === name ? (error?.message ?? null) : null,
  })
  return (
    <details className="fold" open={isSet || refused !== null}>
      <summary>Models</summary>
      <Field
        label="Only these models"
        placeholder={all}
        {...input('allow')}
        hint="Ids, or author/* for all of an author, separated by commas."
      />
      <Field label="Never these models" placeholder="None" {...input('deny')} />
    </details>
  )
}

/** The field of a parameter, such as `models.allow.2`; null: neither of these. */
function fieldOf(param: string | null): keyof TypedTerms | null {
  if (param?.startsWith('models.deny')) return 'deny'
  return param?.startsWith('models') ? 'allow' : null
}

/** Whether a parameter of the API is a field of terms. */
export function isOfTerms(param: string | null): boolean {
  return fieldOf(param) !== null
}
