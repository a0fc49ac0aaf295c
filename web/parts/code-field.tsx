import type { ComponentProps } from 'react'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { Field } from './field.tsx'

interface CodeFieldProps extends Partial<ComponentProps<typeof Field>> {
  /** Whether the user has an authenticator app, or only recovery codes. Default: true. */
  readonly hasApp?: boolean
}

/** The field for a second factor: the code of an app, or a recovery code. */
export function CodeField({ hasApp = true, ...input }: CodeFieldProps) {
  return (
    <Field
      label={hasApp ? 'Code' : 'Recovery code'}
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="characters"
      spellCheck={false}
      maxLength={TEXT_CHARS_MAX.factorCode}
      required
      hint={
        hasApp
          ? 'The six digits that your authenticator app shows now, or a recovery code.'
          : 'One of the ten that you saved when you set up the second factor.'
      }
      {...input}
    />
  )
}

/** The field for a code that was sent by email. */
export function MailedCodeField(input: Pick<ComponentProps<typeof Field>, 'error' | 'hint'>) {
  return (
    <Field
      label="Code"
      name="code"
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{6}"
      maxLength={6}
      required
      autoFocus
      {...input}
    />
  )
}
