import type { Answer } from '../client.ts'

/** A request of a check. */
export interface Sent {
  readonly id: string
  /** The body, as it left the client. */
  readonly body: string
  readonly answer: Answer
}

const isWhole = ({ answer: { httpStatus, broke } }: Sent): boolean =>
  httpStatus === 200 && broke === null

/** The requests that were answered whole. */
export function answered(sent: readonly Sent[]): Sent[] {
  return sent.filter((each) => isWhole(each) && !each.answer.left)
}

/** Whether it was refused as a client's fault. */
export function isRefused({ answer }: Sent): boolean {
  return answer.httpStatus >= 400 && answer.httpStatus < 500
}

/** Throws unless so many were answered. */
export function mustAnswer(sent: readonly Sent[], count = sent.length): void {
  const whole = answered(sent).length
  if (whole < count)
    throw new Error(`${whole} of ${sent.length} were answered, needed ${count}${otherOf(sent)}`)
}

/** The answer to the first request that was not answered whole; '' if there is none. */
export function otherOf(sent: readonly Sent[]): string {
  const other = sent.find((each) => !isWhole(each))
  if (other === undefined) return ''
  const { broke, httpStatus, text } = other.answer
  return `; the first other: ${broke ?? `${httpStatus}: ${text.slice(0, 200)}`}`
}
