import { useInfiniteQuery } from '@tanstack/react-query'
import type { AccountAction } from '../../api/answers.ts'
import { accountActionsQuery } from '../../api/queries.ts'
import { listTime } from '../../format/time.ts'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { ActionAmount, ActionText } from '../operator/action-cells.tsx'

const HEADS = [{ text: 'Change' }, { text: 'Amount', className: 'num' }, { text: 'Time' }] as const

/** The changes that operators made in an account, newest first. */
export function ChangesByOperators() {
  const accountId = useAccountId()
  const query = useInfiniteQuery(accountActionsQuery(accountId))
  return (
    <ListCard
      label="Changes by operators"
      header={
        <>
          <header className="pb-1">
            <h2>Changes by operators</h2>
          </header>
          <p className="note px-[18px] pb-2">
            Operators run this service. Their changes to this account are listed here.
          </p>
        </>
      }
      query={query}
      rows={query.data?.pages.flatMap(({ data }) => data)}
      empty={<p className="note px-[18px] pb-4">No changes recorded yet.</p>}
      heads={HEADS}
      greyRows={2}
      row={(action) => <ActionRow key={action.id} action={action} accountId={accountId} />}
    >
      <Older query={query} noun="change" />
    </ListCard>
  )
}

function ActionRow({ action, accountId }: { action: AccountAction; accountId: string }) {
  return (
    <tr>
      <td className="wide wrap-anywhere">
        <ActionText action={action} accountId={accountId} />
      </td>
      <ActionAmount action={action} />
      <td className="end text-ink-2">
        <Time at={action.created_at} show={listTime} />
      </td>
    </tr>
  )
}
