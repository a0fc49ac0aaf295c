import { Readable } from 'node:stream'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { Reader } from '../store/page-reads.ts'
import type { Tables } from '../store/schema.ts'
import { type PeriodSums, readPeriods } from '../usage/read-periods.ts'
import { addSums, NO_USAGE, subtractSums, type UsageSums } from '../usage/sums.ts'
import { isTimeZone, type PeriodSpan, periodSpanAt } from '../vocabulary/allowance.ts'
import { Problem } from '../vocabulary/problem.ts'
import { HOUR_MS } from '../vocabulary/usage-step.ts'
import { csvLine, dollarsCell } from './csv.ts'
import { filterField, idFilterField, momentField, timeAnswer, timeField } from './fields.ts'
import { notFound, type Operation, type OperationParts, operation } from './operation.ts'
import { figuresShape as chartFiguresShape } from './usage.ts'

const DAY_MS = 24 * HOUR_MS
const RANGE_DAYS_DEFAULT = 30
const RANGE_DAYS_MAX = 400
const NAMES_AT_ONCE = 1_000
// More of them would hold up the other requests while they are parsed and written.
const TAGS_MAX = 10_000

const GROUPINGS = ['day', 'model', 'key', 'tag'] as const

/** What requests came to over a range: of a key for itself, of an account on the page, of all for admins. */
export function usageReportOperations(parts: OperationParts): readonly Operation[] {
  return [ofKey(parts), ofAccount(parts), ofAll(parts)]
}

const dateField = z.iso.date()

/** A moment, or a date for its start in the time zone. */
const placeField = z
  .union(
    [dateField, momentField],
    'must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z',
  )
  .describe('A date, for its start in `time_zone`, or a time (RFC 3339).')

const reportQuery = {
  from: placeField
    .optional()
    .describe('Default: 30 days before `to`. A date is its start in `time_zone`.'),
  to: placeField.optional().describe('Exclusive. Default: now. At most 400 days after `from`.'),
  by: z
    .enum(GROUPINGS)
    .default('day')
    .describe(
      `\`by=tag\` allows at most ${TAGS_MAX.toLocaleString('en-US')} distinct tags in the range.`,
    ),
  time_zone: filterField
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin or UTC')
    .default('UTC')
    .describe('Whose days, and midnights of dates. Default UTC.'),
  format: z
    .enum(['json', 'csv'])
    .optional()
    .describe('Default: CSV where `accept` asks for `text/csv`, else JSON.'),
}

function ofKey(parts: OperationParts): Operation {
  return operation({
    name: 'getKeyUsage',
    method: 'GET',
    paths: { key: '/v1/usage' },
    summary:
      'What the requests of the calling key came to, by day, model, key or tag; JSON or CSV.',
    query: z.strictObject(reportQuery),
    answers: { 200: usageReportShape },
    run: ({ caller: { accountId, apiKeyId }, query, reader, acceptsCsv }) =>
      answer(parts, { ...query, reader, acceptsCsv, accountId, apiKeyId }),
  })
}

function ofAccount(parts: OperationParts): Operation {
  return operation({
    name: 'getUsageReport',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/usage/report' },
    summary: 'What the requests of an account came to, by day, model, key or tag; JSON or CSV.',
    query: z.strictObject(reportQuery),
    answers: { 200: usageReportShape },
    run: ({ accountId, query, reader, acceptsCsv }) =>
      answer(parts, { ...query, reader, acceptsCsv, accountId, apiKeyId: null }),
  })
}

function ofAll(parts: OperationParts): Operation {
  return operation({
    name: 'getAllUsage',
    scope: 'read',
    method: 'GET',
    paths: { admin: '/v1/admin/usage' },
    summary: 'What the requests of all accounts came to, by day, model, key or tag; JSON or CSV.',
    query: z.strictObject({
      ...reportQuery,
      account: idFilterField('acct').optional(),
      key: idFilterField('key').optional(),
    }),
    answers: { 200: usageReportShape },
    problems: ['not_found'],
    async run({ reader, query: { account, key, ...query }, acceptsCsv }) {
      const accountId =
        account ?? (key === undefined ? null : await ownerOf(parts.store.pages(reader), key))
      return answer(parts, { ...query, reader, acceptsCsv, accountId, apiKeyId: key ?? null })
    },
  })
}

async function ownerOf(db: Kysely<Tables>, apiKeyId: string): Promise<string> {
  const query = db.selectFrom('api_keys').select('account_id').where('id', '=', apiKeyId)
  const row = await query.executeTakeFirst()
  if (row === undefined) throw notFound('API key', apiKeyId)
  return row.account_id
}

interface ReportInput extends z.output<z.ZodObject<typeof reportQuery>> {
  readonly accountId: string | null
  readonly apiKeyId: string | null
  readonly acceptsCsv: boolean
  readonly reader: Reader
}

