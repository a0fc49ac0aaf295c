import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { Overview } from '../../api/answers.ts'
import { keysQuery, newestRequestQuery } from '../../api/queries.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { money } from '../../format/money.ts'
import { count, percent } from '../../format/numbers.ts'
import { KeyName } from '../../parts/key-name.tsx'
import { Heads } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { useAccountPaths, useIsTab } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'

const HEADS = [
  { text: 'Key' },
  { text: 'Requests', className: 'num' },
  { text: 'Failed', className: 'num' },
  { text: 'Spend', className: 'num' },
] as const

interface KeysBySpendProps {
  readonly keys: Overview['keys']
  readonly range: DateRange
}

/** The keys that spent most in the range. Each links to its requests. */
export function KeysBySpend({ keys, range }: KeysBySpendProps) {
  const account = useAccountId()
  const paths = useAccountPaths()
  const totalMicros = keys.reduce((total, { charge }) => total + charge, 0)
  return (
    <section className="card">
      <header>
        <h2>Keys by spend</h2>
        <Link to={paths.keys} params={{ account }}>
          All keys
        </Link>
      </header>
      {keys.length === 0 ? (
        <NoneUsed />
      ) : (
        <table className="cards" aria-label="Keys by spend">
          <Heads heads={HEADS} />
          <tbody>
            {keys.map((key) => (
              <tr key={key.id} className={key.deleted ? 'dim' : ''}>
                <ShareCell part={key.charge} whole={totalMicros} isName>
                  <Link
                    to={paths.activity}
                    params={{ account }}
                    search={{ ...searchOf(range), key: [key.id] }}
                  >
                    <KeyName {...key} />
                  </Link>
                </ShareCell>
                <td className="num">
                  {count(key.requests)}
                  <span className="only-s dimmed">
                    {' '}
                    {key.requests === 1 ? 'request' : 'requests'}
                  </span>
                </td>
                <td className="num hide-s">{percent(key.failed, key.requests)}</td>
                <td className="num">
                  <b>{money(key.charge)}</b>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** No key was used: most often the account is new, and has none. */
function NoneUsed() {
  const account = useAccountId()
  const paths = useAccountPaths()
  const isTab = useIsTab()
  const all = useQuery(keysQuery(account))
  const newest = useQuery(newestRequestQuery(account))
  if (all.isPending || newest.isPending) return null
  const hasKeys = all.data?.data.length !== 0
  return (
    <Empty title={hasKeys ? 'No key was used in this period.' : 'No keys.'}>
      {newest.data?.data.length !== 0 && <p>Choose a longer period to see earlier requests.</p>}
      {!hasKeys && (
        <p>
          <Link className="link" to={paths.keys} params={{ account }} search={{ create: true }}>
            Create a key
          </Link>
          {isTab && (
            <>
              , or{' '}
              <Link
                className="link"
                to="/operator/accounts/$account/members"
                params={{ account }}
                search={{ invite: true }}
              >
                invite an owner
              </Link>{' '}
              who creates one
            </>
          )}
          .
        </p>
      )}
    </Empty>
  )
}
