import { useQuery, useQueryClient } from '@tanstack/react-query'
import { asBrowser } from '../../api/calls.ts'
import { meQuery, startQuery } from '../../api/queries.ts'
import { useSend } from '../../api/use-write.ts'
import { Problem } from '../../parts/problem.tsx'
import { useMe } from '../../shell/use-account.ts'

/** Whether the user gets alerts by email; only where the gateway sends email. */
export function AlertMails() {
  const { user, accounts } = useMe()
  const { data: start } = useQuery(startQuery)
  const queries = useQueryClient()
  const change = useSend({
    mutationFn: (on: boolean) => asBrowser('changeAlertMails', { on }),
    onSuccess: () => queries.invalidateQueries({ queryKey: meQuery.queryKey }),
  })
  const isOwner = accounts.some(({ role }) => role === 'owner')
  if (start?.mail !== true || !isOwner) return null
  const isOn = change.isPending ? change.variables : user.alert_mails
  return (
    <section className="card" aria-label="Alerts by email">
      <header>
        <h2>Alerts by email</h2>
      </header>
      <div className="grid gap-3 px-[18px] pt-2 pb-[18px]">
        <label className="check items-start">
          <input
            type="checkbox"
            checked={isOn}
            aria-disabled={change.isPending}
            onChange={(event) => change.mutate(event.target.checked)}
          />
          <span>
            The receipt of each purchase, and alerts: at 75%, 90% and 100% of the credit, of an
            allowance and of a key’s limit, a week before free credit expires, and at each refund,
            dispute or removal of credit
          </span>
        </label>
        <p className="note">
          {user.email_verified || user.email_vouched_for
            ? `One email for each, to ${user.email}, about the accounts that you own.`
            : `Alerts start once you confirm ${user.email}: sign in by email once.`}
        </p>
        <Problem text={change.error?.message} />
      </div>
    </section>
  )
}
