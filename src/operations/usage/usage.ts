import { z } from 'zod'
import { getNamedKeys } from '../../ledger/api-keys.ts'
import type { Store } from '../../store/store.ts'
import {
  OPERATORS_GROUPINGS,
  readUsage,
  USAGE_GROUPINGS,
  type Usage,
  type UsageGrouping,
  type UsageQuery,
  type UsageSeries,
} from '../../usage/read-usage.ts'
import { DAY_MS, HOUR_MS } from '../../vocabulary/clock.ts'
import {
  COMPARISONS,
  comparedSpan,
  lastDays,
  RANGE_DAYS_MAX,
  stepOf,
} from '../../vocabulary/date-range.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { slicesOf } from '../../vocabulary/slices.ts'
import { CHART_STEPS, type ChartStep } from '../../vocabulary/usage-step.ts'
import {
  idField,
  idFilterField,
  momentField,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { figuresAnswer, figuresShape } from './usage-figures.ts'
import { readKeyOwners, readNames } from './usage-names.ts'

const RANGE_DAYS_DEFAULT = 30
const RANGE_MS_MAX = RANGE_DAYS_MAX * DAY_MS
const HOURS_UP_TO_MS = 48 * HOUR_MS
// Requests of hours are read one by one if they are grouped by key.
const HOURLY_MS_MAX = {
  account: 14 * DAY_MS,
  model: 14 * DAY_MS,
  endpoint: 14 * DAY_MS,
  upstream: 14 * DAY_MS,
  key: HOURS_UP_TO_MS,
} as const
const KEYS_AT_ONCE = 1_000

/** The usage of an account, or of all accounts, over time. */
export function usageOperations(parts: OperationParts) {
  return [show(parts), showAll(parts)]
}

/** `?from=`, `?to=`, `?by=` and `?compare=` of a chart. */
export const chartQuery = {
  from: momentField.optional(),
  to: momentField.optional(),
  by: z.enum(USAGE_GROUPINGS).default('model'),
  compare: z
    .enum(COMPARISONS)
    .optional()
    .describe(
      'The period to compare with: the period before (the default; for a whole month, the month before), or the same dates a year earlier.',
    ),
}

/** The query of a chart with its steps. */
export const usageQuery = z.strictObject({
  ...chartQuery,
  step: z
    .enum(CHART_STEPS)
    .optional()
    .describe(
      'Default: hours for a range of up to 48 hours, UTC days for up to 92 days, else months.',
    ),
})

function show({ store, clock }: OperationParts) {
  return operation({
    name: 'getUsage',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/usage' },
    summary: 'The usage of an account over time, by model, key or endpoint.',
    query: usageQuery,
    answers: { 200: usageShape },
    async run({ reader, accountId, query }) {
      return chartOf(store.searches(reader), {
        accountId,
        query,
        nowMs: clock.nowMs(),
        firstByteOf: 'groups',
      })
    },
  })
}

function showAll({ store, clock }: OperationParts) {
  return operation({
    name: 'getOperatorUsage',
    method: 'GET',
    paths: { operator: '/app/api/operator/usage' },
    summary:
      'The usage of all accounts or of one over time, with provider cost and margin, by account, model, key, endpoint or upstream.',
    query: z.strictObject({
      ...usageQuery.shape,
      by: z.enum(OPERATORS_GROUPINGS).default('account'),
      account: idFilterField('acct').optional(),
    }),
    answers: { 200: operatorUsageShape },
    async run({ reader, query: { account = null, ...query } }) {
      return chartOf(store.searches(reader), {
        accountId: account,
        query,
        nowMs: clock.nowMs(),
        firstByteOf: 'totals',
      })
    },
  })
}

type ChartQuery = Omit<z.output<typeof usageQuery>, 'by'> & { readonly by: UsageGrouping }

/** The chart that a query asks for. Throws Problem `invalid_parameter`. */
async function chartOf(
  db: Store['db'],
  {
    accountId,
    query,
    nowMs,
    firstByteOf,
  }: Required<Pick<UsageQuery, 'accountId' | 'firstByteOf'>> & {
    readonly query: ChartQuery
    readonly nowMs: number
  },
) {
  const { by, compare } = query
  const range = stepsOf(query, nowMs)
  const read = { accountId, by, ...range, firstByteOf }
  const usage = await readUsage(db, { ...read, comparison: compare ?? 'before' })
  const compared =
    compare === undefined
      ? null
      : await readUsage(db, { ...read, ...comparedSpan(usage, compare), seriesMax: 0 })
  const names = await groupNames(db, { accountId, by, ids: usage.groups.map(({ id }) => id) })
  return {
    account_id: accountId,
    ...usageAnswer(usage, { ...range, nowMs, names, compared }),
    by,
  }
}

/** A range of a chart. */
export interface ChartRange {
  readonly fromMs: number
  readonly toMs: number
  readonly step: ChartStep
}

/**
 * The range that a query string asks for: without one, the last 30 UTC days, or as many as `days` says. Throws Problem
 * `invalid_parameter`.
 */
export function chartRange(
  {
    from,
    to,
    days = RANGE_DAYS_DEFAULT,
  }: {
    readonly from?: number | undefined
    readonly to?: number | undefined
    readonly days?: number
  },
  nowMs: number,
): ChartRange {
  const toMs = to ?? nowMs
  const fromMs = from ?? lastDays(days, { nowMs: toMs - 1 }).fromMs
  const rangeMs = toMs - fromMs
  if (rangeMs <= 0 || rangeMs > RANGE_MS_MAX) {
    throw invalidParameter(
      'from',
      `\`from\` must be before \`to\`, by at most ${RANGE_DAYS_MAX} days.`,
    )
  }
  return { fromMs, toMs, step: stepOf({ fromMs, toMs }) }
}

/** The range and the steps that a query asks for. Throws Problem `invalid_parameter`. */
export function stepsOf({ step, by, ...asked }: ChartQuery, nowMs: number): ChartRange {
  const range = chartRange(asked, nowMs)
  const rangeMsMax = HOURLY_MS_MAX[by]
  if (step === 'hour' && range.toMs - range.fromMs > rangeMsMax) {
    throw invalidParameter(
      'step',
      `\`step\` can be \`hour\` for at most ${rangeMsMax / HOUR_MS} hours with \`by=${by}\`.`,
    )
  }
  return { ...range, step: step ?? range.step }
}

/** The displayed name of a group. */
interface GroupName {
  readonly name: string
  /** For a key: the beginning and end of its text. Null: the group is not a key, or the key's row is gone. */
  readonly prefix: string | null
  readonly deleted: boolean
  /** The account of a key in a chart of all accounts. Undefined: another group, or the chart of one account. */
  readonly account_name?: string
}

type GroupNames = (groupId: string) => GroupName

/** Groups to name, and their account. */
export interface GroupNamesInput {
  /** Null: all accounts. */
  readonly accountId: string | null
  readonly by: UsageGrouping
  readonly ids: readonly string[]
}

/** The names of the groups of a chart. Names of keys and accounts are in the store. */
export async function groupNames(
  db: Store['db'],
  { accountId, by, ids }: GroupNamesInput,
): Promise<GroupNames> {
  const named = new Map<string, GroupName>()
  if (by === 'account') {
    for (const [accountId, name] of await readNames(db, 'accounts', ids)) {
      named.set(accountId, { name: name ?? accountId, prefix: null, deleted: false })
    }
  }
  for (const apiKeyIds of slicesOf(by === 'key' ? ids : [], KEYS_AT_ONCE)) {
    const owners = accountId === null ? await readKeyOwners(db, apiKeyIds) : null
    for (const [apiKeyId, apiKey] of await getNamedKeys(db, { accountId, apiKeyIds })) {
      const { name, displayPrefix: prefix, deletedAtMs } = apiKey
      const owner = owners?.get(apiKeyId)
      const ownerName = owner?.account_name ?? owner?.account_id
      const owned = ownerName === undefined ? {} : { account_name: ownerName }
      named.set(apiKeyId, { name, prefix, deleted: deletedAtMs !== null, ...owned })
    }
  }
  return (id) =>
    named.get(id) ?? { name: id === '' ? PRUNED_NAMES[by] : id, prefix: null, deleted: false }
}

// For charts by key and hour: the keys of pruned requests are known only by day.
const PRUNED_KEYS = 'Pruned requests, keys known by day only'

const PRUNED_NAMES = {
  key: PRUNED_KEYS,
  account: 'Pruned requests',
  model: 'Pruned requests',
  endpoint: 'Pruned requests',
  upstream: 'Pruned requests, upstreams not known',
} as const
const PRUNED_ID = 'pruned'

/** The id of a group as responses have it. */
export function groupIdAnswer(id: string): string {
  return id === '' ? PRUNED_ID : id
}

const count = z.int()

/** How far roll-ups reach. */
export const historyShape = z.object({ complete: z.boolean(), rolled_until: timeField.nullable() })

/** Complete once all days up to the one before yesterday are rolled up. */
export function historyAnswer(
  { rolledUntilMs }: Usage,
  nowMs: number,
): z.infer<typeof historyShape> {
  const complete = rolledUntilMs === null || nowMs - rolledUntilMs < 3 * DAY_MS
  return { complete, rolled_until: timeOrNull(rolledUntilMs) }
}

const groupShape = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string().nullable().describe('The first and last characters of a key.'),
  deleted: z.boolean(),
  account_name: z
    .string()
    .optional()
    .describe('By key, of all accounts: the name of the account of the key, or its ID.'),
  figures: figuresShape,
})

