import { useWrite } from '../../api/use-write.ts'

const READS = [['operator'], ['account'], ['overview'], ['balance'], ['entries']]

/** A change by an operator; afterwards, what operators see is read again. */
export function useOperatorWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer) => void,
) {
  return useWrite(send, { reads: READS, onDone })
}
