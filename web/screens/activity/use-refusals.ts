import { useQuery } from '@tanstack/react-query'
import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import { REFUSALS_KEPT_DAYS } from '../../../src/vocabulary/date-range.ts'
import { callAs } from '../../api/calls.ts'
import { momentsOf } from '../../api/queries.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { type ActivitySearch, rangeOf } from './search.ts'
import { activitySpan, type RequestSource } from './use-activity.ts'

// The counts that are kept begin at an hour: no longer range has more.
const SPAN_MS_MAX = (REFUSALS_KEPT_DAYS + 1) * DAY_MS
const REFETCH_MS = 15_000

/** The account, null for all, and the kind of reader. */
interface RefusalSource {
  readonly as: RequestSource['as']
  readonly accountId: string | null
}

/**
 * Counts of the account's requests that were refused in the range, with the picked keys if there are any. No other
 * filter applies. Never asked for all accounts.
 */
export function useRefusals({ as, accountId }: RefusalSource, search: ActivitySearch) {
  const spanOf = useSpanOf()
  const range = rangeOf(search)
  const { key } = search
  return useQuery({
    queryKey: ['refusals', as, accountId, range, key],
    queryFn: ({ signal }) => {
      const { fromMs, toMs } = activitySpan(range, spanOf)
      const moments = momentsOf({ fromMs: Math.max(fromMs, toMs - SPAN_MS_MAX), toMs })
      return callAs(as)('getRefusals', { account_id: accountId ?? '', key, ...moments }, signal)
    },
    enabled: accountId !== null,
    refetchInterval: REFETCH_MS,
  })
}
