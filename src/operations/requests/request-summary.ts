import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { RequestFilter } from '../../ledger/activity/activity.ts'
import { type RequestSums, summarizeRequests } from '../../ledger/activity/request-figures.ts'
import { getNamedKeys } from '../../ledger/api-keys.ts'
import type { Tables } from '../../store/schema.ts'
import { inOneView } from '../../store/store.ts'
import { type CountedErrors, readErrors } from '../../usage/read-errors.ts'
import { readPeriods } from '../../usage/read-periods.ts'
import { addSums, NO_USAGE, type UsageSums } from '../../usage/sums.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../vocabulary/clock.ts'
import { countInWords } from '../../vocabulary/count-in-words.ts'
import { RANGE_DAYS_MAX } from '../../vocabulary/date-range.ts'
import { micros, ZERO_MICROS } from '../../vocabulary/money.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import {
  errorCodeField,
  idField,
  idFilterField,
  moneyField,
  timeAnswer,
  timeField,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { checkFilters, filterOf, operatorFilters } from './requests.ts'

const HOURS_UP_TO_MS = 2 * DAY_MS
const ROLLED_MS_MAX = RANGE_DAYS_MAX * DAY_MS
const STEPS_MAX = 60

/** Counts of Activity above its list, and over time. */
export function requestSummaryOperations({ store, clock }: OperationParts) {
  return [
    operation({
      name: 'summarizeRequests',
      method: 'GET',
      paths: {
        member: '/app/api/accounts/{account_id}/requests/summary',
        operator: '/app/api/operator/requests/summary',
      },
      summary:
        'Counts and charges of requests. Ranges of up to a day (an hour for all accounts) are read from the requests themselves. Longer ranges are read from roll-ups, take no filter by state or tag, and begin at a UTC day (at an hour for all accounts, up to 48 hours).',
      query: z.strictObject({
        account: idFilterField('acct')
          .optional()
          .describe('For operators: the account. Default: that of `key`, else all accounts.'),
        ...operatorFilters,
      }),
      answers: { 200: requestSummaryShape },
      async run({ reader, caller, query }) {
        checkFilters(caller, query)
        const db = store.searches(reader)
        const accountId = caller.kind === 'member' ? caller.accountId : await accountOf(db, query)
        const untilMs = query.until ?? clock.nowMs()
        const sinceMs = query.since ?? untilMs - HOUR_MS
        const isRolled = untilMs - sinceMs > requestsMsMax(accountId)
        checkRange(query, { accountId, sinceMs, untilMs })
        // Steps that divide days would be read from the requests of those days; for a key they always are.
        const rolledMs =
          accountId === null && untilMs - sinceMs <= HOURS_UP_TO_MS ? HOUR_MS : DAY_MS
        const fromMs = isRolled ? Math.floor(sinceMs / rolledMs) * rolledMs : sinceMs
        const filter = { ...filterOf(query), accountId, sinceMs: fromMs, untilMs }
        const summary = isRolled
          ? await sumRolled(db, { ...filter, rolledMs })
          : await sumRequests(db, filter)
        return {
          object: 'request_summary',
          from: timeAnswer(fromMs),
          to: timeAnswer(untilMs),
          ...summary,
        }
      },
    }),
  ]
}

type Summary = Omit<z.input<typeof requestSummaryShape>, 'object' | 'from' | 'to'>

interface SummaryFilter extends Omit<RequestFilter, 'accountId'> {
  /** Null: all accounts. */
  readonly accountId: string | null
  readonly sinceMs: number
  readonly untilMs: number
}

/** The longest range in which requests are read one by one. */
function requestsMsMax(accountId: string | null): number {
  return accountId === null ? HOUR_MS : DAY_MS
}

/** The account in the query, or that of its keys. Throws Problem `invalid_parameter`: roll-ups have keys by account. */
async function accountOf(
  db: Kysely<Tables>,
  {
    account,
    key: apiKeyIds,
  }: { readonly account?: string | undefined; readonly key?: readonly string[] | undefined },
): Promise<string | null> {
  if (account !== undefined || apiKeyIds === undefined) return account ?? null
  const apiKeys = await getNamedKeys(db, { accountId: null, apiKeyIds })
  const owners = new Set([...apiKeys.values()].map(({ accountId }) => accountId))
  const [owner] = owners
  if (owner !== undefined && owners.size === 1) return owner
  throw invalidParameter('key', '`key` needs `account`, unless all keys belong to one account.')
}

/** Throws Problem `invalid_parameter` if roll-ups can't filter the range like this. By position: filters, range. */
function checkRange(
  { state, tag }: { readonly state?: unknown; readonly tag?: unknown },
  { accountId, sinceMs, untilMs }: Pick<SummaryFilter, 'accountId' | 'sinceMs' | 'untilMs'>,
): void {
  const needsRequests = state !== undefined || tag !== undefined
  const requestsMs = requestsMsMax(accountId)
  const isLong = untilMs - sinceMs > ROLLED_MS_MAX
  const isUncounted = needsRequests && untilMs - sinceMs > requestsMs
  if (untilMs > sinceMs && !isLong && !isUncounted) return
  const most =
    isUncounted && !isLong
      ? `${countInWords(requestsMs / HOUR_MS, 'hour')} with \`state\` or \`tag\``
      : `${RANGE_DAYS_MAX} days`
  throw invalidParameter('since', `\`since\` must be before \`until\`, by at most ${most}.`)
}

