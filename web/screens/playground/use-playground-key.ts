import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { ApiKey } from '../../api/answers.ts'
import { keyPagesQuery, keysQuery } from '../../api/queries.ts'

const NAME = 'Playground'

/** The Playground's key alone has no text, and so no start of one. People can name theirs as they like. */
const isPlaygrounds = ({ prefix }: ApiKey) => prefix === ''

/** The rest of the Playground key's limit, in micro-dollars; null: it has no limit, or is not made yet. */
export function usePlaygroundKey(
  accountId: string,
): { readonly limitMicros: number; readonly leftMicros: number } | null {
  const { data } = useQuery(keysQuery(accountId))
  const newest = data?.data.find(isPlaygrounds)
  // Of an account with more keys than a page of the list, it may be an older one.
  const isOlder = newest === undefined && data?.has_more === true
  const older = useInfiniteQuery({ ...keyPagesQuery(accountId, NAME), enabled: isOlder })
  const found = older.data?.pages.flatMap((page) => page.data) ?? []
  const key = newest ?? found.find(isPlaygrounds)
  if (key === undefined || key.credit_limit === null) return null
  const { credit_limit: limitMicros, spend, held } = key
  return { limitMicros, leftMicros: Math.max(0, limitMicros - spend - held) }
}
