import { z } from 'zod'
import { getAccount } from '../ledger/accounts.ts'
import { getBalance, getHeld } from '../ledger/activity/activity.ts'
import { getNamedKeys, listLimitedKeys } from '../ledger/api-keys.ts'
import type { ApiKeyRow } from '../store/schema.ts'
import { readUsage, type Usage, type UsageFigures, type UsageSeries } from '../usage/read-usage.ts'
import { Problem } from '../vocabulary/problem.ts'
import { creditAnswer, creditShape } from './accounts.ts'
import { attentionOf, attentionShape, daysLeft } from './attention.ts'
import { idField, momentField, moneyField, timeAnswer, timeField, timeOrNull } from './fields.ts'
import { notFound, type Operation, type OperationParts, operation } from './operation.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const DEFAULT_RANGE_MS = 30 * DAY_MS
const RANGE_MS_MAX = 366 * DAY_MS
const HOURS_UP_TO_MS = 48 * HOUR_MS
const PACE_DAYS = 7
const KEYS_SHOWN = 10

const GROUPINGS = ['model', 'key', 'endpoint'] as const

/** What an account has, spends and should look at. */
export function overviewOperations(parts: OperationParts): readonly Operation[] {
  return [
    operation({
      name: 'getOverview',
      method: 'GET',
      paths: { member: '/app/api/accounts/{account_id}/overview' },
      summary: 'The credit of an account, its spend beside the time before, and what needs a look.',
      query: z.strictObject({
        from: momentField.optional(),
        to: momentField.optional(),
        by: z.enum(GROUPINGS).default('model'),
      }),
      answers: { 200: overviewShape },
      problems: ['not_found'],
      async run({ accountId, query: { by, ...range } }) {
        const nowMs = parts.clock.nowMs()
        const asked = { accountId, by, ...rangeOf(range, nowMs) }
        return { httpStatus: 200, body: await overviewOf(parts, asked, nowMs) }
      },
    }),
  ]
}

async function overviewOf(
  parts: OperationParts,
  {
    accountId,
    by,
    ...range
  }: Range & { readonly accountId: string; readonly by: (typeof GROUPINGS)[number] },
  nowMs: number,
): Promise<z.infer<typeof overviewShape>> {
  const { pages } = parts.store
  const money = await readMoney(parts, accountId, nowMs)
  const usage = await readUsage(pages, { accountId, ...range, by })
  const byKey = by === 'key' ? usage : await readUsage(pages, { accountId, ...range, by: 'key' })
  const named = await getNamedKeys(pages, {
    accountId,
    apiKeyIds: byKey.groups.slice(0, KEYS_SHOWN).map(({ id }) => id),
  })
  const limitedKeys = await listLimitedKeys(pages, accountId)
  return {
    object: 'overview',
    account_id: accountId,
    from: timeAnswer(usage.fromMs),
    to: timeAnswer(range.toMs),
    step: range.step,
    by,
    as_of: timeAnswer(nowMs),
    credit: money.credit,
    figures: figuresAnswer(usage.totals),
    before: figuresAnswer(usage.before),
    spend: spendAnswer(usage, by === 'key' ? named : null),
    keys: keysAnswer(byKey, named),
    attention: [...attentionOf({ ...money, nowMs, daysLeft: money.credit.days_left, limitedKeys })],
    history: historyAnswer(usage, nowMs),
  }
}

/** The money of an account, and the pace at which it is spent. Throws Problem `not_found`. */
async function readMoney(
  { store: { pages }, settleAfterMs }: OperationParts,
  accountId: string,
  nowMs: number,
) {
  const account = await getAccount(pages, accountId)
  const balance = await getBalance(pages, { accountId, nowMs })
  if (account === null || balance === null) throw notFound('account', accountId)
  const running = await getHeld(pages, { accountId, state: 'open' })
  const paceFromMs = nowMs - PACE_DAYS * DAY_MS
  const usage = await readUsage(pages, {
    accountId,
    fromMs: paceFromMs,
    toMs: nowMs,
    by: 'key',
    step: 'day',
  })
  // Its days are whole ones; a young account's pace counts from its beginning, and at least a day.
  const paceBeganMs = Math.max(usage.fromMs, account.createdAtMs)
  const pace = { usage, days: Math.max(1, (nowMs - paceBeganMs) / DAY_MS) }
  const { unresolved, backed } = balance
  const { chargeMicros } = usage.totals
  const { oldestEndedAtMs } = unresolved
  const nextReleaseAtMs = oldestEndedAtMs === null ? null : oldestEndedAtMs + settleAfterMs
  const shown = {
    ...creditAnswer(balance),
    available: backed.availableMicros,
    has_backed_credit: balance.hasBackedCredit,
    held_running: { requests: running.requests, amount: running.heldMicros },
    held_unresolved: {
      requests: unresolved.requests,
      amount: unresolved.heldMicros,
      next_release_at: timeOrNull(nextReleaseAtMs),
    },
    days_left: daysLeft(backed.availableMicros, { chargeMicros, days: pace.days }),
  }
  return { balance, pace, nextReleaseAtMs, credit: shown }
}

