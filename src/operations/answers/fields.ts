import { z } from 'zod'

/** Money, in micro-dollars. */
export const amountField = z.int().describe('Micro-dollars: 1,000,000 to the dollar.')

/** A moment, RFC 3339 in UTC. */
export const timeField = z.iso.datetime().describe('RFC 3339, UTC.')

/** The id of something, which says by its prefix what it names. */
export function idField(prefix: string): z.ZodType<string> {
  return z.string().describe(`${prefix}_…`)
}

/** A moment of the program as an answer has it. */
export function timeAnswer(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** As {@link timeAnswer}; null stays null. */
export function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : timeAnswer(atMs)
}
