import { useWrite } from '../../api/use-write.ts'
import { useAccountId } from '../../shell/use-account.ts'

/** The data that a change of members or invitations can change. */
export const MEMBER_READS = [['members'], ['invitations'], ['account-actions'], ['me']]

/** A change of members or invitations; afterwards the members are read again. */
export function useMemberWrite<Input, Answer>(
  send: (account_id: string, input: Input) => Promise<Answer>,
  onDone?: (answer: Answer) => void,
) {
  const accountId = useAccountId()
  return useWrite((input: Input) => send(accountId, input), { reads: MEMBER_READS, onDone })
}
