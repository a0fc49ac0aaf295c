import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { PASSWORD_CHARS_MIN, TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { LinkLook } from '../../api/answers.ts'
import { asBrowser } from '../../api/calls.ts'
import { currentTime } from '../../api/clock.ts'
import { meQuery, startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { dayOf } from '../../format/time.ts'
import { Field } from '../../parts/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useServiceName } from '../../parts/service-name.tsx'
import { GreyForm } from '../../parts/states.tsx'
import { Door } from './door.tsx'
import { DoorForm, type DoorFormProps } from './door-form.tsx'
import { OutsideWays } from './outside.tsx'
import { EMAIL } from './sign-in-fields.ts'

/** The first operator, by the link of the first start. */
export function Setup() {
  const { data: start } = useQuery(startQuery)
  const token = useToken()
  if (start?.setup_needed === false) {
    return (
      <Door
        title="tollgate is already set up."
        lead="Sign in, or ask your operator for an invitation."
      >
        <ToSignIn />
      </Door>
    )
  }
  return (
    <LinkDoor
      token={token}
      title="Set up tollgate"
      lead="You become the operator: you see every account and manage credit."
      send={({ email = '', name = '', password = '' }) =>
        asBrowser('setUp', { token, email, name, password })
      }
      submit="Create the operator"
      next="/operator"
    >
      {(wrong) => (
        <>
          <NameField error={wrong('name')} />
          <Field {...EMAIL} error={wrong('email')} hint="You sign in with it. No email is sent." />
          <NewPassword error={wrong('password')} />
        </>
      )}
    </LinkDoor>
  )
}

/** A new password, by a link of `tollgate user reset` or of an email. */
export function Reset() {
  return (
    <OpenedLink title="Choose a new password" look="lookAtResetLink">
      {(token) => (
        <LinkDoor
          token={token}
          title="Choose a new password"
          lead="All other sessions of this user end."
          send={({ password = '' }) => asBrowser('resetPassword', { token, password })}
          submit="Save the password"
        >
          {(wrong) => <NewPassword autoFocus error={wrong('password')} />}
        </LinkDoor>
      )}
    </OpenedLink>
  )
}

/** Sign-in by the link of an email. Only the button uses it: programs that scan links open the page too. */
export function SignInLink() {
  const title = `Sign in to ${useServiceName()}`
  return (
    <OpenedLink title={title} look="lookAtSignInLink">
      {(token) => (
        <LinkDoor
          token={token}
          title={title}
          lead="You opened a link from an email. It works once."
          send={() => asBrowser('signInByLink', { token })}
          submit="Sign in"
        >
          {() => null}
        </LinkDoor>
      )}
    </OpenedLink>
  )
}

/** The new address of a user. Only the button uses the link: programs that scan links open the page too. */
export function NewEmail() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const title = 'Confirm your email address'
  const { data: start } = useQuery(startQuery)
  const confirm = useSend({
    mutationFn: (token: string) => asBrowser('confirmNewEmail', { token }),
    onSuccess: () => queries.invalidateQueries({ queryKey: meQuery.queryKey }),
  })
  return (
    <OpenedLink
      title={title}
      look="lookAtNewEmailLink"
      usedLead="Send yourself a new one under “Profile”."
    >
      {(token, look) =>
        token === '' ? (
          <Door title={title} lead={INCOMPLETE} />
        ) : start?.signed_in === false ? (
          <Door
            title={title}
            lead="Sign in first, with your present address. Then open this link again."
          >
            <ToSignIn />
          </Door>
        ) : confirm.isSuccess ? (
          <Door
            title="Your email address is changed."
            lead={`You now sign in with ${confirm.data.email}.`}
          >
            <button
              type="button"
              className="btn pri mt-5 h-10 w-full"
              onClick={() => void navigate({ to: '/profile' })}
            >
              Continue
            </button>
          </Door>
        ) : (
          <Door
            title={title}
            lead={`After that, you sign in with ${look?.email ?? 'the address that got this link'}.`}
          >
            <Problem text={confirm.error?.message} />
            <button
              type="button"
              className="btn pri mt-5 h-10 w-full"
              aria-disabled={confirm.isPending}
              onClick={() => confirm.mutate(token)}
            >
              Confirm the address
            </button>
          </Door>
        )
      }
    </OpenedLink>
  )
}

/** A new user, by an invitation. */
export function Invitation() {
  const service = useServiceName()
  return (
    <OpenedLink title={`Join ${service}`} look="lookAtInvitation">
      {(token, look) => (
        <LinkDoor
          token={token}
          title={`Join ${look?.account_name ?? service}`}
          lead={look === null ? 'You are invited.' : <Invited look={look} />}
          send={({ name = '', password = '' }) =>
            asBrowser('acceptInvitation', { token, name, password })
          }
          submit="Join"
          otherWays={<OutsideWays token={token} />}
        >
          {(wrong) => (
            <>
              <SignInName email={look?.email ?? null} />
              <NameField error={wrong('name')} />
              <NewPassword
                error={wrong('password')}
                hint={`At least ${PASSWORD_CHARS_MIN} characters. If you are already a user, type your existing password.`}
              />
            </>
          )}
        </LinkDoor>
      )}
    </OpenedLink>
  )
}

/** The address of the invitation, where password managers find it; nothing if it is not known. */
function SignInName({ email }: { email: string | null }) {
  if (email === null) return null
  return <Field {...EMAIL} readOnly value={email} error={null} hint="You sign in with it." />
}

function Invited({ look }: { look: LinkLook }) {
  const { inviter, account_name: account, role, operator, expires_at: expiresAt } = look
  const by = inviter === null ? 'You are invited' : `${inviter} invites you`
  const to = account === null ? '' : ` to ${account}`
  const as = operator ? 'an operator' : role === 'owner' ? 'an owner' : 'a member'
  return (
    <>
      {by}
      {to} as {as}.
      {expiresAt !== null && ` This link expires on ${dayOf(new Date(expiresAt), currentTime())}.`}
    </>
  )
}

interface OpenedLinkProps {
  readonly title: string
  /** The call that looks at the link. */
  readonly look: 'lookAtInvitation' | 'lookAtNewEmailLink' | 'lookAtResetLink' | 'lookAtSignInLink'
  /** How to get another link. Default: from the person who made it. */
  readonly usedLead?: string
  /** By position: the token, and what the server says of its link; null: it could not be asked. */
  readonly children: (token: string, look: LinkLook | null) => ReactNode
}

/** Looks at a link, and shows the form only where it can still be taken. */
function OpenedLink({ title, look: call, usedLead, children }: OpenedLinkProps) {
  const token = useToken()
  const { data: look, isError } = useQuery({
    queryKey: ['look', call, token],
    queryFn: () => asBrowser(call, { token }),
    enabled: token !== '',
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (token === '' || isError) return children(token, null)
  if (look === undefined) {
    return (
      <Door title={title} lead="">
        <GreyForm />
      </Door>
    )
  }
  if (look.usable) return children(token, look)
  return (
    <Door
      title="This link has been used or has expired."
      lead={usedLead ?? `Ask ${look.inviter ?? 'your operator'} for a new one.`}
    >
      <ToSignIn />
    </Door>
  )
}

function ToSignIn() {
  return (
    <Link className="btn pri mt-5 h-10 w-full" to="/sign-in">
      Sign in
    </Link>
  )
}

/** The token of a link, which must not stay in the address bar, the history or a screenshot. */
function useToken(): string {
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname)
  }, [])
  return token
}

