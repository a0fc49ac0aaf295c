import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { PASSWORD_CHARS_MIN, TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Session } from '../../api/answers.ts'
import { asBrowser, type Input } from '../../api/calls.ts'
import { sessionsQuery, startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { ago, dayOf } from '../../format/time.ts'
import { Field } from '../../parts/field.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Problem } from '../../parts/problem.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useMe } from '../../shell/use-account.ts'
import { textsOf } from '../door/door-form.tsx'
import { AlertMails } from './alert-mails.tsx'
import { browserName } from './browser-name.ts'
import { NameAndEmail } from './name-and-email.tsx'
import { OwnAccounts } from './own-accounts.tsx'
import { SecondFactor } from './second-factor.tsx'

/** The user: name, email address and password, second factors, where the user is signed in, and accounts. */
export function ProfileScreen() {
  const { user } = useMe()
  return (
    <>
      <ScreenTop title="Profile" />
      <div className="cols forms">
        <div className="stack">
          <NameAndEmail />
          <section className="card">
            <header>
              <h2>Password</h2>
            </header>
            {user.has_password ? (
              <>
                <p className="note px-[18px] pt-1">A change ends all other sessions.</p>
                <PasswordForm />
              </>
            ) : (
              <NoPassword />
            )}
          </section>
          <AlertMails />
        </div>
        <div className="stack">
          <SecondFactor />
          <Sessions />
          <OwnAccounts />
        </div>
      </div>
    </>
  )
}

/** A user who signs in by email or at a provider has no current password to type. */
function NoPassword() {
  const { user } = useMe()
  const { data: start } = useQuery(startQuery)
  const ask = useSend({ mutationFn: () => asBrowser('mailResetLink', { email: user.email }) })
  if (start?.mail !== true) {
    return (
      <p className="note px-[18px] pt-1 pb-[18px]">
        {/* The user can be the only operator, who signed in at a provider. */}
        You have no password. To choose one, ask the person who runs this server for a link. On the
        server, <span className="mono">tollgate user reset</span> makes one.
      </p>
    )
  }
  return (
    <div className="grid justify-items-start gap-3 px-[18px] pt-1 pb-[18px]">
      <p className="note" role="status">
        {ask.isSuccess
          ? `An email to ${user.email} is on its way. Its link works once, within 45 minutes.`
          : 'You have no password. We can email you a link to choose one.'}
      </p>
      <Problem text={ask.error?.message} />
      {!ask.isSuccess && (
        <button
          type="button"
          className="btn"
          aria-disabled={ask.isPending}
          onClick={() => ask.mutate()}
        >
          Send email
        </button>
      )}
    </div>
  )
}

function PasswordForm() {
  const queries = useQueryClient()
  const [isDone, setDone] = useState(false)
  const change = useSend({
    mutationFn: (typed: Input<'changePassword', 'browser'>) => asBrowser('changePassword', typed),
    gcTime: 0,
    onSuccess: () => {
      setDone(true)
      return queries.invalidateQueries(sessionsQuery)
    },
  })
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    setDone(false)
    const { current_password = '', new_password = '' } = textsOf(form)
    change.mutate({ current_password, new_password }, { onSuccess: () => form.reset() })
  }
  const refusal = refusalOf(change.error, ['current_password', 'new_password'])
  return (
    <form className="grid gap-4 p-[18px]" onSubmit={send}>
      <Field
        label="Current password"
        name="current_password"
        type="password"
        autoComplete="current-password"
        required
        error={refusal.at('current_password')}
      />
      <Field
        label="New password"
        name="new_password"
        type="password"
        autoComplete="new-password"
        minLength={PASSWORD_CHARS_MIN}
        maxLength={TEXT_CHARS_MAX.password}
        required
        hint={`At least ${PASSWORD_CHARS_MIN} characters.`}
        error={refusal.at('new_password')}
      />
      <Problem text={refusal.rest} />
      <div className="flex items-center gap-3">
        <button type="submit" className="btn pri" aria-disabled={change.isPending}>
          Change the password
        </button>
        <span className="note" role="status">
          {isDone && 'Changed.'}
        </span>
      </div>
    </form>
  )
}

const HEADS = [
  { text: 'Browser' },
  { text: 'Last used' },
  { text: 'Signed in' },
  { text: 'Sign out', isHidden: true },
] as const

function Sessions() {
  const query = useQuery(sessionsQuery)
  return (
    <ListCard
      label="Sessions"
      header={
        <header className="pb-2">
          <h2>Sessions</h2>
          {(query.data?.data.length ?? 0) > 1 && <EndOthers />}
        </header>
      }
      query={query}
      rows={query.data?.data}
      empty={null}
      heads={HEADS}
      greyRows={2}
      row={(session) => <SessionRow key={session.id} session={session} />}
    />
  )
}

/** Ends all sessions but this one. */
function EndOthers() {
  const queries = useQueryClient()
  const end = useSend({
    mutationFn: () => asBrowser('endOtherSessions', {}),
    onSuccess: () => queries.invalidateQueries(sessionsQuery),
  })
  return (
    <>
      <Problem text={end.error?.message} />
      <button
        type="button"
        className="btn"
        aria-disabled={end.isPending}
        onClick={() => end.mutate()}
      >
        Sign out everywhere else
      </button>
    </>
  )
}

function SessionRow({ session }: { session: Session }) {
  const queries = useQueryClient()
  const end = useSend({
    mutationFn: () => asBrowser('endSession', { session_id: session.id }),
    onSuccess: () => {
      if (session.current) location.assign('/app/sign-in')
      return queries.invalidateQueries(sessionsQuery)
    },
  })
  return (
    <tr>
      <td>
        <b>{browserName(session.agent)}</b>{' '}
        {session.current && <span className="dimmed">this browser</span>}
        <span className="two mono">{session.address ?? 'address unknown'}</span>
      </td>
      <td className="text-ink-2">
        {session.current ? 'Now' : <Time at={session.last_used_at} show={ago} />}
      </td>
      <td className="text-ink-2 hide-s">
        <Time at={session.created_at} show={dayOf} />
      </td>
      <td className="num wide">
        <button
          type="button"
          className="btn"
          aria-label={`Sign out ${browserName(session.agent)}`}
          aria-disabled={end.isPending}
          onClick={() => end.mutate()}
        >
          Sign out
        </button>
        <Problem text={end.error?.message} />
      </td>
    </tr>
  )
}