async function answer({ store, clock }: OperationParts, input: ReportInput) {
  const nowMs = clock.nowMs()
  const range = rangeOf(input, nowMs)
  const view = store
    .searches(input.reader)
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
  const report = await view.execute((trx) => readReport(trx, { ...input, ...range }))
  const body = { ...report, as_of: timeAnswer(nowMs) }
  const asCsv = input.format === 'csv' || (input.format === undefined && input.acceptsCsv)
  return { httpStatus: 200, body: asCsv ? Readable.from([reportCsv(body)]) : body }
}

interface ReportRange {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * The moments of a range of at most 400 days, and an hour more for days of a zone. Throws Problem
 * `invalid_parameter`.
 */
function rangeOf(
  { from, to, time_zone: zone }: Pick<ReportInput, 'from' | 'to' | 'time_zone'>,
  nowMs: number,
): ReportRange {
  const placeMs = (place: string | number): number =>
    typeof place === 'number' ? place : startOfDate({ date: place, zone })
  const toMs = to === undefined ? nowMs : placeMs(to)
  const fromMs = from === undefined ? toMs - RANGE_DAYS_DEFAULT * DAY_MS : placeMs(from)
  if (fromMs >= toMs) {
    throw new Problem('invalid_parameter', {
      message: '`from` must be before `to`.',
      param: 'from',
    })
  }
  // Of 400 days, one may have an hour more than the others.
  if (toMs - fromMs > RANGE_DAYS_MAX * DAY_MS + HOUR_MS) {
    throw new Problem('invalid_parameter', {
      message: `\`from\` must be at most ${RANGE_DAYS_MAX} days before \`to\`.`,
      param: 'from',
    })
  }
  return { fromMs, toMs }
}

const dayIn = (zone: string, atMs: number): PeriodSpan =>
  periodSpanAt({ allowancePeriod: 'day', allowanceTimeZone: zone }, atMs)

/** Dates of moments in a zone. To be asked for once a report: making it takes a fifth of a millisecond. */
function datesIn(zone: string): (atMs: number) => string {
  const formatter = new Intl.DateTimeFormat('en-CA', { timeZone: zone })
  return (atMs) => formatter.format(atMs)
}

/** The first moment of a date in a zone; of a date that the zone skipped, that of the next. */
function startOfDate({ date, zone }: { readonly date: string; readonly zone: string }): number {
  const dateOf = datesIn(zone)
  let day = dayIn(zone, Date.parse(date) - DAY_MS)
  while (dateOf(day.startsAtMs) < date) day = dayIn(zone, day.endsAtMs)
  return day.startsAtMs
}

/** Where each day of a range begins in a zone, and where the last one ends; the first and the last may be parts. */
function boundsOfDays({ fromMs, toMs }: ReportRange, zone: string): readonly number[] {
  const boundsMs = [fromMs]
  for (let atMs = fromMs; ; ) {
    atMs = dayIn(zone, atMs).endsAtMs
    if (atMs >= toMs) return [...boundsMs, toMs]
    boundsMs.push(atMs)
  }
}

async function readReport(
  view: Kysely<Tables>,
  { by, time_zone: zone, fromMs, toMs, accountId, apiKeyId }: ReportInput & ReportRange,
) {
  const range = { accountId, apiKeyId, boundsMs: [fromMs, toMs] }
  const head = {
    object: 'usage_report' as const,
    from: timeAnswer(fromMs),
    to: timeAnswer(toMs),
    time_zone: zone,
    by,
  }
  if (by === 'day') {
    const boundsMs = boundsOfDays({ fromMs, toMs }, zone)
    const dateOf = datesIn(zone)
    const sums = await readPeriods(view, { ...range, by: null, boundsMs })
    const ofDay = new Map(sums.map((each) => [each.place, each.sums]))
    const rows = boundsMs.slice(0, -1).map((startMs, place) => ({
      id: dateOf(startMs),
      name: null,
      figures: figuresOf(ofDay.get(place) ?? NO_USAGE),
    }))
    return { ...head, totals: figuresOf(allOf(sums)), data: rows }
  }
  if (by === 'tag') {
    const all = allOf(await readPeriods(view, { ...range, by: null }))
    const lists = await readPeriods(view, { ...range, by, groupsMax: TAGS_MAX + 1 })
    if (lists.length > TAGS_MAX) throw tooManyTags()
    return { ...head, totals: figuresOf(all), data: rowsOfTags(lists, all) }
  }
  const sums = await readPeriods(view, { ...range, by })
  const names = by === 'key' ? await keyNames(view, sums) : new Map<string, string>()
  const rows = sums.map(({ label, sums: each }) => ({
    id: label,
    name: names.get(label ?? '') ?? null,
    figures: figuresOf(each),
  }))
  return { ...head, totals: figuresOf(allOf(sums)), data: rows.toSorted(byCharge) }
}

function allOf(sums: readonly PeriodSums[]): UsageSums {
  return sums.reduce((all, each) => addSums(all, each.sums), NO_USAGE)
}

function tooManyTags(): Problem {
  return new Problem('invalid_parameter', {
    message: `The requests have more than ${TAGS_MAX} different tags, or lists of tags: choose a shorter range.`,
    param: 'from',
  })
}

/**
 * A request counts in each of its tags; those without any, or pruned, are the rest, which stands last. Throws Problem
 * `invalid_parameter` for more tags than a report has.
 */
function rowsOfTags(lists: readonly PeriodSums[], all: UsageSums): readonly ReportRow[] {
  const tags = new Map<string, UsageSums>()
  for (const { label, sums } of lists) {
    const tagged: readonly string[] = JSON.parse(label ?? '[]')
    for (const tag of tagged) tags.set(tag, addSums(tags.get(tag) ?? NO_USAGE, sums))
    if (tags.size > TAGS_MAX) throw tooManyTags()
  }
  const untagged = subtractSums(all, allOf(lists))
  const rows = [...tags].map(([id, sums]) => ({ id, name: null, figures: figuresOf(sums) }))
  if (untagged.requests === 0) return rows.toSorted(byCharge)
  return [...rows.toSorted(byCharge), { id: null, name: null, figures: figuresOf(untagged) }]
}

async function keyNames(
  view: Kysely<Tables>,
  sums: readonly PeriodSums[],
): Promise<ReadonlyMap<string, string>> {
  const ids = sums.flatMap(({ label }) => label ?? [])
  const names = new Map<string, string>()
  for (let at = 0; at < ids.length; at += NAMES_AT_ONCE) {
    const some = ids.slice(at, at + NAMES_AT_ONCE)
    const query = view.selectFrom('api_keys').select(['id', 'name']).where('id', 'in', some)
    for (const { id, name } of await query.execute()) names.set(id, name)
  }
  return names
}

const figuresShape = chartFiguresShape.omit({ first_byte_ms_p50: true, first_byte_ms_p95: true })

type Figures = z.infer<typeof figuresShape>

function figuresOf(sums: UsageSums): Figures {
  return {
    requests: sums.requests,
    failed: sums.failed,
    charge: sums.backed_charge_micros + sums.free_charge_micros,
    input_tokens: sums.input_tokens,
    cache_read_tokens: sums.cache_read_tokens,
    cache_write_tokens: sums.cache_write_tokens + sums.cache_write_long_tokens,
    output_tokens: sums.output_tokens,
    reasoning_tokens: sums.reasoning_tokens,
  }
}

const rowShape = z.object({
  id: z
    .string()
    .nullable()
    .describe(
      'A date, or the id of a model or a key, or a tag; null: requests without tags, or pruned.',
    ),
  name: z.string().nullable().describe('Of a key.'),
  figures: figuresShape,
})

type ReportRow = z.infer<typeof rowShape>

function byCharge(one: ReportRow, other: ReportRow): number {
  return (
    other.figures.charge - one.figures.charge ||
    other.figures.requests - one.figures.requests ||
    ((one.id ?? '') < (other.id ?? '') ? -1 : 1)
  )
}

/** What requests came to over a range. */
export const usageReportShape = z
  .object({
    object: z.literal('usage_report'),
    from: timeField,
    to: timeField,
    time_zone: z.string(),
    by: z.enum(GROUPINGS),
    as_of: timeField,
    totals: figuresShape.describe(
      'Each request once, by when it came in. By tag, rows may add up to more: a request counts in each of its tags.',
    ),
    data: z
      .array(rowShape)
      .describe(
        'Every day in order; or every model, key or tag, the one with the most charge first.',
      ),
  })
  .meta({ id: 'UsageReport' })

interface CsvReport {
  readonly by: (typeof GROUPINGS)[number]
  readonly data: readonly ReportRow[]
  readonly totals: Figures
}

/** The lines of a report, and a line of its totals, in exact dollars. */
function reportCsv({ by, data, totals }: CsvReport): string {
  const columns = figuresShape.keyof().options
  const line = (label: string | null, { name, figures }: Omit<ReportRow, 'id'>): string => {
    const { charge, ...rest } = figures
    const values = { ...rest, charge: dollarsCell(charge) }
    const named = by === 'key' ? [label, name] : [label]
    return csvLine([...named, ...columns.map((column) => values[column])])
  }
  const head = csvLine([...(by === 'key' ? [by, 'name'] : [by]), ...columns])
  const rows = data.map(({ id, ...row }) => line(id ?? NO_TAGS, row))
  return [head, ...rows, line('total', { name: null, figures: totals })].join('')
}

const NO_TAGS = '(without tags, or pruned)'
