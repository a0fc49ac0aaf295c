import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import type { DateRange, TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { MICROS_PER_DOLLAR } from '../../../src/vocabulary/money.ts'
import { paidDaysLeft } from '../../../src/vocabulary/pace.ts'
import type { Balance, Statement } from '../../api/answers.ts'
import { currentMs } from '../../api/clock.ts'
import { accountQuery, startQuery } from '../../api/queries.ts'
import { Chart } from '../../charts/chart.tsx'
import { money, moneyParts, moneyTick } from '../../format/money.ts'
import { dayAndShortMinute, dayOf } from '../../format/time.ts'
import { CreditLegend, creditShares, FreeCreditLine } from '../../parts/credit-shares.tsx'
import { useNow } from '../../parts/now.ts'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Failed, Grey, Stale } from '../../parts/states.tsx'
import { AllowanceLine } from '../../parts/terms-lines.tsx'
import { useAccountId, useAccountName, useMe } from '../../shell/use-account.ts'
import { balanceDays } from './balance-days.ts'

interface BalanceCardProps {
  readonly balance: UseQueryResult<Balance>
  readonly statement: UseQueryResult<Statement>
  readonly range: DateRange
  readonly spanOf: (range: DateRange) => TimeSpan
  readonly onRange: (range: DateRange) => void
}

/** The available credit, the balance of each day, and the paid, held and free credit. */
export function BalanceCard({ balance, statement, range, spanOf, onRange }: BalanceCardProps) {
  if (balance.data === undefined && balance.isError) {
    return (
      <section className="card mb-4">
        <Failed what="The balance could not be loaded." query={balance} />
      </section>
    )
  }
  return (
    <section className="card mb-4 overflow-hidden" aria-label="Balance">
      <Stale query={balance} />
      <div className="balance">
        <div className="fig">
          <div className="flex flex-wrap items-start gap-3 px-5 max-[760px]:px-4">
            <div className="flex-1">
              <h2 className="lab">Available credit</h2>
              {balance.data === undefined ? (
                <Grey width={150} height={34} />
              ) : (
                <Available balance={balance.data} />
              )}
            </div>
            <RangePicker
              range={range}
              compare={null}
              spanOf={spanOf}
              onChange={(picked) => onRange(picked.range)}
            />
          </div>
          <div className="px-5 max-[760px]:px-4">
            <FreeCreditLine availableMicros={balance.data?.credit.free.available ?? 0} />
          </div>
          <Days statement={statement} hasFree={(balance.data?.credit.free.balance ?? 0) > 0} />
        </div>
        <div className="purses">
          {balance.data === undefined ? (
            <Grey width="100%" height={90} />
          ) : (
            <Purses balance={balance.data} statement={statement.data} />
          )}
        </div>
      </div>
    </section>
  )
}

/** The paid credit, as on Overview; below zero, the debt. */
function Available({ balance: { credit } }: { balance: Balance }) {
  const isDebt = credit.backed.balance < 0
  const { whole, rest } = moneyParts(isDebt ? credit.backed.balance : credit.backed.available)
  return (
    <p className={isDebt ? 'big neg' : 'big'}>
      {whole}
      <small>{rest}</small>
    </p>
  )
}

interface DaysProps {
  readonly statement: UseQueryResult<Statement>
  /** Whether free credit is a part of the present balance. */
  readonly hasFree: boolean
}

function Days({ statement, hasFree }: DaysProps) {
  const openedAtMs = useOpenedAtMs()
  const { data } = statement
  if (data === undefined) {
    return (
      <div className="px-5 pt-2 pb-4">
        {statement.isError ? (
          <Failed what="The balance by day could not be loaded." query={statement} />
        ) : (
          <Grey width="100%" height={208} />
        )}
      </div>
    )
  }
  const { days, balances, ahead, topUps, jumps } = balanceDays(data, {
    openedAtMs,
    nowMs: currentMs(),
  })
  // Without any balance, the labels of the axis would be fractions of a cent.
  if (balances.every((balanceMicros) => balanceMicros === 0)) return <div className="pb-4" />
  return (
    <Chart
      form="lines"
      isFilled
      label="Balance by day"
      step="day"
      steps={days}
      series={[
        {
          id: 'balance',
          name: `Balance at the end of the UTC day${hasFree ? ', with free credit' : ''}`,
          tone: 1,
          values: balances,
          text: money(data.closing_balance),
        },
      ]}
      totals={balances}
      compared={ahead.length === 0 ? null : { name: 'At the present rate', values: ahead }}
      marks={topUps.map(({ at, amountMicros }) => ({ at, text: `+${markText(amountMicros)}` }))}
      jumps={jumps}
      showValue={money}
      showAxis={moneyTick}
      isHistoryComplete
    />
  )
}