const stepFigures = z.array(figuresShape).describe('One item for each of `steps`.')

/** The kind of a chart, and its range. */
export const chartShape = {
  account_id: idField('acct'),
  from: timeField,
  to: timeField,
  step: z.enum(CHART_STEPS),
  by: z.enum(USAGE_GROUPINGS),
  as_of: timeField,
}

/** The usage of an account over time. */
const usageShape = z
  .object({
    object: z.literal('usage'),
    ...chartShape,
    figures: figuresShape,
    before: figuresShape.describe('The figures of the period of the comparison.'),
    compared: z
      .object({
        from: timeField,
        to: timeField,
        steps: z.array(z.object({ at: timeField, figures: figuresShape })),
        groups: z.array(z.object({ id: z.string(), figures: figuresShape })),
      })
      .nullable()
      .describe('The same chart of the period of the comparison; null without `compare`.'),
    steps: z.array(timeField).describe('When each step begins.'),
    all: stepFigures,
    series: z
      .array(z.object({ id: z.string(), name: z.string(), steps: stepFigures }))
      .describe('The five groups with the largest charge.'),
    others: z
      .object({ count, figures: figuresShape, steps: stepFigures })
      .nullable()
      .describe('All other groups together.'),
    groups: z.array(groupShape).describe('All groups, the largest charge first.'),
    history: historyShape,
  })
  .meta({ id: 'Usage' })

