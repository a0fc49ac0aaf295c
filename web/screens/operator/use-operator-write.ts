import { useWrite } from '../../api/use-write.ts'

/** The data that a change by an operator can change. */
export const OPERATOR_READS = [['operator'], ['account'], ['overview'], ['balance'], ['entries']]

/** A change by an operator; afterwards, what operators see is read again. */
export function useOperatorWrite<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  onDone: (answer: Answer, input: Input) => void,
) {
  return useWrite(send, { reads: OPERATOR_READS, onDone })
}
