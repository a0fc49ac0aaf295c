import { useQuery } from '@tanstack/react-query'
import { keysQuery } from '../../api/queries.ts'

/** The rest of the Playground key's limit, in micro-dollars; null: it has no limit, or is not made yet. */
export function usePlaygroundKey(
  accountId: string,
): { readonly limitMicros: number; readonly leftMicros: number } | null {
  const { data } = useQuery(keysQuery(accountId))
  const key = data?.data.find(({ name }) => name === 'Playground')
  if (key === undefined || key.credit_limit === null) return null
  const { credit_limit: limitMicros, spend, held } = key
  return { limitMicros, leftMicros: Math.max(0, limitMicros - spend - held) }
}
