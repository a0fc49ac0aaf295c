import { Link, useParams, useSearch } from '@tanstack/react-router'
import { type DateRange, REFUSALS_KEPT_DAYS, searchOf } from '../../../src/vocabulary/date-range.ts'
import { setFields, textOf } from '../../format/address.ts'
import { count, percent } from '../../format/numbers.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'
import { useRequestSource } from './use-activity.ts'
import { useRefusals } from './use-refusals.ts'

/** The title of each figure of failed requests. */
export const FAILED_COUNTS =
  'Requests that were refused before they were forwarded are not among them.'

interface FailedLinkProps {
  readonly range: DateRange
  /** The number of failed requests. */
  readonly children: string
}

/** Links to the failed requests of a range, of the shown account or of all accounts. */
export function FailedLink({ range, children }: FailedLinkProps) {
  const { account } = useParams({ strict: false })
  // Usage and margin can be those of one account.
  const { account: only } = useSearch({ strict: false })
  const paths = useAccountPaths()
  const search = {
    ...searchOf(range),
    ...setFields({ account: textOf(only) }),
    failed: true,
  } as const
  const look = { className: 'stat-link', title: `Show failed requests. ${FAILED_COUNTS}`, search }
  return account === undefined ? (
    <Link to="/operator/activity" {...look}>
      {children}
    </Link>
  ) : (
    <Link to={paths.activity} params={{ account }} {...look}>
      {children}
    </Link>
  )
}

// A share of requests that a person should look at.
const MANY = 0.03

interface RefusedLinkProps extends Pick<FailedLinkProps, 'range'> {
  /** The number of requests that were forwarded. */
  readonly forwarded: number
}

/**
 * The number of the shown account's refused requests of a range, as a link to why; nothing if there are none. Where they
 * are many, their share of all requests is above it, as large as that of failed ones.
 */
export function RefusedLink({ range, forwarded }: RefusedLinkProps) {
  const { account } = useParams({ strict: false })
  const paths = useAccountPaths()
  const { data } = useRefusals(
    { ...useRequestSource(), accountId: account ?? null },
    searchOf(range),
  )
  if (account === undefined || data === undefined || data.requests === 0) return null
  const sent = forwarded + data.requests
  return (
    <>
      {data.requests > MANY * sent && (
        <>
          <h2 className="lab mt-2">Refused</h2>
          <b className="text-bad">{percent(data.requests, sent)}</b>
        </>
      )}
      <p className="refused">
        <Link
          className="stat-link"
          title={`Requests that were refused before they were forwarded; counts are kept for ${REFUSALS_KEPT_DAYS} days. Show why.`}
          to={paths.activity}
          params={{ account }}
          search={searchOf(range)}
        >
          {count(data.requests)} refused
        </Link>
      </p>
    </>
  )
}
