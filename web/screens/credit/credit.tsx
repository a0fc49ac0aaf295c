import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Balance } from '../../api/answers.ts'
import { balanceQuery } from '../../api/queries.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndMinute, dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { Failed, Grey, Stale } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { EntryList } from './entry-list.tsx'
import { RedeemCode } from './redeem-code.tsx'

const route = getRouteApi('/$account/credit')

/** The purses of an account and the entries that they are the sums of. */
export function CreditScreen() {
  useTitle('Credit')
  const { list = 'entries', redeem = false } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({ ...balanceQuery(useAccountId()), refetchInterval: 15_000 })
  const mayRedeem = useAccountName().role !== 'member'
  return (
    <>
      <div className="top">
        <h1>Credit</h1>
        {mayRedeem && (
          <button
            type="button"
            className="btn pri"
            onClick={() => navigate({ search: (search) => ({ ...search, redeem: true }) })}
          >
            <Icon name="plus" />
            Redeem a code
          </button>
        )}
      </div>
      {query.data === undefined && query.isError ? (
        <section className="card mb-4">
          <Failed
            what="The balance could not be read."
            error={query.error}
            onRetry={() => query.refetch()}
          />
        </section>
      ) : (
        <section className="card mb-4 overflow-hidden" aria-label="Purses">
          <Stale query={query} />
          {query.data === undefined ? (
            <div className="p-5">
              <Grey width="60%" height={60} />
            </div>
          ) : (
            <Purses balance={query.data} />
          )}
        </section>
      )}
      <EntryList
        list={list}
        onList={(next) =>
          navigate({
            search: next === 'purchases' ? { list: next } : {},
            replace: true,
            resetScroll: false,
          })
        }
      />
      {redeem && mayRedeem && (
        <RedeemCode
          onClose={() =>
            void navigate({
              search: ({ redeem: _, ...search }) => search,
              replace: true,
              resetScroll: false,
            })
          }
        />
      )}
    </>
  )
}

function Purses({ balance: { credit, unresolved } }: { balance: Balance }) {
  const { backed, free } = credit
  const ends = free.expires_at === null ? null : new Date(free.expires_at)
  const next = unresolved.next_release_at
  return (
    <div className="stats">
      <div className="stat">
        <h2 className="lab">Backed credit</h2>
        <b>{money(backed.available)}</b>
        <p>
          of {money(backed.balance)}, {money(backed.held)} held
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Free credit</h2>
        <b>{money(free.available)}</b>
        <p>
          {ends === null || free.balance === 0
            ? 'none was given'
            : `until ${dayOf(ends, new Date())}, for open-weight text models`}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Unresolved</h2>
        <b>{money(unresolved.held)}</b>
        <p>
          {unresolved.requests === 0 || next === null
            ? 'no request waits for its cost'
            : `${counted(unresolved.requests, 'request')}, released by ${dayAndMinute(new Date(next))}`}
        </p>
      </div>
    </div>
  )
}
