import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { asBrowser } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { Problem } from '../../parts/problem.tsx'
import { useCameBack } from '../../parts/use-came-back.ts'
import { Door } from './door.tsx'
import { messageOf, useEnter } from './door-form.tsx'

const NEXT = 'tollgate-next'

interface OutsideWaysProps {
  /** The page that is opened then. */
  readonly next?: string
  /** The token of an invitation to accept. Default: none. */
  readonly token?: string
}

/** A button for each provider at which people may sign in. */
export function OutsideWays({ next = '/', token = '' }: OutsideWaysProps) {
  const { data: start } = useQuery(startQuery)
  const leave = useSend({
    mutationFn: (provider: string) => asBrowser('beginOutsideSignIn', { provider, token }),
    onSuccess({ url }) {
      sessionStorage.setItem(NEXT, next)
      location.assign(url)
    },
  })
  useCameBack(leave.reset)
  // The browser leaves the page a while after the answer.
  const isLeaving = leave.isPending || leave.isSuccess
  const providers = start?.providers ?? []
  if (providers.length === 0) return null
  return (
    <div className="mt-5 grid gap-2">
      {providers.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          className="btn h-10"
          aria-disabled={isLeaving}
          onClick={() => {
            if (!isLeaving) leave.mutate(id)
          }}
        >
          Continue with {name}
        </button>
      ))}
      <Problem text={leave.error && messageOf(leave.error)} />
    </div>
  )
}

const route = getRouteApi('/sign-in-return/$provider')

/** The page to which a provider sends the browser back: it completes the sign-in. */
export function SignInReturn() {
  const { provider } = route.useParams()
  const query = route.useLoaderData()
  const enter = useEnter()
  const [error, setError] = useState<Error | null>(null)
  const isSent = useRef(false)
  useEffect(() => {
    if (isSent.current) return
    isSent.current = true
    // The code must not stay in the address bar or the history.
    history.replaceState(history.state, '', location.pathname)
    const next = sessionStorage.getItem(NEXT) ?? '/'
    sessionStorage.removeItem(NEXT)
    asBrowser('finishOutsideSignIn', { provider, query })
      .then((entered) => enter(entered, next))
      .catch((thrown: unknown) =>
        setError(thrown instanceof Error ? thrown : new Error(String(thrown))),
      )
  }, [provider, query, enter])
  if (error === null) return <Door title="Signing in" lead="One moment." />
  return (
    <Door title="Not signed in" lead="Nothing has changed.">
      <Problem text={messageOf(error)} className="mt-4" />
      <p className="mt-4">
        <Link to="/sign-in" className="link">
          Back to the sign-in
        </Link>
      </p>
    </Door>
  )
}
