import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ApiError, write } from '../api/client.ts'
import { meQuery, startQuery } from '../api/queries.ts'
import { CodeField } from './code-field.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'

/** A change that needs a password of the last ten minutes. */
export interface RecentWrite<Input> {
  readonly mutate: (input: Input) => void
  readonly isPending: boolean
  /** Why it was refused; null also while the password is asked for. */
  readonly error: Error | null
  /** The dialog that asks for the password, to be shown beside the form. */
  readonly password: ReactNode
}

/**
 * Sends a change. Where the sign-in is too long ago, the password is asked for, with the code of a user who has a second
 * factor, and the change is sent once more.
 */
export function useRecentWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
): RecentWrite<Input> {
  const { mutate, reset, variables, error, isPending, isError } = useMutation({
    mutationFn: send,
    // The answer may have a text that stays out of what is kept.
    gcTime: 0,
    onSuccess: onDone,
  })
  const isAsking = error instanceof ApiError && error.code === 'sign_in_again'
  // A change without input has undefined.
  const again = () => {
    if (isError) mutate(variables as Input)
  }
  return {
    mutate,
    isPending,
    error: isAsking ? null : error,
    password: isAsking ? <AskPassword onRight={again} onClose={reset} /> : null,
  }
}

interface Typed {
  readonly password: string
  readonly code?: string
}

function AskPassword({ onRight, onClose }: { onRight: () => void; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { data: start } = useQuery(startQuery)
  const { data: me } = useQuery(meQuery)
  const needsCode = me?.user.second_factor === 'on'
  const hasOtherWays = start !== undefined && start.providers.length > 0
  const confirm = useMutation({
    mutationFn: (typed: Typed) => write('POST', 'auth/confirm', typed),
    gcTime: 0,
    onSuccess: onRight,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // In React's tree it may stand inside of the form whose change is to be sent again.
    event.stopPropagation()
    confirm.mutate(needsCode ? { password, code } : { password })
  }
  const isOfCode = confirm.error instanceof ApiError && confirm.error.param === 'code'
  const message = confirm.error?.message ?? null
  return (
    <Dialog title="Enter your password" onClose={onClose}>
      <form className="contents" onSubmit={submit}>
        <p>
          This needs the password within the last ten minutes. What you were doing goes on then.
        </p>
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={isOfCode ? null : message}
          {...(hasOtherWays ? { hint: 'Without a password, sign out and in again.' } : {})}
        />
        {needsCode && (
          <CodeField
            value={code}
            onChange={(event) => setCode(event.target.value)}
            error={isOfCode ? message : null}
          />
        )}
        <footer>
          <button type="button" className="btn ghost" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn pri" disabled={confirm.isPending}>
            Go on
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