const INCOMPLETE = 'This link is incomplete. Open it again, with the part after #.'

interface LinkDoorProps {
  readonly token: string
  readonly title: string
  readonly lead: ReactNode
  readonly send: DoorFormProps['send']
  readonly submit: string
  /** The page that is opened then. Default: that of the first account. */
  readonly next?: string
  /** Ways to use the link that are no form. Default: none. */
  readonly otherWays?: ReactNode
  readonly children: (wrong: (name: string) => string | null) => ReactNode
}

function LinkDoor({ token, title, lead, otherWays, children, ...form }: LinkDoorProps) {
  if (token === '') return <Door title={title} lead={INCOMPLETE} />
  return (
    <Door title={title} lead={lead}>
      <DoorForm {...form}>{children}</DoorForm>
      {otherWays}
    </Door>
  )
}

function NameField({ error }: { error: string | null }) {
  return <Field label="Name" name="name" autoComplete="name" required autoFocus error={error} />
}

interface NewPasswordProps {
  readonly error: string | null
  /** Whether it is the first field. Default: no. */
  readonly autoFocus?: boolean
  /** Default: how long it must be. */
  readonly hint?: string
}

function NewPassword({
  error,
  autoFocus = false,
  hint = `At least ${PASSWORD_CHARS_MIN} characters.`,
}: NewPasswordProps) {
  return (
    <Field
      label="Password"
      name="password"
      type="password"
      autoComplete="new-password"
      minLength={PASSWORD_CHARS_MIN}
      maxLength={TEXT_CHARS_MAX.password}
      required
      autoFocus={autoFocus}
      error={error}
      hint={hint}
    />
  )
}
