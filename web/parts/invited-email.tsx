import type { UseQueryResult } from '@tanstack/react-query'
import type { Answer } from '../api/calls.ts'
import { Field } from './field.tsx'
import { NotLoaded } from './states.tsx'

interface InvitedEmailProps {
  /** Says whether the gateway emails the link. */
  readonly start: UseQueryResult<Answer<'getStart', 'browser'>>
  readonly error: string | null
}

/** The email address of a person who is invited. */
export function InvitedEmail({ start, error }: InvitedEmailProps) {
  return (
    <>
      <Field
        label="Email"
        name="email"
        type="email"
        autoComplete="off"
        required
        error={error}
        hint={
          start.data?.mail === true
            ? 'The person gets a link by email. It works once, within 7 days.'
            : 'You get a link to send to the person. It works once, within 7 days.'
        }
      />
      {start.data === undefined && start.isError && (
        <p className="note" role="alert">
          <NotLoaded what="The way to send the invitation could not be loaded" query={start} />
        </p>
      )}
    </>
  )
}
