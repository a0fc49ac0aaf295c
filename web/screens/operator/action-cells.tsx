import { useQuery } from '@tanstack/react-query'
import { type OperatorAction, usersQuery } from '../../api/operator.ts'
import { shortId } from '../../format/ids.ts'
import { money } from '../../format/money.ts'
import { type Action, actionWords, actorWords, changeWords, namesakes } from './action-words.ts'

interface ActionProps<Row> {
  readonly action: Row
}

/** A change in words, with the ID of what was changed unless that is the account itself. */
export function ActionText({
  action,
  accountId,
}: ActionProps<Action & { readonly target_id: string | null }> & {
  /** Null: the change concerns no single account. */
  readonly accountId: string | null
}) {
  const { target_id: targetId } = action
  const words = changeWords(action)
  return (
    <>
      <b>{actionWords(action)}</b>
      {words !== '' && <span className="two">{words}</span>}
      {targetId !== null && targetId !== accountId && (
        <span className="two mono" title={targetId}>
          <span className="hide-t">{targetId}</span>
          <span className="only-t">{shortId(targetId)}</span>
        </span>
      )}
    </>
  )
}

/** The amount of a change; a charge with its small parts. */
export function ActionAmount({ action: { action, amount } }: ActionProps<Action>) {
  return (
    <td className="num">
      {amount === null ? (
        <span className="dimmed hide-s">–</span>
      ) : (
        money(amount, action === 'settleRequest' ? 4 : 2)
      )}
    </td>
  )
}

/** The function that names who made a change, of these changes and all users. Undefined: they are not read yet. */
export function useActors(
  actions: readonly OperatorAction[] | undefined = [],
): (action: OperatorAction) => string {
  const users = useQuery(usersQuery).data?.data ?? []
  const named = actions.map(({ user_id, user_name }) => ({ id: user_id, name: user_name }))
  const shared = namesakes([...users, ...named])
  return (action) => actorWords(action, shared.has(action.user_id))
}
