import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import { asBrowser } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { MailedCodeField } from '../../parts/code-field.tsx'
import { Field } from '../../parts/field.tsx'
import { Door } from './door.tsx'
import { DoorForm, messageOf } from './door-form.tsx'
import { EMAIL } from './sign-in-fields.ts'

const route = getRouteApi('/sign-in-by-mail')

/** Sign-in without a password: an email with a link, and with a code for this browser. */
export function SignInByMail() {
  const { next = '/' } = route.useSearch()
  const [asked, setAsked] = useAsked()
  const { data: start } = useQuery(startQuery)
  const isOpen = start?.sign_up === 'open'
  if (asked === null) {
    return (
      <Door
        title={isOpen ? 'Sign up or sign in by email' : 'Sign in by email'}
        lead={
          isOpen
            ? 'You get an email with a code and a link. If you have no account yet, they create one.'
            : 'You get an email with a code and a link.'
        }
      >
        <AskForm
          ask={(email) => asBrowser('mailSignInLink', { email })}
          submit="Send email"
          onAsked={(email, { ticket }) => setAsked({ email, ticket })}
        />
        <BackToSignIn />
      </Door>
    )
  }
  return (
    <Door title="Enter the code" lead={<MailIsOnItsWay email={asked.email} isOpen={isOpen} />}>
      <DoorForm
        send={async ({ code = '' }) => {
          const entered = await asBrowser('signInByCode', { ticket: asked.ticket, code })
          sessionStorage.removeItem(ASKED)
          return entered
        }}
        submit="Sign in"
        next={next}
        ownFields={['code']}
      >
        {(wrong) => (
          <MailedCodeField
            error={wrong('code')}
            hint="Six digits, for 15 minutes. The link in the email works too."
          />
        )}
      </DoorForm>
      <p className="mt-4">
        <button type="button" className="link" onClick={() => setAsked(null)}>
          Send another email
        </button>
      </p>
    </Door>
  )
}

interface Asked {
  readonly email: string
  /** Goes with the code of the email; alone it signs no one in. */
  readonly ticket: string
}

const ASKED = 'tollgate-asked'
// As long as the code of an email is valid.
const KEPT_MS = 15 * MINUTE_MS

/** The email that waits for its code. It outlives a reload: phones load a tab again after a look at the mail. */
function useAsked() {
  const [asked, setAsked] = useState<Asked | null>(() => {
    const kept = JSON.parse(sessionStorage.getItem(ASKED) ?? 'null')
    return kept !== null && Date.now() - kept.atMs < KEPT_MS ? kept : null
  })
  const keep = (next: Asked | null) => {
    if (next === null) sessionStorage.removeItem(ASKED)
    else sessionStorage.setItem(ASKED, JSON.stringify({ ...next, atMs: Date.now() }))
    setAsked(next)
  }
  return [asked, keep] as const
}

/** A forgotten password: an email with a link that sets another one. */
export function Forgot() {
  const [email, setEmail] = useState<string | null>(null)
  if (email !== null) {
    return (
      <Door title="Check your email" lead={<MailIsOnItsWay email={email} />}>
        <p className="note mt-4">The link works once, within 45 minutes.</p>
        <BackToSignIn />
      </Door>
    )
  }
  return (
    <Door
      title="Choose a new password"
      lead="You get an email with a link. Your other sessions end when you use it."
    >
      <AskForm
        ask={(email) => asBrowser('mailResetLink', { email })}
        submit="Send email"
        onAsked={setEmail}
      />
      <BackToSignIn />
    </Door>
  )
}

function MailIsOnItsWay({ email, isOpen = false }: { email: string; isOpen?: boolean }) {
  const address = <b className="break-all">{email}</b>
  if (isOpen) return <>An email to {address} is on its way.</>
  return <>If a user has the address {address}, an email to it is on its way.</>
}

function BackToSignIn(): ReactNode {
  return (
    <p className="mt-4">
      <Link to="/sign-in" className="link">
        Sign in with a password
      </Link>
    </p>
  )
}

interface AskFormProps<Answer> {
  readonly ask: (email: string) => Promise<Answer>
  readonly submit: string
  readonly onAsked: (email: string, answer: Answer) => void
}

function AskForm<Answer>({ ask, submit, onAsked }: AskFormProps<Answer>) {
  const mail = useSend({
    mutationFn: ask,
    onSuccess: (answer, email) => onAsked(email, answer),
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    mail.mutate(String(new FormData(event.currentTarget).get('email')))
  }
  return (
    <form className="mt-5 grid gap-4" onSubmit={send}>
      <Field {...EMAIL} autoFocus error={mail.error && messageOf(mail.error)} />
      <button type="submit" className="btn pri h-10" aria-disabled={mail.isPending}>
        {submit}
      </button>
    </form>
  )
}
