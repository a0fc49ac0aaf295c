import { useQueryClient } from '@tanstack/react-query'
import { asBrowser } from '../api/calls.ts'
import { forgetAnswers } from '../api/client.ts'

/** Ends the session, and opens the sign-in; what was read is dropped with the page. */
export function useSignOut(): () => void {
  const queries = useQueryClient()
  return () => {
    const leaving = asBrowser('signOut', {}).finally(() => {
      queries.clear()
      forgetAnswers()
      location.assign('/app/sign-in')
    })
    // Without an answer, the sign-in says so.
    leaving.catch(() => undefined)
  }
}
