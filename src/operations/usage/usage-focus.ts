import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { type PeriodQuery, readPeriods } from '../../usage/read-periods.ts'
import { type FinestGroup, finestGroupOf } from '../../usage/sum-rows.ts'
import type { UsageSums } from '../../usage/sums.ts'
import { type PeriodSpan, periodSpanAt } from '../../vocabulary/allowance.ts'
import { invalidParameter, type Problem } from '../../vocabulary/problem.ts'
import { type CsvCell, type CsvColumns, csvTable, dollarsCell, exactCell } from '../csv.ts'
import { timeAnswer } from '../fields.ts'
import { readNames } from './usage-names.ts'
import { type ReportRange, type STEPS, stepsIn } from './usage-range.ts'

const ROWS_MAX = 50_000

/** The charges of a range that are exported in FOCUS. */
interface FocusInput extends ReportRange {
  /** The requests to export. */
  readonly query: Omit<PeriodQuery, 'by' | 'boundsMs' | 'groupsMax'>
  /** The length of a charge period. */
  readonly step: (typeof STEPS)[number]
  /** The time zone of days and months. */
  readonly zone: string
}

/**
 * The charges of a range as CSV with the columns of FOCUS 1.2 (the FinOps Open Cost and Usage Specification): for each
 * period, account, key, endpoint, upstream and model a row of usage at its charge, and one of the free credit that paid for
 * it. Throws Problem `invalid_parameter` for more rows than an export has.
 */
export async function focusCsv(view: Kysely<Tables>, input: FocusInput): Promise<Iterable<string>> {
  const { step, zone, query } = input
  const { boundsMs } = stepsIn(input, { step, zone })
  const groupsMax = ROWS_MAX + 1
  const read = await readPeriods(view, { ...query, by: 'finest', boundsMs, groupsMax })
  if (read.length > ROWS_MAX) throw tooManyRows()
  const charges = read
    .map(({ place, label, sums }) => ({ place, sums, group: finestGroupOf(label ?? '') }))
    .toSorted(inOrder)
  const [accounts, keys] = [
    await readNames(
      view,
      'accounts',
      charges.map(({ group }) => group.accountId),
    ),
    await readNames(
      view,
      'api_keys',
      charges.map(({ group }) => group.apiKeyId),
    ),
  ]
  const spans = boundsMs.map((atMs) => ({
    charged: periodSpanAt({ allowancePeriod: step, allowanceTimeZone: zone }, atMs),
    billed: periodSpanAt({ allowancePeriod: 'month', allowanceTimeZone: zone }, atMs),
  }))
  const { head, line } = csvTable(COLUMNS)
  function* lines(): Generator<string> {
    yield head
    for (const { place, group, sums } of charges) {
      const periods = spans[place]
      if (periods === undefined) continue
      const accountName = accounts.get(group.accountId) ?? null
      const keyName = keys.get(group.apiKeyId) ?? null
      const charge = { ...periods, group, sums, accountName, keyName }
      yield line({ ...charge, category: 'Usage' })
      if (sums.free_charge_micros !== 0) yield line({ ...charge, category: 'Credit' })
    }
  }
  return lines()
}

function tooManyRows(): Problem {
  return invalidParameter(
    'from',
    `The export has more than ${ROWS_MAX.toLocaleString('en-US')} rows. Choose a shorter range, or \`by=month\`.`,
  )
}

interface Placed {
  readonly place: number
  readonly group: FinestGroup
}

function inOrder(one: Placed, other: Placed): number {
  const [a, b] = [Object.values(one.group).join(' '), Object.values(other.group).join(' ')]
  return one.place - other.place || (a < b ? -1 : 1)
}

/** A row of the export. */
interface FocusRow {
  readonly category: 'Usage' | 'Credit'
  readonly group: FinestGroup
  readonly sums: UsageSums
  readonly accountName: string | null
  readonly keyName: string | null
  /** The whole day or month, even if the range has only a part of it. */
  readonly charged: PeriodSpan
  /** The month of the day. */
  readonly billed: PeriodSpan
}

const SELLER = 'tollgate'

/**
 * The columns in order: all columns that FOCUS 1.2 requires, and those that it recommends or requires of a gateway,
 * in the order of their names, then the gateway's own.
 */
