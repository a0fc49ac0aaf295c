import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import {
  accountsQuery,
  auditQuery,
  healthQuery,
  purchasesQuery,
  unsettledQuery,
  upstreamsQuery,
  webhooksQuery,
} from '../../api/operator.ts'
import { MoreRows, useFirstRows } from '../../parts/first-rows.tsx'
import { NeedsList } from '../../parts/needs-list.tsx'
import { Failed, Grey } from '../../parts/states.tsx'
import { attentionOf, type Known } from './operator-attention.ts'

// More would leave the column beside them empty.
const SHOWN_MAX = 6

/** The items that need an operator's attention, with a link to each. */
export function NeedsAttention() {
  const { known, unread, failed } = useKnown()
  const items = attentionOf(known)
  const first = useFirstRows(items, SHOWN_MAX)
  return (
    <section className="card first-s" aria-label="Needs attention" aria-busy={unread}>
      <header>
        <h2>Needs attention</h2>
      </header>
      {items.length > 0 && <NeedsList needs={first.shown ?? []} />}
      <MoreRows rows={first} noun="item" />
      {failed !== undefined ? (
        <Failed what="Some checks could not be loaded." query={failed} />
      ) : unread ? (
        <div className="p-5">
          <Grey width="70%" />
        </div>
      ) : (
        items.length === 0 && <p className="note px-[18px] pt-2 pb-4">Nothing needs attention.</p>
      )}
    </section>
  )
}

const LOW_CREDIT = { state: 'low_credit', sort: 'available' } as const
// The largest debts first.
const IN_DEBT = { state: 'in_debt', sort: 'available' } as const

/** All that is known, whether some of it is still read, and the read that failed. */
function useKnown() {
  const upstreams = useQuery(upstreamsQuery)
  const held = useInfiniteQuery(purchasesQuery('held'))
  const unsettled = useInfiniteQuery(unsettledQuery)
  const debtors = useInfiniteQuery(accountsQuery('', IN_DEBT))
  const failing = useInfiniteQuery({
    ...accountsQuery('', { state: 'failing' }),
    refetchInterval: MINUTE_MS,
  })
  const low = useInfiniteQuery(accountsQuery('', LOW_CREDIT))
  const health = useQuery(healthQuery)
  const audit = useQuery(auditQuery)
  const webhooks = useQuery(webhooksQuery)
  const reads = [upstreams, held, unsettled, debtors, failing, low, health, webhooks]
  const known: Known = {
    upstreams: upstreams.data?.data,
    held: held.data?.pages[0],
    unsettled: unsettled.data?.pages[0],
    debtors: debtors.data?.pages[0],
    failing: failing.data?.pages[0],
    low: low.data?.pages[0],
    health: health.data,
    audit: audit.data,
    webhooks: webhooks.data?.data,
  }
  const failed = reads.flatMap(({ data, error, refetch }) =>
    data === undefined && error !== null ? [{ error, refetch }] : [],
  )[0]
  return { known, failed, unread: reads.some(({ data }) => data === undefined) }
}
