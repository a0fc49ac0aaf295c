/** Runs something once after a while; the answer cancels it. */
export type StartTimer = (timer: {
  readonly delayMs: number
  readonly run: () => void
}) => () => void

/** A timer that does not keep the process alive. */
export const startUnrefTimer: StartTimer = ({ delayMs, run }) => {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}
