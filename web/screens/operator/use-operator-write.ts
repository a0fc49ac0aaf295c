import { useMutation, useQueryClient } from '@tanstack/react-query'

/** A change by an operator; afterwards, what operators see is read again. */
export function useOperatorWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: send,
    // The answer may have a text that stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer) {
      for (const read of ['operator', 'account', 'overview', 'balance', 'entries']) {
        void queries.invalidateQueries({ queryKey: [read] })
      }
      onDone(answer)
    },
  })
}
