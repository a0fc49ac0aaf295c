import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Me } from '../api/answers.ts'
import { accountQuery } from '../api/queries.ts'

const accountRoute = getRouteApi('/$account')

/** The signed-in user, as the route has read it. */
export function useMe(): Me {
  return accountRoute.useRouteContext().me
}

/** The id of the account whose pages are shown. */
export function useAccountId(): string {
  return accountRoute.useParams().account
}

/** Its name and the user's role in it. An operator opens accounts that are not its own. */
export function useAccountName(): { readonly name: string; readonly role: string } {
  const me = useMe()
  const accountId = useAccountId()
  const own = me.accounts.find(({ id }) => id === accountId)
  const other = useQuery({ ...accountQuery(accountId), enabled: own === undefined })
  if (own !== undefined) return { name: own.name, role: own.role }
  return { name: other.data?.name ?? 'Account', role: 'operator' }
}
