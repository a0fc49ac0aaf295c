import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Entered, Me } from '../../api/answers.ts'
import { asBrowser, type Input } from '../../api/calls.ts'
import { ApiError } from '../../api/client.ts'
import { meQuery, startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { CodeField, MailedCodeField } from '../../parts/code-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { DialogForm } from '../../parts/form-dialog.tsx'
import { hasPasskeys, signByPasskey } from '../../parts/passkey.ts'
import { Problem } from '../../parts/problem.tsx'
import { messageOf } from './door-form.tsx'
import { OutsideWays } from './outside.tsx'
import { PASSWORD } from './sign-in-fields.ts'

interface AskedAgainProps {
  /** Ends the wait of the change: whether the user has signed in again. */
  readonly answer: (isRight: boolean) => void
}

/** Asks for the password before a change is sent once more; a user who has none signs in again. */
export function AskedAgain({ answer }: AskedAgainProps) {
  const { data: me } = useQuery(meQuery)
  const [isOtherWay, setOtherWay] = useState(false)
  if (me === undefined) return null
  const close = () => answer(false)
  if (me.user.has_password && !isOtherWay) {
    return (
      <Dialog title="Enter your password" onClose={close}>
        <ByPassword me={me} onRight={() => answer(true)} onClose={close}>
          <OtherWay onClick={() => setOtherWay(true)} />
        </ByPassword>
      </Dialog>
    )
  }
  return (
    <Dialog title="Sign in again" onClose={close}>
      <SignInAgain me={me} onRight={() => answer(true)} onClose={close} />
    </Dialog>
  )
}

interface StepProps {
  readonly me: Me
  readonly onRight: () => void
  readonly onClose: () => void
}

function OtherWay({ onClick }: { onClick: () => void }) {
  const { data: start } = useQuery(startQuery)
  if (start === undefined || (!start.mail && start.providers.length === 0)) return null
  return (
    <button type="button" className="link justify-self-start" onClick={onClick}>
      Sign in again another way
    </button>
  )
}

function ByPassword({ me, onRight, onClose, children }: StepProps & { children: ReactNode }) {
  const factor = useFactor(me)
  const confirm = useSend({
    mutationFn: async (password: string) =>
      asBrowser('confirmPassword', { password, ...(await factor.shown()) }),
    gcTime: 0,
    onSuccess: onRight,
  })
  const { error } = confirm
  const isFactorError = error !== null && factor.isOf(error)
  return (
    <DialogForm
      write={confirm}
      problem={null}
      submit="Continue"
      onSubmit={(fields) => confirm.mutate(String(fields.get('password')))}
      onClose={onClose}
    >
      <p>This change needs your password, because you last entered it more than ten minutes ago.</p>
      <Field
        {...PASSWORD}
        autoFocus
        error={error === null || isFactorError ? null : messageOf(error)}
      />
      {factor.field(isFactorError ? error : null)}
      {children}
    </DialogForm>
  )
}

function SignInAgain({ me, onRight, onClose }: StepProps) {
  const { data: start } = useQuery(startQuery)
  const here = useLocation().href
  const [ticket, setTicket] = useState<string | null>(null)
  const [isFactorNeeded, setFactorNeeded] = useState(false)
  const queries = useQueryClient()
  const entered = (answer: Entered) => {
    if (answer.object === 'factor_needed') {
      setFactorNeeded(true)
      return
    }
    queries.setQueryData(meQuery.queryKey, answer)
    // It was this browser's until now.
    void asBrowser('endSession', { session_id: me.session_id }).catch(() => undefined)
    onRight()
  }
  const ask = useSend({
    mutationFn: () => asBrowser('mailSignInLink', { email: me.user.email }),
    onSuccess: (asked) => setTicket(asked.ticket),
  })
  if (isFactorNeeded) return <FactorStep me={me} onEntered={entered} onClose={onClose} />
  if (ticket !== null) return <CodeStep ticket={ticket} onEntered={entered} onClose={onClose} />
  return (
    <>
      <p>This change needs a new sign-in, because you last signed in more than ten minutes ago.</p>
      {start?.mail === true && (
        <button
          type="button"
          className="btn h-10"
          aria-disabled={ask.isPending}
          onClick={() => ask.mutate()}
        >
          Send a code to {me.user.email}
        </button>
      )}
      <Problem text={ask.error && messageOf(ask.error)} />
      <OutsideWays next={here} />
      {start?.mail === false && start.providers.length === 0 && (
        <p>
          To reset your sign-in, ask an operator to run{' '}
          <span className="mono">tollgate user reset</span>.
        </p>
      )}
      <footer>
        <button type="button" className="btn ghost" onClick={onClose}>
          Cancel
        </button>
      </footer>
    </>
  )
}

interface EnterProps {
  readonly onEntered: (answer: Entered) => void
  readonly onClose: () => void
}

function CodeStep({ ticket, onEntered, onClose }: EnterProps & { readonly ticket: string }) {
  const enter = useSend({
    mutationFn: (code: string) => asBrowser('signInByCode', { ticket, code }),
    gcTime: 0,
    onSuccess: onEntered,
  })
  return (
    <DialogForm
      write={enter}
      problem={null}
      submit="Continue"
      onSubmit={(fields) => enter.mutate(String(fields.get('code')))}
      onClose={onClose}
    >
      <p>An email with a code is on its way. Enter the code to make the change.</p>
      <MailedCodeField
        error={enter.error === null ? null : messageOf(enter.error)}
        hint="Six digits, for 15 minutes."
      />
    </DialogForm>
  )
}

function FactorStep({ me, onEntered, onClose }: EnterProps & Pick<StepProps, 'me'>) {
  const factor = useFactor(me)
  const enter = useSend({
    mutationFn: async () => asBrowser('showFactor', await factor.shown()),
    gcTime: 0,
    onSuccess: onEntered,
  })
  return (
    <DialogForm
      write={enter}
      problem={null}
      submit="Continue"
      onSubmit={() => enter.mutate()}
      onClose={onClose}
    >
      {factor.field(enter.error)}
    </DialogForm>
  )
}

/** The second factor of a user who has one: its field, and the value that is sent. */
function useFactor({ user }: Me) {
  const [code, setCode] = useState('')
  const [isByCode, setByCode] = useState(false)
  const { second_factor: state, second_factor_kinds: kinds } = user
  const isByPasskey = hasPasskeys() && kinds.includes('passkey') && !isByCode
  const by = state !== 'on' ? null : isByPasskey ? 'passkey' : 'code'
  return {
    async shown(): Promise<Input<'showFactor', 'browser'>> {
      if (by === null) return {}
      return by === 'code' ? { code } : { passkey: await signByPasskey() }
    },
    // A refusal by the browser is of the passkey too.
    isOf: (error: Error) =>
      !(error instanceof ApiError) || error.param === 'code' || error.param === 'passkey',
    field(error: Error | null): ReactNode {
      if (by === null) return null
      if (by === 'code') {
        return (
          <CodeField
            hasApp={kinds.includes('app')}
            value={code}
            onChange={(event) => setCode(event.target.value)}
            error={error === null ? null : messageOf(error)}
          />
        )
      }
      return (
        <>
          <p>
            Next, your browser asks for your passkey.{' '}
            <button type="button" className="link" onClick={() => setByCode(true)}>
              Use a code instead
            </button>
          </p>
          <Problem text={error && messageOf(error)} />
        </>
      )
    },
  }
}
