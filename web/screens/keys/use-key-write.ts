import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccountId } from '../../shell/use-account.ts'

/** A change of a key; afterwards, what shows keys is read again. */
export function useKeyWrite<Input, Answer>(
  send: (keysPath: string, input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
) {
  const queries = useQueryClient()
  const accountId = useAccountId()
  return useMutation({
    mutationFn: (input: Input) => send(`accounts/${accountId}/keys`, input),
    // The answer of a new key has its text, which stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer) {
      void queries.invalidateQueries({ queryKey: ['keys', accountId] })
      void queries.invalidateQueries({ queryKey: ['overview', accountId] })
      onDone(answer)
    },
  })
}