/** Reads every request of the range. */
async function sumRequests(db: Kysely<Tables>, filter: SummaryFilter): Promise<Summary> {
  const { accountId, sinceMs, untilMs, ...more } = filter
  const rangeMs = untilMs - sinceMs
  const stepMs = MINUTE_MS * Math.ceil(rangeMs / MINUTE_MS / STEPS_MAX)
  const { steps, heldMicros, errors, ...sums } = await summarizeRequests(db, {
    ...more,
    accountId: accountId ?? undefined,
    sinceMs,
    untilMs,
    stepMs,
  })
  return {
    ...sumsAnswer(sums),
    held: heldMicros,
    errors: errorsAnswer({ codes: errors, unknown: 0 }),
    steps: Array.from({ length: Math.ceil(rangeMs / stepMs) }, (_, step) => ({
      at: timeAnswer(sinceMs + step * stepMs),
      ...sumsAnswer(steps.get(step) ?? NONE),
    })),
  }
}

/** Reads roll-ups by whole hours or UTC days. */
async function sumRolled(
  db: Kysely<Tables>,
  { rolledMs, ...filter }: SummaryFilter & { readonly rolledMs: number },
): Promise<Summary> {
  const { accountId, apiKeyId = null, modelId, endpoint, upstream, failed } = filter
  const { sinceMs, untilMs } = filter
  const stepMs = rolledMs * Math.ceil(Math.ceil((untilMs - sinceMs) / rolledMs) / STEPS_MAX)
  const startsMs = Array.from(
    { length: Math.ceil((untilMs - sinceMs) / stepMs) },
    (_, step) => sinceMs + step * stepMs,
  )
  const query = { accountId, apiKeyId, modelId, endpoint, upstream }
  const { periods, errors } = await inOneView(db, async (view) => ({
    periods: await readPeriods(view, { ...query, by: null, boundsMs: [...startsMs, untilMs] }),
    errors: failed === false ? NO_ERRORS : await readErrors(view, { ...query, sinceMs, untilMs }),
  }))
  const ofStep = new Map(periods.map(({ place, sums }) => [place, sums]))
  const all = periods.reduce((sum, { sums }) => addSums(sum, sums), NO_USAGE)
  return {
    ...sumsAnswer(rolledSums(all, failed)),
    held: null,
    errors: errorsAnswer(errors),
    steps: startsMs.map((startMs, step) => ({
      at: timeAnswer(startMs),
      ...sumsAnswer(rolledSums(ofStep.get(step) ?? NO_USAGE, failed)),
    })),
  }
}

const NO_ERRORS: CountedErrors = { codes: [], unknown: 0 }

function errorsAnswer({ codes, unknown }: CountedErrors): Summary['errors'] {
  return {
    codes: codes.map(({ code, requests, latestId }) => ({ code, requests, latest: latestId })),
    unknown,
  }
}

/** Roll-ups have the number of failed requests, not their charge. */
function rolledSums(
  { requests, failed, ...charge }: UsageSums,
  onlyFailed: boolean | undefined,
): AnsweredSums {
  const chargeMicros = micros(charge.backed_charge_micros + charge.free_charge_micros)
  if (onlyFailed === undefined) return { requests, failed, chargeMicros }
  return onlyFailed
    ? { requests: failed, failed, chargeMicros: null }
    : { requests: requests - failed, failed: 0, chargeMicros: null }
}

type AnsweredSums = Omit<RequestSums, 'chargeMicros'> & {
  readonly chargeMicros: RequestSums['chargeMicros'] | null
}

const NONE: RequestSums = { requests: 0, failed: 0, chargeMicros: ZERO_MICROS }

function sumsAnswer({ requests, failed, chargeMicros }: AnsweredSums) {
  return { requests, failed, charge: chargeMicros }
}

const sums = {
  requests: z.int(),
  failed: z.int().describe('The number of requests that ended with an error.'),
  charge: moneyField
    .nullable()
    .describe(
      'The charges of these requests, in micro-dollars. Null: the charges of failed requests alone are not known for a range of more than a day.',
    ),
}

/** Counts of Activity, in total and by step of time. */
const requestSummaryShape = z
  .object({
    object: z.literal('request_summary'),
    from: timeField,
    to: timeField,
    ...sums,
    held: moneyField
      .nullable()
      .describe(
        'The credit that these requests still hold, in micro-dollars; null for a range of more than a day.',
      ),
    errors: z
      .object({
        codes: z
          .array(
            z.object({
              code: errorCodeField,
              requests: z.int(),
              latest: idField('req')
                .nullable()
                .describe('The newest of these requests; null: it is no longer in Activity.'),
            }),
          )
          .describe('The error codes, the most frequent first.'),
        unknown: z
          .int()
          .describe(
            'Failed requests whose code is not known: they were pruned before 0.3.0 counted codes.',
          ),
      })
      .describe('The failed requests of the range by error code.'),
    steps: z
      .array(z.object({ at: timeField, ...sums }))
      .describe('At most 60 steps of equal length.'),
  })
  .meta({ id: 'RequestSummary' })