interface Range {
  readonly fromMs: number
  readonly toMs: number
  readonly step: 'day' | 'hour'
}

function rangeOf(
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  nowMs: number,
): Range {
  const toMs = to ?? nowMs
  const fromMs = from ?? toMs - DEFAULT_RANGE_MS
  const rangeMs = toMs - fromMs
  if (rangeMs <= 0 || rangeMs > RANGE_MS_MAX) {
    throw new Problem('invalid_parameter', {
      message: '`from` must be before `to`, by at most 366 days.',
      param: 'from',
    })
  }
  return { fromMs, toMs, step: rangeMs <= HOURS_UP_TO_MS ? 'hour' : 'day' }
}

const count = z.int()

const figuresShape = z.object({
  requests: count,
  failed: count.describe('Those that ended with an error.'),
  charge: moneyField,
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  first_byte_ms_p50: z.number().nullable(),
  first_byte_ms_p95: z.number().nullable(),
})

/** An account at a glance. */
export const overviewShape = z
  .object({
    object: z.literal('overview'),
    account_id: idField('acct'),
    from: timeField,
    to: timeField,
    step: z.enum(['day', 'hour']),
    by: z.enum(GROUPINGS),
    as_of: timeField,
    credit: creditShape.extend({
      available: moneyField,
      has_backed_credit: z.boolean(),
      held_running: z.object({ requests: count, amount: moneyField }),
      held_unresolved: z.object({
        requests: count,
        amount: moneyField,
        next_release_at: timeField.nullable(),
      }),
      days_left: z.number().nullable(),
    }),
    figures: figuresShape,
    before: figuresShape,
    spend: z.object({
      steps: z.array(timeField),
      series: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          charge: moneyField,
          charges: z.array(moneyField),
        }),
      ),
      others: z.object({ count, charge: moneyField, charges: z.array(moneyField) }).nullable(),
    }),
    keys: z.array(
      z.object({
        id: idField('key'),
        name: z.string(),
        prefix: z.string(),
        deleted: z.boolean(),
        requests: count,
        failed: count,
        charge: moneyField,
      }),
    ),
    attention: z.array(attentionShape),
    history: z.object({ complete: z.boolean(), rolled_until: timeField.nullable() }),
  })
  .meta({ id: 'Overview' })

function figuresAnswer({
  requests,
  failed,
  chargeMicros,
  usage,
  firstByte,
}: UsageFigures): z.infer<typeof figuresShape> {
  return {
    requests,
    failed,
    charge: chargeMicros,
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    first_byte_ms_p50: firstByte?.p50Ms ?? null,
    first_byte_ms_p95: firstByte?.p95Ms ?? null,
  }
}

function spendAnswer(
  { stepsMs, series }: Usage,
  named: ReadonlyMap<string, ApiKeyRow> | null,
): z.infer<typeof overviewShape>['spend'] {
  const others = series.find(({ id }) => id === null)
  return {
    steps: stepsMs.map(timeAnswer),
    series: series.flatMap((one) => {
      const { id } = one
      return id === null ? [] : [{ id, name: named?.get(id)?.name ?? id, ...chargesOf(one) }]
    }),
    others: others === undefined ? null : { count: others.groups, ...chargesOf(others) },
  }
}

function chargesOf({ totals, steps }: UsageSeries) {
  return { charge: totals.chargeMicros, charges: steps.map(({ chargeMicros }) => chargeMicros) }
}

function keysAnswer(
  { groups }: Usage,
  named: ReadonlyMap<string, ApiKeyRow>,
): z.infer<typeof overviewShape>['keys'] {
  return groups.slice(0, KEYS_SHOWN).flatMap(({ id, totals }) => {
    const apiKey = named.get(id)
    if (apiKey === undefined) return []
    const { name, displayPrefix: prefix, deletedAtMs } = apiKey
    const { requests, failed, chargeMicros: charge } = totals
    return [{ id, name, prefix, deleted: deletedAtMs !== null, requests, failed, charge }]
  })
}

/** Whole once all days up to the one before yesterday are rolled up. */
function historyAnswer(
  { rolledUntilMs }: Usage,
  nowMs: number,
): z.infer<typeof overviewShape>['history'] {
  const complete = rolledUntilMs === null || nowMs - rolledUntilMs < 3 * DAY_MS
  return { complete, rolled_until: timeOrNull(rolledUntilMs) }
}
