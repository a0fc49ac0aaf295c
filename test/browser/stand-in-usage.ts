import type { Usage, UsageFigures, UsageReport } from '../../web/api/answers.ts'
import type { OperatorReport, OperatorUsage, TopUps } from '../../web/api/operator.ts'
import { ago, DAY_MS, HELIX, KEYS, MODELS, NOW } from './stand-in-data.ts'

const DAYS = 30

/** The figures of no requests. */
export const NO_FIGURES: UsageFigures = {
  requests: 0,
  failed: 0,
  charge: 0,
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  first_byte_ms_p50: null,
  first_byte_ms_p95: null,
}

const COUNTS = [
  ...(['requests', 'failed', 'charge', 'input_tokens', 'cache_read_tokens'] as const),
  ...(['cache_write_tokens', 'output_tokens', 'reasoning_tokens'] as const),
]

/** The figures of this many requests, of which some failed. */
function figuresFor(requests: number) {
  return {
    requests,
    charge: requests * 3_260,
    input_tokens: requests * 6_480,
    cache_read_tokens: requests * 3_950,
    cache_write_tokens: 0,
    output_tokens: requests * 392,
    reasoning_tokens: requests * 87,
  }
}

/** A step of a group that looks like weeks: the larger, the more requests; small groups rest some days. */
function figuresOf(scale: number, at: number): UsageFigures {
  const wave = 1 + 0.35 * Math.sin(at * 1.7 + scale) + at / 60
  const requests = Math.round(scale * wave * ((at + 5) % 7 > 4 ? 0.3 : 1))
  if (requests < 4) return NO_FIGURES
  const firstByteMs = Math.round(420 + 60_000 / (scale + 40) + 90 * Math.sin(at + scale))
  return {
    ...figuresFor(requests),
    failed: at % 6 === 0 ? Math.ceil(requests / 90) : 0,
    first_byte_ms_p50: firstByteMs,
    first_byte_ms_p95: firstByteMs * 3,
  }
}

function addedUp(all: readonly UsageFigures[]): UsageFigures {
  const sums = COUNTS.map((name) => [name, all.reduce((sum, each) => sum + each[name], 0)])
  const middle = (name: 'first_byte_ms_p50' | 'first_byte_ms_p95') => {
    const times = all.map((figures) => figures[name]).filter((time) => time !== null)
    return times.sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? null
  }
  return {
    ...NO_FIGURES,
    ...Object.fromEntries(sums),
    first_byte_ms_p50: middle('first_byte_ms_p50'),
    first_byte_ms_p95: middle('first_byte_ms_p95'),
  }
}

interface Named {
  readonly id: string
  readonly name: string
  readonly prefix: string | null
  readonly deleted: boolean
}

/** The usage of these groups, the largest first; the first five have a series each. */
function usage(by: Usage['by'], named: readonly Named[]): Usage {
  const places = Array.from({ length: DAYS }, (_, at) => at)
  const grown = named.map((one, place) => ({
    ...one,
    steps: places.map((at) => figuresOf(800 / (place + 1) ** 1.6, at)),
  }))
  const others = grown.slice(5)
  const stepsOf = (some: typeof grown) =>
    places.map((at) => addedUp(some.flatMap(({ steps }) => steps.slice(at, at + 1))))
  return {
    object: 'usage',
    account_id: HELIX.id,
    from: '2026-10-23T00:00:00.000Z',
    to: '2026-11-21T22:05:00.000Z',
    step: 'day',
    by,
    as_of: NOW.toISOString(),
    figures: addedUp(grown.flatMap(({ steps }) => steps)),
    before: NO_FIGURES,
    compared: null,
    steps: places.map((at) => new Date(Date.UTC(2026, 9, 23) + at * DAY_MS).toISOString()),
    all: stepsOf(grown),
    series: grown.slice(0, 5).map(({ id, name, steps }) => ({ id, name, steps })),
    others:
      others.length === 0
        ? null
        : {
            count: others.length,
            figures: addedUp(others.flatMap(({ steps }) => steps)),
            steps: stepsOf(others),
          },
    groups: grown.map(({ steps, ...one }) => ({ ...one, figures: addedUp(steps) })),
    history: { complete: true, rolled_until: ago(7_200_000) },
  }
}

const model = (id: string): Named => ({ id, name: id, prefix: null, deleted: false })

/** The usage of 30 days by seven models. */
export const USAGE = usage(
  'model',
  [...MODELS, 'mistral/codestral-4', 'black-forest/flux-3', 'openai/text-embed-4']
    .slice(0, 7)
    .map(model),
)

/** The same, compared with the 30 days before. */
export const USAGE_COMPARED: Usage = {
  ...USAGE,
  before: { ...USAGE.figures, charge: Math.round(USAGE.figures.charge * 0.86) },
  compared: {
    from: '2026-09-23T00:00:00.000Z',
    to: '2026-10-23T00:00:00.000Z',
    steps: USAGE.all.map((figures, at) => ({
      at: new Date(Date.UTC(2026, 8, 23) + at * DAY_MS).toISOString(),
      figures: { ...figures, charge: Math.round(figures.charge * 0.86) },
    })),
    groups: USAGE.groups.slice(0, 5).map(({ id, figures }) => ({
      id,
      figures: { ...figures, charge: Math.round(figures.charge * 0.86) },
    })),
  },
}