const COLUMNS: CsvColumns<FocusRow> = {
  BilledCost: costCell,
  BillingAccountId: ({ group }) => group.accountId,
  BillingAccountName: ({ accountName }) => accountName,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: ({ billed }) => secondOf(billed.endsAtMs),
  BillingPeriodStart: ({ billed }) => secondOf(billed.startsAtMs),
  ChargeCategory: ({ category }) => category,
  // Corrections change the row of their request.
  ChargeClass: () => null,
  ChargeDescription: ({ category, group: { modelId, endpoint } }) =>
    `${category === 'Usage' ? 'Requests' : 'Free credit'}: ${modelId}, ${endpoint}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ charged }) => secondOf(charged.endsAtMs),
  ChargePeriodStart: ({ charged }) => secondOf(charged.startsAtMs),
  ConsumedQuantity: ofUsage(({ requests }) => requests),
  ConsumedUnit: ofUsage(() => 'Requests'),
  ContractedCost: costCell,
  EffectiveCost: costCell,
  InvoiceIssuerName: () => SELLER,
  ListCost: costCell,
  PricingQuantity: ofUsage((sums) => tokensOf(sums) || sums.requests),
  PricingUnit: ofUsage((sums) => (tokensOf(sums) > 0 ? 'Tokens' : 'Requests')),
  ProviderName: () => SELLER,
  PublisherName: ({ group: { modelId } }) => /^[^/]+(?=\/)/.exec(modelId)?.[0] ?? SELLER,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: () => 'Hosted models',
  ServiceSubcategory: () => 'Generative AI',
  SkuId: ({ group }) => group.modelId,
  SkuMeter: () => 'Tokens',
  SkuPriceId: ({ group }) => group.modelId,
  SubAccountId: ({ group }) => group.apiKeyId,
  SubAccountName: ({ keyName }) => keyName,
  // A row adds up requests of different tags.
  Tags: () => null,
  x_CacheReadTokens: ofUsage((sums) => sums.cache_read_tokens),
  x_CacheWriteTokens: ofUsage((sums) => sums.cache_write_tokens + sums.cache_write_long_tokens),
  x_Endpoint: ({ group }) => group.endpoint,
  x_FailedRequests: ofUsage((sums) => sums.failed),
  x_InputTokens: ofUsage((sums) => sums.input_tokens),
  x_OutputTokens: ofUsage((sums) => sums.output_tokens),
  x_ProviderCost: ofUsage(providerCost),
  x_ReasoningTokens: ofUsage((sums) => sums.reasoning_tokens),
  x_UncostedRequests: ofUsage((sums) => sums.uncosted),
  // Null: pruned before roll-ups distinguished upstreams.
  x_Upstream: ({ group }) => group.upstream || null,
}

/**
 * Usage is at its whole charge, and rows of credit subtract the part that free credit paid: the sum of all rows is
 * the paid charge.
 */
function costCell({ category, sums }: FocusRow): CsvCell {
  if (category === 'Credit') return dollarsCell(-sums.free_charge_micros)
  return dollarsCell(sums.backed_charge_micros + sums.free_charge_micros)
}

/** A figure that only rows of usage have, so that it is counted once. */
function ofUsage(cell: (sums: UsageSums) => CsvCell): (row: FocusRow) => CsvCell {
  return ({ category, sums }) => (category === 'Usage' ? cell(sums) : null)
}

function tokensOf(sums: UsageSums): number {
  const written = sums.cache_write_tokens + sums.cache_write_long_tokens
  return sums.input_tokens + sums.cache_read_tokens + written + sums.output_tokens
}

/** Exact to the pico-dollar, so that rows add up to the report's cost, which is rounded once. */
function providerCost(sums: UsageSums): CsvCell {
  const wholeMicros = BigInt(sums.cost_micros + sums.uncharged_cost_micros)
  const restPicos = BigInt(sums.cost_rest_pico + sums.uncharged_cost_rest_pico)
  return exactCell({ digits: wholeMicros * 1_000_000n + restPicos, exponent: -12 })
}

/** A time as FOCUS writes it. */
function secondOf(atMs: number): string {
  return timeAnswer(atMs).replace('.000Z', 'Z')
}
