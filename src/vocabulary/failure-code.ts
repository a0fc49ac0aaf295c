import type { ProblemCode } from './problem.ts'

/** How a stream can fail without anybody being told: its status was 200, and no event says more. */
export const UNTOLD_FAILURES = [
  // The client hung up before its stream's last word.
  'client_gone',
  // The provider's connection ended before its stream's last word.
  'upstream_disconnected',
] as const

/**
 * Why a request is marked failed in Activity: what the client was told, by its status or by an event of
 * its stream, or would have been told at a deadline; else an untold failure.
 */
export type FailureCode = ProblemCode | (typeof UNTOLD_FAILURES)[number]
