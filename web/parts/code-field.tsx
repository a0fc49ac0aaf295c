import type { ComponentProps } from 'react'
import { Field } from './field.tsx'

/** What a user types of a second factor: the code of an app, or a recovery code. */
export function CodeField(input: Partial<ComponentProps<typeof Field>>) {
  return (
    <Field
      label="Code"
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="characters"
      spellCheck={false}
      maxLength={40}
      required
      hint="The six digits that your authenticator app shows now, or a recovery code."
      {...input}
    />
  )
}
