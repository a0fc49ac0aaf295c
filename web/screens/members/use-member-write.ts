import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccountId } from '../../shell/use-account.ts'

/** A change of members or invitations; afterwards the members are read again. */
export function useMemberWrite<Input, Answer>(
  send: (account_id: string, input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void = () => {},
) {
  const queries = useQueryClient()
  const accountId = useAccountId()
  return useMutation({
    mutationFn: (input: Input) => send(accountId, input),
    // The answer of an invitation has its link, which stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer) {
      for (const read of ['members', 'invitations', 'me']) {
        void queries.invalidateQueries({ queryKey: [read] })
      }
      onDone(answer)
    },
  })
}
