import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Answer } from '../api/calls.ts'
import { startQuery } from '../api/queries.ts'

/** The name of the service: the operator's, else that of the software. */
export function useServiceName(): string {
  return useStart()?.service_name ?? 'tollgate'
}

/** A link to the operator; null: the operator gave no contact. */
export function useContact(): string | null {
  return useStart()?.contact ?? null
}

/** A link to the operator where there is one, else the same words. */
export function ContactLink({ children }: { readonly children: ReactNode }) {
  const contact = useContact()
  if (contact === null) return children
  return (
    <a className="link" href={contact}>
      {children}
    </a>
  )
}

type Start = Answer<'getStart', 'browser'>

// A sign-in forgets what was read before it, and settings do not change while the page is open.
let latest: Start | undefined

/** As it was read for the first screen: none is asked for, so that a page without a server shows its sign too. */
function useStart(): Start | undefined {
  const { data } = useQuery({ ...startQuery, enabled: false })
  if (data !== undefined) latest = data
  return latest
}
