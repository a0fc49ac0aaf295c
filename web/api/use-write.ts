import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'

interface UseWriteInput<Answer> {
  /** The data that are read again afterwards. */
  readonly reads: readonly QueryKey[]
  /** Called with the answer. Default: nothing. */
  readonly onDone?: ((answer: Answer) => void) | undefined
}

/** A change of what the page shows; afterwards, it is read again. */
export function useWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  { reads, onDone }: UseWriteInput<Answer>,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: send,
    // The answer may have a secret, such as the text of a new key, which stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer) {
      for (const queryKey of reads) void queries.invalidateQueries({ queryKey })
      onDone?.(answer)
    },
  })
}
