import { Link } from '@tanstack/react-router'
import type { Overview } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count, percent } from '../../format/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { useAccountId } from '../../shell/use-account.ts'

/** The keys that spent most in the range; each leads to its requests. */
export function KeysBySpend({ keys }: { keys: Overview['keys'] }) {
  const account = useAccountId()
  const totalMicros = keys.reduce((total, { charge }) => total + charge, 0)
  return (
    <section className="card">
      <header>
        <h2>Keys by spend</h2>
        <Link to="/$account/keys" params={{ account }}>
          All keys
        </Link>
      </header>
      {keys.length === 0 ? (
        <Empty title="No key was used in this range.">
          <p>A longer range may have some.</p>
        </Empty>
      ) : (
        <table className="cards">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" className="num">
                Requests
              </th>
              <th scope="col" className="num">
                Failed
              </th>
              <th scope="col" className="num">
                Spend
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <tr key={key.id} className={key.deleted ? 'dim' : ''}>
                <td className="wide">
                  <Link
                    to="/$account/activity"
                    params={{ account }}
                    search={{ range: '30d', key: [key.id] }}
                  >
                    <b>{key.name}</b> <span className="mono dimmed ml-1.5">{key.prefix}</span>
                    {key.deleted && <span className="dimmed"> deleted</span>}
                  </Link>
                  <span className="share">
                    <i style={{ width: `${share(key.charge, totalMicros)}%` }} />
                  </span>
                </td>
                <td className="num">
                  {count(key.requests)}
                  <span className="only-s dimmed"> requests</span>
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

function share(chargeMicros: number, totalMicros: number): number {
  return totalMicros === 0 ? 0 : (chargeMicros / totalMicros) * 100
}
