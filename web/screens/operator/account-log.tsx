import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { actionsQuery } from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { Failed, Grey } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useActors } from './action-cells.tsx'
import { actionWords, changeWords } from './action-words.ts'

const SHOWN = 5

/** The newest changes of an account, with a link to all of them. */
export function AccountLog({ accountId }: { accountId: string }) {
  const query = useInfiniteQuery(actionsQuery({ account: accountId }, SHOWN))
  const actions = query.data?.pages[0]?.data
  const actorOf = useActors(actions)
  return (
    <section className="card" aria-label="Audit log" aria-busy={actions === undefined}>
      <header>
        <h2>Audit log</h2>
        <Link to="/operator/audit-log" search={{ account: accountId }}>
          All changes
        </Link>
      </header>
      {actions === undefined && query.isError ? (
        <Failed what="The audit log could not be loaded." query={query} />
      ) : actions === undefined ? (
        <div className="p-5">
          <Grey width="70%" />
        </div>
      ) : actions.length === 0 ? (
        <p className="note px-[18px] pb-4">No changes recorded yet.</p>
      ) : (
        <ul className="log">
          {actions.map((action) => {
            const words = changeWords(action)
            return (
              <li key={action.id}>
                <Time at={action.created_at} show={dayOf} />
                <div className="wrap-anywhere">
                  {actionWords(action)}
                  <p>
                    {actorOf(action)}
                    {words !== '' && ` · ${words}`}
                  </p>
                </div>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
