import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { LOW_BALANCE_MICROS_DEFAULT } from '../../../src/vocabulary/money.ts'
import type { Account } from '../../api/answers.ts'
import { healthQuery, oneAccountQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, percentOf } from '../../format/numbers.ts'
import { LIMIT_NAMES, LIMITS, modelsText } from '../../format/terms.ts'
import { Line } from '../../parts/drawer-part.tsx'
import { Grey } from '../../parts/states.tsx'
import { AllowanceLine, MetadataLine } from '../../parts/terms-lines.tsx'

/** The settings of an account in short, with a link to change them. */
export function AccountTerms({ accountId }: { readonly accountId: string }) {
  const { data: account } = useQuery(oneAccountQuery(accountId))
  return (
    <section className="card" aria-label="Settings">
      <header>
        <h2>Settings</h2>
        <Link to="/operator/accounts/$account/settings" params={{ account: accountId }}>
          Change
        </Link>
      </header>
      <div className="px-[18px] pt-2.5 pb-4">
        {account === undefined ? <Grey width="70%" /> : <Terms account={account} />}
      </div>
    </section>
  )
}

function Terms({ account }: { readonly account: Account }) {
  const { allowance, limits, models } = account
  const limit = (value: number | null) => (value === null ? 'No limit' : count(value))
  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      'Platform fee',
      account.fee_basis_points === null ? (
        <ModelFees key="fee" />
      ) : (
        percentOf(account.fee_basis_points)
      ),
    ],
    ['Allowance', allowance === null ? 'None' : `${money(allowance.amount)} a ${allowance.period}`],
    ...LIMIT_NAMES.map((name) => [LIMITS[name].word, limit(limits[name])] as const),
    ['Models', modelsText(models)],
    ['Low-credit alert', `Below ${money(account.low_balance ?? LOW_BALANCE_MICROS_DEFAULT)}`],
    ...(Object.keys(account.metadata).length === 0
      ? []
      : [['Metadata', <MetadataLine key="metadata" metadata={account.metadata} />] as const]),
  ]
  return (
    <>
      <dl className="kv">
        {rows.map(([term, value]) => (
          <Line key={term} term={term}>
            {value}
          </Line>
        ))}
      </dl>
      <div className="note pt-2">
        <AllowanceLine allowance={allowance} />
      </div>
    </>
  )
}

/** The fee of an account without its own: it depends on the model. */
function ModelFees() {
  const { data: health } = useQuery({ ...healthQuery, refetchInterval: false })
  const fees = health?.catalog.fee_basis_points ?? null
  if (fees === null) return 'The model’s fee'
  const { least, most } = fees
  return least === most
    ? `${percentOf(least)}, the fee of all models`
    : `${percentOf(least)} to ${percentOf(most)}, by model`
}