function markText(amountMicros: number): string {
  return amountMicros % MICROS_PER_DOLLAR === 0
    ? moneyTick(amountMicros, MICROS_PER_DOLLAR)
    : money(amountMicros)
}

/** When the account was opened; null until that is known. */
function useOpenedAtMs(): number | null {
  const { data } = useQuery(accountQuery(useAccountId()))
  return data === undefined ? null : Date.parse(data.created_at)
}

interface PursesProps {
  readonly balance: Balance
  /** Undefined: the answer has not arrived yet. */
  readonly statement: Statement | undefined
}

function Purses({ balance, statement }: PursesProps) {
  const account = useQuery({ ...accountQuery(useAccountId()), refetchInterval: 15_000 })
  const allowance = account.data?.allowance ?? null
  const next = balance.unresolved.next_release_at
  const now = useNow()
  return (
    <>
      <CreditLegend shares={sharesOf(balance, now)} />
      {next !== null && (
        <p className="note mt-3">
          Unresolved requests are released by {dayAndShortMinute(new Date(next), now)}.
        </p>
      )}
      {statement !== undefined && <Pace balance={balance} statement={statement} />}
      {allowance !== null && (
        <div className="note mt-3 border-t border-line pt-3">
          <AllowanceLine allowance={allowance} />
        </div>
      )}
    </>
  )
}

function sharesOf({ credit, running, estimated, unresolved }: Balance, now: Date) {
  const { backed, free } = credit
  const heldBy = ({ requests, held }: Balance['running']) => ({ requests, amountMicros: held })
  return creditShares(
    {
      paidMicros: backed.balance < 0 ? backed.balance : backed.available,
      running: heldBy(running),
      estimated: heldBy(estimated),
      unresolved: heldBy(unresolved),
      free,
    },
    now,
  )
}

const LONG_DAYS = 365

/** How long paid credit lasts at the rate of the last seven days, and whether the user gets emails about it. */
function Pace({ balance: { credit }, statement }: PursesProps & { readonly statement: Statement }) {
  const now = useNow()
  const { paceMicros } = balanceDays(statement, {
    openedAtMs: useOpenedAtMs(),
    nowMs: now.getTime(),
  })
  const days = paidDaysLeft(credit.backed.available, paceMicros)
  if (days === null) return null
  const until = new Date(now.getTime() + days * DAY_MS)
  return (
    <p className="note mt-3 border-t border-line pt-3">
      At the rate of the last 7 days, paid credit lasts{' '}
      {days > LONG_DAYS ? (
        'over a year'
      ) : (
        <>
          until about <b className="text-ink">{dayOf(until, now)}</b>
        </>
      )}
      . <AlertWords />
    </p>
  )
}

/** Whether the user gets emails about the credit: only owners do, and whether other owners do is not known here. */
function AlertWords() {
  const { data: start } = useQuery(startQuery)
  const { user } = useMe()
  if (useAccountName().role !== 'owner' || start?.mail !== true) return null
  const isConfirmed = user.email_verified || user.email_vouched_for
  return (
    <>
      {!user.alert_mails
        ? 'Your emails about credit are off.'
        : isConfirmed
          ? 'You get an email when 75%, 90% and 100% of it is spent.'
          : 'Emails about credit start once you confirm your email address.'}{' '}
      <Link className="link" to="/profile">
        Alerts
      </Link>
    </>
  )
}
