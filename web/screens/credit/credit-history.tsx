import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import {
  comparedSpan,
  type DateRange,
  dateOf,
  readDateRange,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import { balanceQuery, momentsOf, statementQuery } from '../../api/queries.ts'
import { rangeText } from '../../format/ranges.ts'
import { type CreditHistorySearch, DEFAULT_RANGE, withRange } from '../../searches.ts'
import { useAccountCaller, useScreenSearch } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { BalanceCard } from './balance-card.tsx'
import { EntryList } from './entry-list.tsx'
import type { ListProps } from './list-header.tsx'
import { Receipt } from './receipt.tsx'
import { StatementList } from './statement-list.tsx'

interface CreditHistoryProps {
  /** Between the balance and the lists. Default: nothing. */
  readonly children?: ReactNode
}

/** The balance of an account by day, and its statement, top-ups or entries: range and list are in the address. */
export function CreditHistory({ children }: CreditHistoryProps) {
  const accountId = useAccountId()
  const as = useAccountCaller()
  const { search, change } = useScreenSearch<CreditHistorySearch>()
  const { list = 'statement', receipt } = search
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const spanOf = useSpanOf()
  const span = spanOf(range)
  const moments = momentsOf(span)
  const balance = useQuery(balanceQuery(accountId, as))
  const statement = useQuery(statementQuery(accountId, as, moments))
  const isNew = balance.data?.has_backed_credit === false && statement.data?.closing_balance === 0
  const look = (next: DateRange) =>
    change((before) => withRange(before, { range: next, compare: null }), { resetScroll: false })
  const lists: ListProps = {
    list,
    moments,
    rangeWords: rangeText(range),
    onList: (next) =>
      change(
        ({ list: _, ...before }) => (next === 'statement' ? before : { ...before, list: next }),
        { replace: true, resetScroll: false },
      ),
    onEarlier: () => look(daysOf(comparedSpan(span, 'before'))),
  }
  return (
    <>
      <BalanceCard
        balance={balance}
        statement={statement}
        range={range}
        spanOf={spanOf}
        onRange={look}
      />
      {children}
      {list === 'entries' ? (
        <EntryList {...lists} />
      ) : (
        <StatementList {...lists} query={statement} isNew={isNew} />
      )}
      {receipt !== undefined && (
        <Receipt
          purchaseId={receipt}
          onClose={() =>
            change(({ receipt: _, ...before }) => before, { replace: true, resetScroll: false })
          }
        />
      )}
    </>
  )
}

function daysOf({ fromMs, toMs }: TimeSpan): DateRange {
  return { kind: 'dates', from: dateOf(fromMs), to: dateOf(toMs - 1) }
}
