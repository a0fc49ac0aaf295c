import { Link, useParams } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'

interface FailedLinkProps {
  readonly range: DateRange
  /** How many failed. */
  readonly children: string
}

/** Leads to the failed requests of a range: of the account that is shown, or of all accounts. */
export function FailedLink({ range, children }: FailedLinkProps) {
  const { account } = useParams({ strict: false })
  const paths = useAccountPaths()
  const search = { ...searchOf(range), failed: true } as const
  const look = { className: 'to-failed', title: 'Show failed requests', search }
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
