import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { RequestFilter } from '../ledger/activity/activity.ts'
import {
  type ErrorCount,
  type RequestSums,
  summarizeRequests,
} from '../ledger/activity/request-figures.ts'
import { getNamedKeys } from '../ledger/api-keys.ts'
import type { Tables } from '../store/schema.ts'
import { readPeriods } from '../usage/read-periods.ts'
import { addSums, NO_USAGE, type UsageSums } from '../usage/sums.ts'
import { micros, ZERO_MICROS } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { HOUR_MS } from '../vocabulary/usage-step.ts'
import { idField, idFilterField, moneyField, timeAnswer, timeField } from './fields.ts'
import { type OperationParts, operation } from './operation.ts'
import { checkFilters, filterOf, operatorFilters } from './requests.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * HOUR_MS
const HOURS_UP_TO_MS = 2 * DAY_MS
const ROLLED_MS_MAX = 400 * DAY_MS
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
          .describe('For operators. Default: the account of `key`, else all accounts.'),
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
          ? await sumRolled(db, { ...filter, rolledMs, nowMs: clock.nowMs() })
          : await sumRequests(db, filter)
        return {
          httpStatus: 200,
          body: {
            object: 'request_summary',
            from: timeAnswer(fromMs),
            to: timeAnswer(untilMs),
            ...summary,
          },
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

interface Asked {
  readonly account?: string | undefined
  readonly key?: readonly string[] | undefined
}

/** The account in the query, or that of its keys. Throws Problem `invalid_parameter`: roll-ups have keys by account. */
async function accountOf(
  db: Kysely<Tables>,
  { account, key: apiKeyIds }: Asked,
): Promise<string | null> {
  if (account !== undefined || apiKeyIds === undefined) return account ?? null
  const apiKeys = await getNamedKeys(db, { accountId: null, apiKeyIds })
  const owners = new Set([...apiKeys.values()].map(({ accountId }) => accountId))
  const [owner] = owners
  if (owner !== undefined && owners.size === 1) return owner
  throw new Problem('invalid_parameter', {
    message: '`key` needs `account`, unless all keys belong to one account.',
    param: 'key',
  })
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
      ? `${counted(requestsMs / HOUR_MS)} with \`state\` or \`tag\``
      : '400 days'
  throw new Problem('invalid_parameter', {
    message: `\`since\` must be before \`until\`, by at most ${most}.`,
    param: 'since',
  })
}

function counted(hours: number): string {
  return hours === 1 ? '1 hour' : `${hours} hours`
}

/** Reads every request of the range. */
async function sumRequests(db: Kysely<Tables>, filter: SummaryFilter): Promise<Summary> {
  const { accountId, sinceMs, untilMs, ...more } = filter
  const whose = accountId === null ? {} : { accountId }
  const rangeMs = untilMs - sinceMs
  const stepMs = MINUTE_MS * Math.ceil(rangeMs / MINUTE_MS / STEPS_MAX)
  const { steps, heldMicros, errors, ...sums } = await summarizeRequests(db, {
    ...{ ...more, ...whose, sinceMs, untilMs },
    stepMs,
  })
  return {
    ...sumsAnswer(sums),
    held: heldMicros,
    errors: errorsAnswer(sinceMs, errors),
    steps: Array.from({ length: Math.ceil(rangeMs / stepMs) }, (_, step) => ({
      at: timeAnswer(sinceMs + step * stepMs),
      ...sumsAnswer(steps.get(step) ?? NONE),
    })),
  }
}

interface RolledFilter extends SummaryFilter {
  readonly rolledMs: number
  readonly nowMs: number
}

/** Reads roll-ups by whole hours or UTC days. */
async function sumRolled(
  db: Kysely<Tables>,
  { rolledMs, nowMs, ...filter }: RolledFilter,
): Promise<Summary> {
  const { accountId, apiKeyId = null, modelId, endpoint, upstream, failed } = filter
  const { sinceMs, untilMs } = filter
  const stepMs = rolledMs * Math.ceil(Math.ceil((untilMs - sinceMs) / rolledMs) / STEPS_MAX)
  const startsMs = Array.from(
    { length: Math.ceil((untilMs - sinceMs) / stepMs) },
    (_, step) => sinceMs + step * stepMs,
  )
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  const query = { accountId, apiKeyId, modelId, endpoint, upstream, by: null }
  const periods = await view.execute((trx) =>
    readPeriods(trx, { ...query, boundsMs: [...startsMs, untilMs] }),
  )
  const ofStep = new Map(periods.map(({ place, sums }) => [place, sums]))
  const all = periods.reduce((sum, { sums }) => addSums(sum, sums), NO_USAGE)
  return {
    ...sumsAnswer(rolledSums(all, failed)),
    held: null,
    errors: await errorsOf(db, { ...filter, nowMs, isAnyFailed: all.failed > 0 }),
    steps: startsMs.map((startMs, step) => ({
      at: timeAnswer(startMs),
      ...sumsAnswer(rolledSums(ofStep.get(step) ?? NO_USAGE, failed)),
    })),
  }
}

/** The error codes at the end of a range, which roll-ups do not have: from as many requests as are read one by one. */
async function errorsOf(
  db: Kysely<Tables>,
  {
    isAnyFailed,
    nowMs,
    accountId,
    ...filter
  }: Omit<RolledFilter, 'rolledMs'> & { readonly isAnyFailed: boolean },
): Promise<Summary['errors']> {
  // Ranges of days end with the present day.
  const endMs = Math.min(filter.untilMs, nowMs)
  const sinceMs = Math.max(filter.sinceMs, endMs - requestsMsMax(accountId))
  if (!isAnyFailed || filter.failed === false) return errorsAnswer(sinceMs, [])
  const whose = accountId === null ? {} : { accountId }
  const range = { ...filter, ...whose, failed: true, sinceMs }
  const { errors } = await summarizeRequests(db, { ...range, stepMs: range.untilMs - sinceMs })
  return errorsAnswer(sinceMs, errors)
}

function errorsAnswer(sinceMs: number, errors: readonly ErrorCount[]): Summary['errors'] {
  return {
    from: timeAnswer(sinceMs),
    codes: errors.map(({ code, requests, latestId }) => ({ code, requests, latest: latestId })),
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
  failed: z.int().describe('Requests that ended with an error.'),
  charge: moneyField
    .nullable()
    .describe(
      'Null: the charge of failed requests alone is not known for a range of more than a day.',
    ),
}

/** Counts of Activity, in total and by step of time. */
export const requestSummaryShape = z
  .object({
    object: z.literal('request_summary'),
    from: timeField,
    to: timeField,
    ...sums,
    held: moneyField
      .nullable()
      .describe(
        'The part of their holds that is still reserved; null for a range of more than a day.',
      ),
    errors: z
      .object({
        from: timeField,
        codes: z.array(
          z.object({
            code: z.string(),
            requests: z.int(),
            latest: idField('req').describe('The newest of them.'),
          }),
        ),
      })
      .describe(
        'The failed requests by error code, the most frequent first. `from` is later than that of the range where the range is longer than a day (than an hour for all accounts).',
      ),
    steps: z
      .array(z.object({ at: timeField, ...sums }))
      .describe('At most 60 steps of equal length.'),
  })
  .meta({ id: 'RequestSummary' })
