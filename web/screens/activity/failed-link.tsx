import { Link, useParams } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'

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
  const paths = useAccountPaths()
  const search = { ...searchOf(range), failed: true } as const
  const look = { className: 'to-failed', title: `Show failed requests. ${FAILED_COUNTS}`, search }
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
