import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { asBrowser } from '../api/calls.ts'
import { meQuery } from '../api/queries.ts'
import { Icon } from '../parts/icon.tsx'
import { setSessionEnded, useSessionEnded } from '../parts/session-end.ts'
import { SignInElsewhere } from '../parts/sign-in-elsewhere.tsx'

const AGAIN_MS = 3_000

/** Says that the session has ended, as long as the page has something that a sign-in here would lose. */
export function SessionBand() {
  return useSessionEnded() ? <EndedBand /> : null
}

function EndedBand() {
  useNewSession()
  return (
    <section className="band bad" role="alert" aria-label="Signed out">
      <Icon name="leave" />
      <div>
        <p>
          <b>You are signed out.</b>
        </p>
        <SignInElsewhere />
      </div>
    </section>
  )
}

/** Goes on as soon as the user has signed in again. Another user gets a new page. */
function useNewSession(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const look = async () => {
      const start = await asBrowser('getStart', {})
      if (!start.signed_in) return
      const before = queries.getQueryData(meQuery.queryKey)
      const me = await asBrowser('getMe', {})
      if (before?.user.id !== me.user.id) return location.reload()
      setSessionEnded(false)
      queries.setQueryData(meQuery.queryKey, me)
      await queries.invalidateQueries()
    }
    // Without an answer, the next look finds out.
    const lookSoon = () => void look().catch(() => undefined)
    const timer = setInterval(lookSoon, AGAIN_MS)
    addEventListener('focus', lookSoon)
    return () => {
      clearInterval(timer)
      removeEventListener('focus', lookSoon)
    }
  }, [queries])
}
