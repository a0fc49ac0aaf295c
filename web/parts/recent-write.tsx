import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ApiError, write } from '../api/client.ts'
import { meQuery, startQuery } from '../api/queries.ts'
import { CodeField } from './code-field.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { hasPasskeys, signByPasskey } from './passkey.ts'

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
  /** How the second factor is shown; null: the user has none. */
  readonly by: 'code' | 'passkey' | null
  readonly code: string
}

async function confirmPassword({ password, by, code }: Typed): Promise<unknown> {
  const shown =
    by === 'code' ? { code } : by === 'passkey' ? { passkey: await signByPasskey() } : {}
  return write('POST', 'auth/confirm', { password, ...shown })
}

function AskPassword({ onRight, onClose }: { onRight: () => void; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { data: start } = useQuery(startQuery)
  const { data: me } = useQuery(meQuery)
  const [isByCode, setByCode] = useState(false)
  const kinds = me?.user.second_factor_kinds ?? []
  const canSign = hasPasskeys() && kinds.includes('passkey')
  const by = me?.user.second_factor !== 'on' ? null : canSign && !isByCode ? 'passkey' : 'code'
  const hasOtherWays = start !== undefined && start.providers.length > 0
  const confirm = useMutation({
    mutationFn: confirmPassword,
    gcTime: 0,
    onSuccess: onRight,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // In React's tree it may stand inside of the form whose change is to be sent again.
    event.stopPropagation()
    confirm.mutate({ password, by, code })
  }
  const { error } = confirm
  const param = error instanceof ApiError ? error.param : error === null ? null : 'passkey'
  const messageFor = (field: string) => (param === field ? (error?.message ?? null) : null)
  const isOfFactor = param === 'code' || param === 'passkey'
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
          error={isOfFactor ? null : (error?.message ?? null)}
          {...(hasOtherWays ? { hint: 'Without a password, sign out and in again.' } : {})}
        />
        {by === 'code' && (
          <CodeField
            hasApp={kinds.includes('app')}
            value={code}
            onChange={(event) => setCode(event.target.value)}
            error={messageFor('code')}
          />
        )}
        {by === 'passkey' && (
          <>
            <p>
              Then your passkey is asked for.{' '}
              <button type="button" className="link" onClick={() => setByCode(true)}>
                Use a code instead
              </button>
            </p>
            {param === 'passkey' && (
              <p className="problem" role="alert">
                {messageFor('passkey')}
              </p>
            )}
          </>
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
