const HANG_MS = 10 * 60_000

/**
 * The only time-outs of tests. They end what would never end, soon enough that the rest of a run still runs: a machine
 * twenty times slower than an idle one, or one with much other work, meets none of them. A poll is the first to give
 * up, so that the failure names the awaited event.
 */
export const HANG_LIMITS = {
  testTimeout: HANG_MS,
  hookTimeout: HANG_MS,
  teardownTimeout: HANG_MS,
  expect: { poll: { timeout: HANG_MS / 2 } },
}

/** When a wait for a line of a log is given up: even a busy machine logs something in three minutes. */
export const LOG_LIMITS = {
  /** From the line before. */
  quiet: () => AbortSignal.timeout(3 * 60_000),
  /** From the beginning of the wait. */
  whole: () => AbortSignal.timeout(HANG_MS / 2),
}
