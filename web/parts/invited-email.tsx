import { Field } from './field.tsx'

interface InvitedEmailProps {
  /** Whether the gateway emails the link. */
  readonly isMailed: boolean
  readonly error: string | null
}

/** The email address of a person who is invited. */
export function InvitedEmail({ isMailed, error }: InvitedEmailProps) {
  return (
    <Field
      label="Email"
      name="email"
      type="email"
      autoComplete="off"
      required
      error={error}
      hint={
        isMailed
          ? 'The person gets a link by email. It works once, within 7 days.'
          : 'You get a link to send to the person. It works once, within 7 days.'
      }
    />
  )
}
