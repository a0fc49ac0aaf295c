import type { Logger } from 'pino'

// A Ctrl-C comes twice below npm, from the terminal and from npm; so does what is sent to all processes.
const SAME_SIGNAL_MS = 1_000

/**
 * Resolves at the first signal to stop. A later one ends the process at once, or does nothing where only the
 * first counts.
 */
export function stopSignal(log: Logger, counts: 'all' | 'firstOnly' = 'all'): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null
    const onSignal = (signal: NodeJS.Signals): void => {
      if (firstAtMs === null) {
        firstAtMs = performance.now()
        const hint = counts === 'all' ? '; a second signal ends them' : ''
        log.info({ signal }, `stopping: requests in flight may end${hint}`)
        resolve()
      } else if (counts === 'all' && performance.now() - firstAtMs > SAME_SIGNAL_MS) {
        process.exit(1)
      }
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