/** The usage of only one model. */
export const USAGE_OF_ONE = usage('model', MODELS.slice(0, 1).map(model))

/** By key: one is deleted, and one is no longer known. */
export const USAGE_BY_KEY = usage('key', [
  ...KEYS.map(({ id, name, prefix }, at) => ({ id, name, prefix, deleted: at === 2 })),
  { ...model('pruned'), name: 'Pruned requests, keys known by day only' },
])

const HOURS = Array.from({ length: 7 * 24 }, (_, hour) => hour)

const byHour = <Step>(days: readonly Step[]): Step[] =>
  HOURS.flatMap((hour) => days.slice(hour % DAYS, (hour % DAYS) + 1))

/** By key, in the hours of a week. */
export const USAGE_BY_HOUR: Usage = {
  ...USAGE_BY_KEY,
  step: 'hour',
  from: '2026-11-15T00:00:00.000Z',
  to: '2026-11-22T00:00:00.000Z',
  steps: HOURS.map((hour) => new Date(Date.UTC(2026, 10, 15, hour)).toISOString()),
  all: byHour(USAGE_BY_KEY.all),
  series: USAGE_BY_KEY.series.map((one) => ({ ...one, steps: byHour(one.steps) })),
  others: USAGE_BY_KEY.others && {
    ...USAGE_BY_KEY.others,
    steps: byHour(USAGE_BY_KEY.others.steps),
  },
}

/** Without any request. */
export const NO_USAGE = usage('model', [])

function reportFigures(requests: number): UsageReport['totals'] {
  return { ...figuresFor(requests), failed: Math.round(requests / 240) }
}

/** By tag: a request counts in each of its tags. */
export const USAGE_BY_TAG: UsageReport = {
  object: 'usage_report',
  from: '2026-10-22T22:05:00.000Z',
  to: '2026-11-21T22:05:00.000Z',
  time_zone: 'UTC',
  by: 'tag',
  as_of: NOW.toISOString(),
  totals: reportFigures(9_000),
  data: [
    ...['team-two', 'nightly', 'evals-of-the-larger-models-with-a-name-that-is-as-long-as-allowed'],
    null,
  ].map((id, place) => ({ id, name: null, figures: reportFigures(6_000 / (place + 1)) })),
}

/** By tag, where no request has any. */
export const USAGE_WITHOUT_TAGS: UsageReport = {
  ...USAGE_BY_TAG,
  data: [{ id: null, name: null, figures: USAGE_BY_TAG.totals }],
}

function withMoney<Figures extends Readonly<Record<'charge', number>>>(
  figures: Figures,
  costMicros: number,
) {
  const charges = { backed_charge: figures.charge, free_charge: 0, written_off: 0 }
  const margin = figures.charge - costMicros
  return { ...figures, ...charges, cost: costMicros, uncharged_cost: 0, uncosted: 0, margin }
}

/** Three accounts, one of them at a loss: their part of all requests, and the cost of a dollar of charge. */
const OWNERS = [
  { id: 'acct_1', name: 'Northwind Support', part: 0.62, costShare: 0.87 },
  { id: HELIX.id, name: HELIX.name, part: 0.27, costShare: 0.91 },
  {
    id: 'acct_3',
    name: 'Ada Lovelace, whose account has a name that is longer than others',
    part: 0.11,
    costShare: 1.06,
  },
]

const COST_SHARE = OWNERS.reduce((sum, { part, costShare }) => sum + part * costShare, 0)

const priced = <Figures extends Readonly<Record<'charge', number>>>(figures: Figures) =>
  withMoney(figures, Math.round(figures.charge * COST_SHARE))

interface Slice {
  readonly id: string
  readonly name: string
  /** The account of a key. Default: none. */
  readonly account_name?: string
  /** The share of all requests: all shares add up to 1. */
  readonly part: number
  readonly costShare: number
}

const UPSTREAM_SLICES: readonly Slice[] = [
  { name: 'openrouter', part: 0.48 },
  { name: 'anthropic', part: 0.26 },
  { name: 'openai', part: 0.18 },
  { name: 'own-vllm-in-the-cellar', part: 0.08 },
].map((slice) => ({ ...slice, id: slice.name, costShare: COST_SHARE }))

const KEY_SLICES: readonly Slice[] = KEYS.slice(0, 3).map(({ id, name }, at) => {
  return {
    id,
    name,
    account_name: OWNERS[at]?.name ?? '',
    part: [0.6, 0.3, 0.1][at] ?? 0,
    costShare: COST_SHARE,
  }
})

