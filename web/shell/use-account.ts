import { useQuery } from '@tanstack/react-query'
import { useParams, useRouteContext, useRouterState } from '@tanstack/react-router'
import type { Me } from '../api/answers.ts'
import { accountQuery } from '../api/queries.ts'

/** The owner of the shown pages: an account, the operator, or the user. */
export type Place =
  | { readonly kind: 'account'; readonly accountId: string }
  | { readonly kind: 'operator' }
  | { readonly kind: 'profile' }

/** Reads the place from the address. */
export function usePlace(): Place {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const { account } = useParams({ strict: false })
  if (path.startsWith('/operator')) return { kind: 'operator' }
  // The address changes before the account of the page that is left is gone.
  if (path === '/profile') return { kind: 'profile' }
  return account === undefined ? { kind: 'profile' } : { kind: 'account', accountId: account }
}

/** The signed-in user, as the route has read it. */
export function useMe(): Me {
  const { me } = useRouteContext({ strict: false })
  if (me === undefined) throw new Error('this page is shown to signed-in users alone')
  return me
}

/** The ID of the account whose pages are shown. */
export function useAccountId(): string {
  const { account } = useParams({ strict: false })
  if (account === undefined) throw new Error('this page belongs to no account')
  return account
}

/** Its name and the user's role in it. An operator opens accounts that are not its own. */
export function useAccountName(): { readonly name: string; readonly role: string } {
  const { name, role } = useNameOf(useAccountId())
  return { name, role }
}

interface NamedAccount {
  readonly name: string
  readonly role: string
  /** Why its name could not be loaded; null: it was, or still is being read. */
  readonly error: Error | null
}

/** The name of any account that the user can open, the user's role in it, and whether there is one; of an empty ID, none. */
export function useNameOf(accountId: string): NamedAccount {
  const me = useMe()
  const own = me.accounts.find(({ id }) => id === accountId)
  const enabled = own === undefined && accountId !== ''
  const other = useQuery({ ...accountQuery(accountId), enabled, retry: false })
  if (own !== undefined) return { name: own.name, role: own.role, error: null }
  const role = me.user.is_operator ? 'operator' : 'not a member'
  return { name: other.data?.name ?? 'Account', role, error: other.error }
}
