import type { Logger } from 'pino'

// A Ctrl-C comes twice below npm, from the terminal and from npm; so does what is sent to all processes.
const SAME_SIGNAL_MS = 1_000

/** Resolves at the first signal to stop; one that comes later ends the process at once. */
export function stopSignal(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null
    const onSignal = (signal: NodeJS.Signals): void => {
      if (firstAtMs !== null) {
        if (performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(1)
        return
      }
      firstAtMs = performance.now()
      log.info({ signal }, 'stopping: requests in flight may end, a second signal ends them')
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
