import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accountQuery } from '../api/queries.ts'
import { money } from '../format/money.ts'
import { Icon } from '../parts/icon.tsx'
import { useMe, useNameOf } from './use-account.ts'

const READ_AGAIN_MS = 60_000

/** What concerns every page of an account: who views it, that it is suspended, and what it owes. */
export function AccountBands({ accountId }: { accountId: string }) {
  const { data: account } = useQuery({
    ...accountQuery(accountId),
    staleTime: READ_AGAIN_MS / 4,
    refetchInterval: READ_AGAIN_MS,
  })
  const balanceMicros = account?.credit.backed.balance ?? 0
  return (
    <>
      <ViewingBand accountId={accountId} />
      {account?.disabled === true && (
        <section className="band bad" aria-label="Suspended">
          <Icon name="pause" />
          <div>
            <p>
              <b>This account is suspended.</b> Requests are refused. Contact the operator.
            </p>
          </div>
        </section>
      )}
      {balanceMicros < 0 && <DebtBand accountId={accountId} debtMicros={-balanceMicros} />}
    </>
  )
}

/** Reminds an operator that the page belongs to a customer. */
function ViewingBand({ accountId }: { accountId: string }) {
  const { accounts, user } = useMe()
  const { name } = useNameOf(accountId)
  if (!user.is_operator || accounts.some(({ id }) => id === accountId)) return null
  return (
    <section className="band info" aria-label="Viewing as a member">
      <Icon name="eye" />
      <div>
        <p>
          You are viewing <b>{name}</b> as its members see it. Changes are recorded in the audit
          log.
        </p>
      </div>
      <Link className="btn" to="/operator/accounts/$id" params={{ id: accountId }}>
        Back to operator
      </Link>
    </section>
  )
}

/** An account below zero. */
function DebtBand({ accountId, debtMicros }: { accountId: string; debtMicros: number }) {
  return (
    <section className="band bad" aria-label="Debt">
      <Icon name="credit" />
      <div>
        <p>
          <b>This account owes {money(debtMicros)}.</b> Requests are refused until credit is added.
        </p>
      </div>
      <Link
        className="btn"
        to="/$account/credit"
        params={{ account: accountId }}
        search={{ open: 'buy' }}
      >
        Add credit
      </Link>
    </section>
  )
}
