import { z } from 'zod'
import { type Setting, wholeNumber } from './setting.ts'

const MINUTE_MS = 60_000

/** The operator's settings of requests whose cost is not final. */
export const LOOKUP_SETTINGS = {
  TOLLGATE_SETTLE_AFTER_MS: wholeNumber(
    { fallback: 24 * 60 * MINUTE_MS },
    'How long the gateway asks the provider for the cost of a request. After that a provisional charge stands and an unresolved hold is released.',
  ),
  TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS: wholeNumber(
    { fallback: 60 * MINUTE_MS },
    'The same for a provisional charge and an unresolved hold at a provider without look-ups.',
  ),
  TOLLGATE_LOOKUPS: {
    schema: z
      .string()
      .default('verify')
      .pipe(z.enum(['verify', 'all'], { error: 'must be verify or all' })),
    fallback: 'verify',
    description:
      "Which costs are compared with the provider's own record. `verify`: all that are estimated or unknown, all paid by the gateway's own keys at other providers, all charges above `TOLLGATE_LOOKUPS_ABOVE_MICROS`, and one in a hundred of the others; after a difference, all. `all`: each one, as always with the built-in simulator.",
    secret: false,
  },
  TOLLGATE_LOOKUPS_ABOVE_MICROS: wholeNumber(
    { fallback: 100_000, min: 0 },
    'The charge in micro-dollars above which each reported cost is looked up.',
  ),
  TOLLGATE_STANDS_AFTER_MS: wholeNumber(
    { fallback: 10 * MINUTE_MS },
    'How long a reported cost that is not looked up stays provisional. Until then a difference elsewhere has it looked up after all.',
  ),
  TOLLGATE_LOOKUPS_IN_FLIGHT: wholeNumber(
    { fallback: 8, min: 2, max: 1_000 },
    'How many look-ups of ended requests may run at the same time.',
  ),
} as const satisfies Record<string, Setting<unknown>>
