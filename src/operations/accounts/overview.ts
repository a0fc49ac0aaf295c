import type { Kysely } from 'kysely'
import { z } from 'zod'
import { getAccount } from '../../ledger/accounts.ts'
import { getBalance, type HeldCredit } from '../../ledger/activity/balance.ts'
import { listLimitedKeys } from '../../ledger/api-keys.ts'
import { removedSinceCredit } from '../../ledger/removed-credit.ts'
import type { Tables } from '../../store/schema.ts'
import {
  readUsage,
  readUsageGroups,
  type Usage,
  type UsageGroupFigures,
  type UsageSeries,
} from '../../usage/read-usage.ts'
import type { Comparison } from '../../vocabulary/date-range.ts'
import { dailyPace, paceSpan, paidDaysLeft } from '../../vocabulary/pace.ts'
import { idField, moneyField, timeAnswer, timeField, timeOrNull } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import {
  type ChartRange,
  chartQuery,
  chartRange,
  chartShape,
  groupIdAnswer,
  groupNames,
  historyAnswer,
  historyShape,
} from '../usage/usage.ts'
import { figuresAnswer, figuresShape } from '../usage/usage-figures.ts'
import { creditAnswer, creditShape } from './accounts.ts'
import { attentionOf, attentionShape, daysAnswer } from './attention.ts'
import { nextReleaseAtMs } from './own-account.ts'

const KEYS_SHOWN = 10

/** The credit, the spend and the items for attention of an account. */
export function overviewOperations(parts: OperationParts) {
  return [
    operation({
      name: 'getOverview',
      method: 'GET',
      paths: { member: '/app/api/accounts/{account_id}/overview' },
      summary:
        'The credit of an account, its spend compared with the period before, and what needs attention.',
      query: z.strictObject(chartQuery),
      answers: { 200: overviewShape },
      problems: ['not_found'],
      async run({ accountId, reader, query: { by, compare, ...range } }) {
        const nowMs = parts.clock.nowMs()
        const pages = parts.store.pages(reader)
        const asked = {
          accountId,
          by,
          comparison: compare ?? 'before',
          ...chartRange(range, nowMs),
        }
        return await overviewOf(parts, asked, { nowMs, pages })
      },
    }),
  ]
}

async function overviewOf(
  parts: OperationParts,
  {
    accountId,
    by,
    comparison,
    ...range
  }: ChartRange & {
    readonly accountId: string
    readonly by: z.infer<typeof overviewShape>['by']
    readonly comparison: Comparison
  },
  { nowMs, pages }: { readonly nowMs: number; readonly pages: Kysely<Tables> },
): Promise<z.infer<typeof overviewShape>> {
  const money = await readMoney(parts, accountId, { nowMs, pages })
  const read = { accountId, ...range }
  const usage = await readUsage(pages, { ...read, by, comparison, firstByteOf: 'totals' })
  const byKey = by === 'key' ? usage.groups : await readUsageGroups(pages, { ...read, by: 'key' })
  const keys = byKey.slice(0, KEYS_SHOWN)
  const ids = keys.map(({ id }) => id)
  const keyNames = await groupNames(pages, { accountId, by: 'key', ids })
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
    spend: spendAnswer(usage, by === 'key' ? keyNames : (id) => ({ name: id })),
    keys: keysAnswer(keys, keyNames),
    attention: [...attentionOf({ ...money, nowMs, daysLeft: money.credit.days_left, limitedKeys })],
    history: historyAnswer(usage, nowMs),
  }
}

