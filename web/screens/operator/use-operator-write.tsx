import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ApiError, write } from '../../api/client.ts'
import { startQuery } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'

interface OperatorWrite<Input> {
  readonly mutate: (input: Input) => void
  readonly isPending: boolean
  /** Why it was refused; null also while the password is asked for. */
  readonly error: Error | null
  /** The dialog that asks for the password, to be shown beside the form. */
  readonly password: ReactNode
}

/**
 * A change by an operator; afterwards, what operators see is read again. Where the sign-in is too long ago,
 * the password is asked for and the change is sent once more.
 */
export function useOperatorWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
): OperatorWrite<Input> {
  const queries = useQueryClient()
  const { mutate, reset, variables, error, isPending } = useMutation({
    mutationFn: send,
    // The answer of a new code has its text, which stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer) {
      void queries.invalidateQueries({ queryKey: ['operator'] })
      onDone(answer)
    },
  })
  const isAsking = error instanceof ApiError && error.code === 'sign_in_again'
  const again = () => {
    if (variables !== undefined) mutate(variables)
  }
  return {
    mutate,
    isPending,
    error: isAsking ? null : error,
    password: isAsking ? <AskPassword onRight={again} onClose={reset} /> : null,
  }
}

function AskPassword({ onRight, onClose }: { onRight: () => void; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const { data: start } = useQuery(startQuery)
  const hasOtherWays = start !== undefined && start.providers.length > 0
  const confirm = useMutation({
    mutationFn: (typed: string) => write('POST', 'auth/confirm', { password: typed }),
    gcTime: 0,
    onSuccess: onRight,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // In React's tree it may stand inside of the form whose change is to be sent again.
    event.stopPropagation()
    confirm.mutate(password)
  }
  return (
    <Dialog title="Enter your password" onClose={onClose}>
      <form className="contents" onSubmit={submit}>
        <p>
          Money is moved only within ten minutes of the password. What you were doing goes on then.
        </p>
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={confirm.error?.message ?? null}
          {...(hasOtherWays ? { hint: 'Without a password, sign out and in again.' } : {})}
        />
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
