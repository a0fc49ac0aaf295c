import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { startQuery } from '../../api/queries.ts'
import { Field } from '../../parts/field.tsx'
import { Door } from './door.tsx'
import { DoorForm } from './door-form.tsx'
import { OutsideWays } from './outside.tsx'

/** The first operator, by the link of the first start. */
export function Setup() {
  const { data: start } = useQuery(startQuery)
  if (start?.setup_needed === false) {
    return (
      <Door
        title="tollgate is already set up."
        lead="Sign in, or ask your operator for an invitation."
      >
        <Link className="btn pri mt-5 h-10 w-full" to="/sign-in">
          Sign in
        </Link>
      </Door>
    )
  }
  return (
    <LinkDoor
      title="Set up tollgate"
      lead="You become the operator: you see every account and manage credit."
      path="setup"
      submit="Create the operator"
    >
      {(wrong) => (
        <>
          <NameField error={wrong('name')} />
          <Field
            label="Email"
            name="email"
            type="email"
            autoComplete="username"
            required
            error={wrong('email')}
            hint="What you sign in with. No mail is sent."
          />
          <NewPassword error={wrong('password')} />
        </>
      )}
    </LinkDoor>
  )
}

/** A new password, by a link of `tollgate user reset` or of a mail. */
export function Reset() {
  return (
    <LinkDoor
      title="Choose a new password"
      lead="All other sessions of this user end."
      path="auth/reset"
      submit="Save the password"
    >
      {(wrong) => <NewPassword error={wrong('password')} />}
    </LinkDoor>
  )
}

/** Sign-in by the link of a mail. It is used by the button alone: programs that look at links open the page too. */
export function SignInLink() {
  return (
    <LinkDoor
      title="Sign in to tollgate"
      lead="You opened the link of a mail. It works once."
      path="auth/link"
      submit="Sign in"
    >
      {() => null}
    </LinkDoor>
  )
}

/** A new user, by a link of `tollgate user invite`. */
export function Invitation() {
  return (
    <LinkDoor
      title="Join tollgate"
      lead="You were invited. If you are a user already, your own password adds the account."
      path="auth/invitation"
      submit="Join"
      otherWays={(token) => <OutsideWays token={token} />}
    >
      {(wrong) => (
        <>
          <NameField error={wrong('name')} />
          <NewPassword error={wrong('password')} />
        </>
      )}
    </LinkDoor>
  )
}

interface LinkDoorProps {
  readonly title: string
  readonly lead: string
  readonly path: string
  readonly submit: string
  /** Ways to use the link that are no form. Default: none. */
  readonly otherWays?: (token: string) => ReactNode
  readonly children: (wrong: (name: string) => string | null) => ReactNode
}

function LinkDoor({ title, lead, path, submit, otherWays, children }: LinkDoorProps) {
  const [token] = useState(() => location.hash.slice(1))
  // The token must not stay in the address bar, the history or a screenshot.
  useEffect(() => {
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname)
  }, [])
  if (token === '') {
    return (
      <Door
        title={title}
        lead="This link is incomplete. Copy the whole link, including the part after #."
      />
    )
  }
  return (
    <Door title={title} lead={lead}>
      <DoorForm path={path} body={{ token }} submit={submit}>
        {children}
      </DoorForm>
      {otherWays?.(token)}
    </Door>
  )
}

function NameField({ error }: { error: string | null }) {
  return <Field label="Name" name="name" autoComplete="name" required autoFocus error={error} />
}

function NewPassword({ error }: { error: string | null }) {
  return (
    <Field
      label="Password"
      name="password"
      type="password"
      autoComplete="new-password"
      minLength={12}
      maxLength={128}
      required
      error={error}
      hint="At least 12 characters."
    />
  )
}
