import { z } from 'zod'
import { type RequestSums, summarizeRequests } from '../ledger/activity/summarize-requests.ts'
import { ZERO_MICROS } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { HOUR_MS } from '../vocabulary/usage-step.ts'
import { moneyField, timeAnswer, timeField } from './fields.ts'
import { type Operation, type OperationParts, operation } from './operation.ts'
import { filterOf, requestFilters } from './requests.ts'

const MINUTE_MS = 60_000
const RANGE_MS_MAX = 24 * HOUR_MS
const STEPS_MAX = 60

/** Counts of Activity above its list, and over time. */
export function requestSummaryOperations({ store, clock }: OperationParts): readonly Operation[] {
  return [
    operation({
      name: 'summarizeRequests',
      method: 'GET',
      paths: { member: '/app/api/accounts/{account_id}/requests/summary' },
      summary: 'Counts, charges and holds of the requests of at most a day.',
      query: z.strictObject(requestFilters),
      answers: { 200: requestSummaryShape },
      async run({ reader, accountId, query }) {
        const untilMs = query.until ?? clock.nowMs()
        const sinceMs = query.since ?? untilMs - HOUR_MS
        const rangeMs = untilMs - sinceMs
        if (rangeMs <= 0 || rangeMs > RANGE_MS_MAX) {
          throw new Problem('invalid_parameter', {
            message: '`since` must be before `until`, by at most 24 hours.',
            param: 'since',
          })
        }
        const stepMs = MINUTE_MS * Math.ceil(rangeMs / MINUTE_MS / STEPS_MAX)
        const filter = { ...filterOf(query), accountId, sinceMs, untilMs }
        const { steps, heldMicros, ...sums } = await summarizeRequests(store.searches(reader), {
          ...filter,
          stepMs,
        })
        return {
          httpStatus: 200,
          body: {
            object: 'request_summary',
            from: timeAnswer(sinceMs),
            to: timeAnswer(untilMs),
            ...sumsAnswer(sums),
            held: heldMicros,
            steps: Array.from({ length: Math.ceil(rangeMs / stepMs) }, (_, step) => ({
              at: timeAnswer(sinceMs + step * stepMs),
              ...sumsAnswer(steps.get(step) ?? NONE),
            })),
          },
        }
      },
    }),
  ]
}

const NONE: RequestSums = { requests: 0, failed: 0, chargeMicros: ZERO_MICROS }

function sumsAnswer({ requests, failed, chargeMicros }: RequestSums) {
  return { requests, failed, charge: chargeMicros }
}

const sums = {
  requests: z.int(),
  failed: z.int().describe('Those that ended with an error.'),
  charge: moneyField,
}

/** Counts of Activity, in all and by step of time. */
export const requestSummaryShape = z
  .object({
    object: z.literal('request_summary'),
    from: timeField,
    to: timeField,
    ...sums,
    held: moneyField.describe('The part of their holds that is still reserved.'),
    steps: z.array(z.object({ at: timeField, ...sums })).describe('At most 60, of equal length.'),
  })
  .meta({ id: 'RequestSummary' })
