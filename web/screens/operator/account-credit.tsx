import { Link } from '@tanstack/react-router'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { CreditHistory } from '../credit/credit-history.tsx'

/** The credit of an account, for operators: what its customers see, and the way to what operators changed. */
export function AccountCredit() {
  return (
    <>
      <ScreenTop title="Credit">
        <Link className="btn" to="/operator/audit-log" search={{ account: useAccountId() }}>
          Changes by operators
        </Link>
      </ScreenTop>
      <CreditHistory />
    </>
  )
}
