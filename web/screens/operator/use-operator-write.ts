import { useQueryClient } from '@tanstack/react-query'
import { type RecentWrite, useRecentWrite } from '../../parts/recent-write.tsx'

/** A change by an operator; afterwards, what operators see is read again. */
export function useOperatorWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
): RecentWrite<Input> {
  const queries = useQueryClient()
  return useRecentWrite(send, (answer) => {
    void queries.invalidateQueries({ queryKey: ['operator'] })
    onDone(answer)
  })
}
