import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import {
  comparedSpan,
  type DateRange,
  dateOf,
  readDateRange,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import { balanceQuery, momentsOf, statementQuery } from '../../api/queries.ts'
import { saleQuery } from '../../api/sale.ts'
import { rangeText } from '../../format/ranges.ts'
import { Icon } from '../../parts/icon.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { type CreditSearch, DEFAULT_RANGE, withRange } from '../../searches.ts'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { AddCredit } from './add-credit.tsx'
import { BalanceCard } from './balance-card.tsx'
import { EntryList } from './entry-list.tsx'
import type { ListProps } from './list-header.tsx'
import { Pending } from './pending.tsx'
import { Receipt } from './receipt.tsx'
import { RedeemCode } from './redeem-code.tsx'
import { StatementList } from './statement-list.tsx'

const route = getRouteApi('/$account/credit')

/** The credit of an account, how it came to be, and how more is added. */
export function CreditScreen() {
  useTitle('Credit')
  const search = route.useSearch()
  const { list = 'statement', open, receipt, bought = null } = search
  const navigate = route.useNavigate()
  const accountId = useAccountId()
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const spanOf = useSpanOf()
  const span = spanOf(range)
  const moments = momentsOf(span)
  const balance = useQuery({ ...balanceQuery(accountId), refetchInterval: 15_000 })
  const statement = useQuery(statementQuery(accountId, moments))
  const isOwner = useAccountName().role !== 'member'
  const isNew = balance.data?.has_backed_credit === false && statement.data?.closing_balance === 0
  const change = (next: CreditSearch) =>
    void navigate({
      search: ({ open: _, receipt: __, ...before }) => ({ ...before, ...next }),
      replace: true,
      resetScroll: false,
    })
  const look = (next: DateRange) =>
    void navigate({
      search: (before) => withRange(before, { range: next, compare: null }),
      resetScroll: false,
    })
  const lists: ListProps = {
    list,
    moments,
    rangeWords: rangeText(range),
    onList: (next) =>
      navigate({
        search: ({ list: _, ...before }) =>
          next === 'statement' ? before : { ...before, list: next },
        replace: true,
        resetScroll: false,
      }),
    onEarlier: () => look(daysOf(comparedSpan(span, 'before'))),
  }
  return (
    <>
      <div className="top flex-wrap">
        <h1>Credit</h1>
        {isOwner && <Buttons onOpen={(form) => change({ open: form })} />}
      </div>
      <BalanceCard
        balance={balance}
        statement={statement}
        range={range}
        spanOf={spanOf}
        onRange={look}
      />
      <Pending bought={bought} />
      {list === 'entries' ? (
        <EntryList {...lists} />
      ) : (
        <StatementList {...lists} query={statement} isNew={isNew} />
      )}
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

function daysOf({ fromMs, toMs }: TimeSpan): DateRange {
  return { kind: 'dates', from: dateOf(fromMs), to: dateOf(toMs - 1) }
}