/** The usage of all accounts, or of one, over time. */
const operatorUsageShape = usageShape
  .extend({ account_id: idField('acct').nullable(), by: z.enum(OPERATORS_GROUPINGS) })
  .meta({ id: 'OperatorUsage' })

function usageAnswer(
  usage: Usage,
  {
    toMs,
    step,
    nowMs,
    names,
    compared,
  }: ChartRange & {
    readonly nowMs: number
    readonly names: GroupNames
    readonly compared: Usage | null
  },
): Omit<z.infer<typeof usageShape>, 'account_id' | 'by'> {
  const stepsAnswer = ({ steps }: UsageSeries) => steps.map(figuresAnswer)
  const others = usage.series.find(({ id }) => id === null)
  return {
    object: 'usage',
    from: timeAnswer(usage.fromMs),
    to: timeAnswer(toMs),
    step,
    as_of: timeAnswer(nowMs),
    figures: figuresAnswer(usage.totals),
    before: figuresAnswer(usage.before),
    compared: compared === null ? null : comparedAnswer(compared),
    steps: usage.stepsMs.map(timeAnswer),
    all: usage.steps.map(figuresAnswer),
    series: usage.series.flatMap((one) =>
      one.id === null
        ? []
        : [{ id: groupIdAnswer(one.id), name: names(one.id).name, steps: stepsAnswer(one) }],
    ),
    others:
      others === undefined
        ? null
        : {
            count: others.groups,
            figures: figuresAnswer(others.totals),
            steps: stepsAnswer(others),
          },
    groups: usage.groups.map(({ id, totals }) => ({
      id: groupIdAnswer(id),
      ...names(id),
      figures: figuresAnswer(totals),
    })),
    history: historyAnswer(usage, nowMs),
  }
}

function comparedAnswer(usage: Usage): z.infer<typeof usageShape>['compared'] {
  const { fromMs, toMs, stepsMs, steps, groups } = usage
  return {
    from: timeAnswer(fromMs),
    to: timeAnswer(toMs),
    steps: steps.map((figures, place) => {
      return { at: timeAnswer(stepsMs[place] ?? fromMs), figures: figuresAnswer(figures) }
    }),
    groups: groups.map(({ id, totals }) => {
      return { id: groupIdAnswer(id), figures: figuresAnswer(totals) }
    }),
  }
}
