import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Balance } from '../../api/answers.ts'
import { accountQuery, balanceQuery } from '../../api/queries.ts'
import { saleQuery } from '../../api/sale.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndMinute, dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { Failed, Grey, Stale } from '../../parts/states.tsx'
import { AllowanceLine } from '../../parts/terms-lines.tsx'
import { useTitle } from '../../parts/use-title.ts'
import type { CreditSearch } from '../../searches.ts'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { AddCredit } from './add-credit.tsx'
import { EntryList } from './entry-list.tsx'
import { Pending } from './pending.tsx'
import { Receipt } from './receipt.tsx'
import { RedeemCode } from './redeem-code.tsx'

const route = getRouteApi('/$account/credit')

/** The purses of an account, what was bought, and the entries that both are the sums of. */
export function CreditScreen() {
  useTitle('Credit')
  const { list = 'entries', open, receipt, bought = null } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery({ ...balanceQuery(useAccountId()), refetchInterval: 15_000 })
  const isOwner = useAccountName().role !== 'member'
  const change = (next: CreditSearch) =>
    void navigate({
      search: ({ open: _, receipt: __, ...before }) => ({ ...before, ...next }),
      replace: true,
      resetScroll: false,
    })
  return (
    <>
      <div className="top flex-wrap">
        <h1>Credit</h1>
        {isOwner && <Buttons onOpen={(form) => change({ open: form })} />}
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
      <Pending bought={bought} />
      <EntryList
        list={list}
        onList={(next) =>
          navigate({
            search: ({ list: _, ...before }) =>
              next === 'purchases' ? { ...before, list: next } : before,
            replace: true,
            resetScroll: false,
          })
        }
      />
      {receipt !== undefined && <Receipt purchaseId={receipt} onClose={() => change({})} />}
      {isOwner && open === 'redeem' && <RedeemCode onClose={() => change({})} />}
      {isOwner && open === 'buy' && <AddCredit onClose={() => change({})} />}
    </>
  )
}

/** What an owner does here; buying comes first where something is sold. */
function Buttons({ onOpen }: { onOpen: (form: 'redeem' | 'buy') => void }) {
  const { data, isError } = useQuery(saleQuery)
  const isNothingSold = data?.methods.length === 0
  const mayBuy = isError || (data !== undefined && !isNothingSold)
  return (
    <>
      <button
        type="button"
        className={isNothingSold ? 'btn pri' : 'btn'}
        onClick={() => onOpen('redeem')}
      >
        <span className="hide-s">
          <Icon name="gift" />
        </span>
        Redeem a code
      </button>
      {mayBuy && (
        <button type="button" className="btn pri" onClick={() => onOpen('buy')}>
          <Icon name="plus" />
          Add credit
        </button>
      )}
    </>
  )
}

function Purses({ balance: { credit, unresolved } }: { balance: Balance }) {
  const { backed, free } = credit
  const ends = free.expires_at === null ? null : new Date(free.expires_at)
  const next = unresolved.next_release_at
  const account = useQuery({ ...accountQuery(useAccountId()), refetchInterval: 15_000 })
  const allowance = account.data?.allowance ?? null
  return (
    <>
      <div className="stats">
        <div className="stat">
          <h2 className="lab">Paid credit</h2>
          <b className={backed.balance < 0 ? 'neg' : ''}>
            {money(backed.balance < 0 ? backed.balance : backed.available)}
          </b>
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
              ? 'no unresolved requests'
              : `${counted(unresolved.requests, 'request')}, released by ${dayAndMinute(new Date(next))}`}
          </p>
        </div>
      </div>
      {allowance !== null && (
        <p className="border-t border-line px-5 py-2.5 max-[760px]:px-4">
          <AllowanceLine allowance={allowance} />
        </p>
      )}
    </>
  )
}