/** The money of an account, and the pace at which it is spent. Throws Problem `not_found`. */
async function readMoney(
  parts: OperationParts,
  accountId: string,
  { nowMs, pages }: { readonly nowMs: number; readonly pages: Kysely<Tables> },
) {
  const account = await getAccount(pages, accountId)
  const balance = await getBalance(pages, { accountId, nowMs })
  if (account === null || balance === null) throw notFound('account', accountId)
  const range = { accountId, ...paceSpan(nowMs), step: 'day' } as const
  const recent = await readUsageGroups(pages, { ...range, by: 'key' })
  const { running, estimated, unresolved, backed } = balance
  const recentMicros = recent.reduce((sum, { totals }) => sum + totals.chargeMicros, 0)
  const paceMicros = dailyPace(recentMicros, { sinceMs: account.createdAtMs, nowMs })
  const releaseAtMs = nextReleaseAtMs(parts, unresolved)
  const shown = {
    ...creditAnswer(balance),
    available: backed.availableMicros,
    has_backed_credit: balance.hasBackedCredit,
    held_running: heldAnswer(running),
    held_estimated: heldAnswer(estimated),
    held_unresolved: { ...heldAnswer(unresolved), next_release_at: timeOrNull(releaseAtMs) },
    recent_charge: recentMicros,
    days_left: daysAnswer(paidDaysLeft(backed.availableMicros, paceMicros)),
  }
  const removed = await removedSinceCredit(pages, [accountId])
  return {
    account,
    balance,
    removedMicros: removed.get(accountId) ?? 0,
    recent,
    nextReleaseAtMs: releaseAtMs,
    credit: shown,
  }
}

function heldAnswer({ requests, heldMicros }: HeldCredit): z.infer<typeof heldShape> {
  return { requests, amount: heldMicros }
}

const count = z.int()

const heldShape = z.object({ requests: count, amount: moneyField })

/** An account at a glance. */
const overviewShape = z
  .object({
    object: z.literal('overview'),
    ...chartShape,
    credit: creditShape.extend({
      available: moneyField,
      has_backed_credit: z.boolean(),
      held_running: heldShape,
      held_estimated: heldShape.describe(
        'Requests whose charge is an estimate, with the rest of their holds.',
      ),
      held_unresolved: heldShape.extend({ next_release_at: timeField.nullable() }),
      recent_charge: moneyField.describe(
        'The charges of the last 7 UTC days, today among them: the rate of `days_left`.',
      ),
      days_left: z
        .number()
        .nullable()
        .describe(
          'How many days the available paid credit lasts at that rate. Null: no paid credit is available, nothing was spent, or the account is less than a day old.',
        ),
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
    keys: z
      .array(
        z.object({
          id: idField('key'),
          name: z.string(),
          prefix: z.string(),
          deleted: z.boolean(),
          requests: count,
          failed: count,
          charge: moneyField,
        }),
      )
      .describe('The keys with the largest charge, at most ten.'),
    attention: z.array(attentionShape),
    history: historyShape,
  })
  .meta({ id: 'Overview' })

function spendAnswer(
  { stepsMs, series }: Usage,
  names: (id: string) => { readonly name: string },
): z.infer<typeof overviewShape>['spend'] {
  const others = series.find(({ id }) => id === null)
  return {
    steps: stepsMs.map(timeAnswer),
    series: series.flatMap((one) => {
      const { id } = one
      if (id === null) return []
      return [{ id: groupIdAnswer(id), name: names(id).name, ...chargesOf(one) }]
    }),
    others: others === undefined ? null : { count: others.groups, ...chargesOf(others) },
  }
}

function chargesOf({ totals, steps }: UsageSeries) {
  return { charge: totals.chargeMicros, charges: steps.map(({ chargeMicros }) => chargeMicros) }
}

function keysAnswer(
  groups: readonly UsageGroupFigures[],
  keyNames: Awaited<ReturnType<typeof groupNames>>,
): z.infer<typeof overviewShape>['keys'] {
  return groups.flatMap(({ id, totals }) => {
    const { name, prefix, deleted } = keyNames(id)
    const { requests, failed, chargeMicros: charge } = totals
    return prefix === null ? [] : [{ id, name, prefix, deleted, requests, failed, charge }]
  })
}
