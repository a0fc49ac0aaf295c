import {
  type QueryKey,
  type UseMutationOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

/**
 * A change that is sent once at a time: what is sent again before its answer is shown, as by a double click, is ignored. A
 * button is disabled only after the page was drawn again, which is later than a second press of Enter.
 */
export function useSend<Answer, Input = void>(options: UseMutationOptions<Answer, Error, Input>) {
  const mutation = useMutation(options)
  const { isPending, submittedAt, error } = mutation
  const isSending = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer may come before the sending was drawn, and by a clock that stands still
  useEffect(() => {
    if (!isPending) isSending.current = false
  }, [isPending, submittedAt, error])
  const mutate: typeof mutation.mutate = (...sent) => {
    if (isSending.current) return
    isSending.current = true
    mutation.mutate(...sent)
  }
  return { ...mutation, mutate }
}

interface UseWriteInput<Input, Answer> {
  /** The data that are read again afterwards. */
  readonly reads: readonly QueryKey[]
  /** Called with the answer, and with what was sent. Default: nothing. */
  readonly onDone?: ((answer: Answer, input: Input) => void) | undefined
}

/** A change of what the page shows; afterwards, it is read again. */
export function useWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  { reads, onDone }: UseWriteInput<Input, Answer>,
) {
  const queries = useQueryClient()
  return useSend({
    mutationFn: send,
    // The answer may have a secret, such as the text of a new key, which stays out of what is kept.
    gcTime: 0,
    onSuccess(answer: Answer, input: Input) {
      for (const queryKey of reads) void queries.invalidateQueries({ queryKey })
      onDone?.(answer, input)
    },
  })
}