/** A part of figures. */
function partOf(figures: UsageFigures, part: number): UsageFigures {
  const parts = COUNTS.map((name) => [name, Math.round(figures[name] * part)])
  return { ...figures, ...Object.fromEntries(parts) }
}

function sliceOf(figures: UsageFigures, { part, costShare }: Slice) {
  const own = partOf(figures, part)
  return withMoney(own, Math.round(own.charge * costShare))
}

const BY_MODEL = {
  ...USAGE,
  account_id: null,
  figures: priced(USAGE.figures),
  before: priced(USAGE.before),
  all: USAGE.all.map(priced),
  series: USAGE.series.map((one) => ({ ...one, steps: one.steps.map(priced) })),
  others: USAGE.others && {
    count: USAGE.others.count,
    figures: priced(USAGE.others.figures),
    steps: USAGE.others.steps.map(priced),
  },
  groups: USAGE.groups.map((group) => ({ ...group, figures: priced(group.figures) })),
  compared: USAGE_COMPARED.compared && {
    ...USAGE_COMPARED.compared,
    steps: USAGE_COMPARED.compared.steps.map(({ at, figures }) => ({
      at,
      figures: priced(figures),
    })),
    groups: USAGE_COMPARED.compared.groups.map(({ id, figures }) => ({
      id,
      figures: priced(figures),
    })),
  },
} satisfies OperatorUsage

function bySlice(by: OperatorUsage['by'], slices: readonly Slice[]): OperatorUsage {
  const named = slices.map(({ id, name }) => ({ id, name, prefix: null, deleted: false }))
  const sliced = slices.map((slice, place) => ({
    ...named[place],
    id: slice.id,
    name: slice.name,
    steps: USAGE.all.map((step) => sliceOf(step, slice)),
  }))
  return {
    ...BY_MODEL,
    by,
    series: sliced.map(({ id, name, steps }) => ({ id, name, steps })),
    others: null,
    groups: slices.map((slice) => ({
      id: slice.id,
      name: slice.name,
      ...(slice.account_name === undefined ? {} : { account_name: slice.account_name }),
      prefix: null,
      deleted: false,
      figures: sliceOf(USAGE.figures, slice),
    })),
  }
}

/** The usage of all accounts, as operators read it, by a group. */
export function operatorUsage(by: string | null): OperatorUsage {
  if (by === 'account') return bySlice('account', OWNERS)
  if (by === 'upstream') return bySlice('upstream', UPSTREAM_SLICES)
  if (by === 'key') return bySlice('key', KEY_SLICES)
  return BY_MODEL
}

/** Usage by account, one at a loss. */
export const OPERATOR_REPORT: OperatorReport = {
  ...USAGE_BY_TAG,
  by: 'account',
  totals: priced(USAGE.figures),
  data: operatorUsage('account').groups.map(({ id, name, figures }) => ({ id, name, figures })),
}

const REPORT_ROWS: Readonly<Record<string, OperatorReport['data']>> = {
  day: BY_MODEL.all.map((figures, at) => ({
    id: new Date(Date.UTC(2026, 9, 23) + at * DAY_MS).toISOString().slice(0, 10),
    name: null,
    figures,
  })),
  model: BY_MODEL.groups.map(({ id, figures }) => ({ id, name: null, figures })),
  key: operatorUsage('key').groups.map(({ id, name, account_name, figures }) => ({
    ...{ id, name, figures },
    ...{ account_id: HELIX.id, account_name: account_name ?? null },
  })),
  upstream: operatorUsage('upstream').groups.map(({ id, figures }) => ({
    id,
    name: null,
    figures,
  })),
}

/** The operators' report by a group; by account if there are no other rows. Earlier periods have lower figures. */
export function operatorReport(query: URLSearchParams): OperatorReport {
  const by = query.get('by')
  const data = REPORT_ROWS[by ?? '']
  const report =
    data === undefined
      ? OPERATOR_REPORT
      : { ...OPERATOR_REPORT, by: by as OperatorReport['by'], data }
  return Date.parse(query.get('from') ?? '') < Date.UTC(2026, 9, 20) ? earlier(report) : report
}

function earlier(report: OperatorReport): OperatorReport {
  const less = (figures: OperatorReport['totals']) => {
    const own = { ...figures, ...partOf({ ...NO_FIGURES, ...figures }, 0.86) }
    return withMoney(own, Math.round(figures.cost * 0.87))
  }
  return {
    ...report,
    totals: less(report.totals),
    data: report.data.map((row) => ({ ...row, figures: less(row.figures) })),
  }
}

/** Paid credit that was added. */
export const TOP_UPS: TopUps = {
  object: 'top_ups',
  from: USAGE_BY_TAG.from,
  to: USAGE_BY_TAG.to,
  amount: 11_450_000_000,
  reversed: 0,
  top_ups: 2,
  purchases: 29,
  codes: 6,
}

/** The two of them that its statement lists. */
export const TOP_UPS_OF_HELIX: TopUps = {
  ...TOP_UPS,
  amount: 250_000_000,
  purchases: 0,
  codes: 0,
}
