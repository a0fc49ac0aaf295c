import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { Reader } from '../../store/page-reads.ts'
import type { Tables } from '../../store/schema.ts'
import { inOneView } from '../../store/store.ts'
import { readPeriods } from '../../usage/read-periods.ts'
import { USAGE_GROUPINGS } from '../../usage/read-usage.ts'
import type { SumRow } from '../../usage/sum-rows.ts'
import { addSums, NO_USAGE, subtractSums, type UsageSums } from '../../usage/sums.ts'
import { isTimeZone } from '../../vocabulary/allowance.ts'
import { RANGE_DAYS_MAX } from '../../vocabulary/date-range.ts'
import { invalidParameter, type Problem } from '../../vocabulary/problem.ts'
import { REPORT_ORDERS, type ReportOrder, sortedRows } from '../../vocabulary/report-order.ts'
import { filterField, formatField, idFilterField, timeAnswer, wantsCsv } from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { CUSTOMERS_FIGURES } from './usage-figures.ts'
import { focusCsv } from './usage-focus.ts'
import { type KeyOwner, readKeyOwners, readNames } from './usage-names.ts'
import { placeField, type ReportRange, rangeOf, STEPS, stepsIn } from './usage-range.ts'
import {
  figuresOf,
  figuresShape,
  GROUPINGS,
  type Grouping,
  type ReportRow,
  reportCsv,
  usageReportShape,
} from './usage-report-row.ts'

// More of them would delay other requests while they are parsed and written.
const TAGS_MAX = 10_000
const ROWS_MAX = 50_000

// JSON is written in one piece, in which no other request is served, and customers can ask for it again and again.
const JSON_ROWS_OF_CUSTOMERS_MAX = 20_000

// After so many rows, other requests are served.
const ROWS_AT_ONCE = 500

const CUSTOMERS_GROUPINGS = [...STEPS, ...USAGE_GROUPINGS, 'tag'] as const

/** Sums of requests over a range: for a key its own, on the page those of an account, for admins all. */
export function usageReportOperations(parts: OperationParts) {
  return [ofKey(parts), ofAccount(parts), ofAll(parts)]
}

const reportQuery = {
  from: placeField
    .optional()
    .describe(
      'The start of the range; a date means its start in `time_zone`. Default: 30 days, the last of which is the day in which the range ends.',
    ),
  to: placeField
    .optional()
    .describe(
      `The end of the range, exclusive. Default: now. At most ${RANGE_DAYS_MAX} days after \`from\`.`,
    ),
  step: z
    .enum(STEPS)
    .optional()
    .describe('One row for each group and day or month. Only if `by` is neither day nor month.'),
  time_zone: filterField
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin or UTC')
    .default('UTC')
    .describe('The time zone of days and dates. Default: UTC.'),
  format: formatField,
}

const TAGS_BOUND = `The grouping. \`by=tag\` allows at most ${TAGS_MAX.toLocaleString('en-US')} distinct tags in the range.`

const customersQuery = z.strictObject({
  ...reportQuery,
  by: z.enum(CUSTOMERS_GROUPINGS).default('day').describe(TAGS_BOUND),
})

function ofKey(parts: OperationParts) {
  return operation({
    name: 'getKeyUsage',
    method: 'GET',
    paths: { key: '/v1/usage' },
    summary:
      'The usage of the calling key, by day, month, model, key, endpoint or tag; JSON or CSV.',
    query: customersQuery,
    answers: { 200: usageReportShape },
    run: ({ caller: { accountId, apiKeyId }, query, reader, acceptsCsv }) =>
      answer(parts, { ...query, reader, acceptsCsv, accountId, apiKeyId, isForOperators: false }),
  })
}

function ofAccount(parts: OperationParts) {
  return operation({
    name: 'getUsageReport',
    method: 'GET',
    paths: { member: '/app/api/accounts/{account_id}/usage/report' },
    summary: 'The usage of an account, by day, month, model, key, endpoint or tag; JSON or CSV.',
    query: customersQuery,
    answers: { 200: usageReportShape },
    run: ({ accountId, query, reader, acceptsCsv }) =>
      answer(parts, {
        ...query,
        reader,
        acceptsCsv,
        accountId,
        apiKeyId: null,
        isForOperators: false,
      }),
  })
}

function ofAll(parts: OperationParts) {
  return operation({
    name: 'getAllUsage',
    scope: 'read',
    method: 'GET',
    paths: { admin: '/v1/admin/usage', operator: '/app/api/operator/usage/report' },
    summary:
      'The usage of all accounts, with provider cost and margin, by day, month, account, key, model, endpoint, upstream or tag; JSON, CSV or FOCUS.',
    query: z.strictObject({
      ...reportQuery,
      format: z
        .enum(['json', 'csv', 'focus'])
        .optional()
        .describe(
          'The format of the answer. Default: CSV if the header `accept` asks for `text/csv`, else JSON. `focus`: CSV with the columns of FOCUS 1.2, a row for each day or month, account, key, endpoint, upstream and model; `by` is day or month.',
        ),
      by: z.enum(GROUPINGS).default('day').describe(TAGS_BOUND),
      sort: z
        .enum(REPORT_ORDERS)
        .optional()
        .describe(
          'The order of the rows, with `step` of the rows of each day or month; with `-` in front, the largest first. Margins that are not known are last. Default: days and months in order, groups by the largest charge.',
        ),
      model: filterField.optional(),
      upstream: filterField.optional(),
      account: idFilterField('acct').optional(),
      key: idFilterField('key').optional(),
    }),
    answers: { 200: usageReportShape },
    problems: ['not_found'],
    async run({ reader, query: { account, key, ...query }, acceptsCsv }) {
      const accountId =
        account ?? (key === undefined ? null : await ownerOf(parts.store.pages(reader), key))
      return answer(parts, {
        ...query,
        reader,
        acceptsCsv,
        accountId,
        apiKeyId: key ?? null,
        isForOperators: true,
      })
    },
  })
}

async function ownerOf(db: Kysely<Tables>, apiKeyId: string): Promise<string> {
  const query = db.selectFrom('api_keys').select('account_id').where('id', '=', apiKeyId)
  const row = await query.executeTakeFirst()
  if (row === undefined) throw notFound('API key', apiKeyId)
  return row.account_id
}

interface ReportInput extends Omit<z.output<z.ZodObject<typeof reportQuery>>, 'format'> {
  readonly by: Grouping
  readonly format?: 'json' | 'csv' | 'focus' | undefined
  readonly model?: string | undefined
  readonly upstream?: string | undefined
  readonly sort?: ReportOrder | undefined
  readonly isForOperators: boolean
  readonly accountId: string | null
  readonly apiKeyId: string | null
  readonly acceptsCsv: boolean
  readonly reader: Reader
}

async function answer({ store, clock }: OperationParts, input: ReportInput) {
  const nowMs = clock.nowMs()
  const range = rangeOf(input, nowMs)
  if (input.step !== undefined && (input.by === 'day' || input.by === 'month')) {
    throw invalidParameter('step', '`step` needs a `by` other than day and month.')
  }
  const db = store.searches(input.reader)
  if (input.format === 'focus') {
    const charges = focusOf({ ...input, ...range })
    return Readable.from(await inOneView(db, charges))
  }
  const report = await inOneView(db, (view) => readReport(view, { ...input, ...range }))
  const body = { ...report, as_of: timeAnswer(nowMs) }
  if (!wantsCsv(input.format, input.acceptsCsv)) return body
  const { isForOperators, step } = input
  const all = figuresShape.keyof().options
  const columns = isForOperators ? all : all.filter((name) => CUSTOMERS_FIGURES.includes(name))
  return Readable.from(reportCsv(body, { step, columns, hasOwners: hasOwners(input) }))
}

/** Throws Problem `invalid_parameter` for groups that FOCUS has no columns for. */
function focusOf(input: ReportInput & ReportRange) {
  const { by: step, time_zone: zone } = input
  if (step !== 'day' && step !== 'month') {
    throw invalidParameter('by', '`by` must be day or month with `format=focus`.')
  }
  if (input.sort !== undefined) {
    throw invalidParameter('sort', '`sort` is not for `format=focus`: leave it out.')
  }
  const query = queryOf(input)
  const { fromMs, toMs } = input
  return (view: Kysely<Tables>) => focusCsv(view, { query, fromMs, toMs, step, zone })
}

/** Whether the rows are keys of many accounts, for operators. */
function hasOwners({ by, isForOperators }: Pick<ReportInput, 'by' | 'isForOperators'>): boolean {
  return by === 'key' && isForOperators
}

async function readReport(view: Kysely<Tables>, input: ReportInput & ReportRange) {
  const { by, time_zone, fromMs, toMs } = input
  const { totals, rows } =
    by === 'day' || by === 'month'
      ? await readSteps(view, { ...input, step: by })
      : await readGroups(view, { ...input, by })
  return {
    object: 'usage_report' as const,
    from: timeAnswer(fromMs),
    to: timeAnswer(toMs),
    time_zone,
    by,
    totals: figuresOf(totals),
    data: rows,
  }
}

/** The rows of a report, and the sums of all of its requests. */
interface ReadRows {
  readonly rows: readonly ReportRow[]
  readonly totals: UsageSums
}

/** A row for each day or month. */
async function readSteps(
  view: Kysely<Tables>,
  input: ReportInput & ReportRange & { readonly step: (typeof STEPS)[number] },
): Promise<ReadRows> {
  const { dates, boundsMs } = stepsIn(input, { step: input.step, zone: input.time_zone })
  const all = await readPeriods(view, { ...queryOf(input), by: null, boundsMs })
  const ofStep = new Map(all.map((each) => [each.place, each.sums]))
  const rows = dates.map((date, place) => ({
    id: date,
    name: null,
    figures: figuresOf(ofStep.get(place) ?? NO_USAGE),
  }))
  return { rows: inOrder(rows, input), totals: allOf(all) }
}

/** A row for each group or, with `step`, for each group of each day or month. */
async function readGroups(
  view: Kysely<Tables>,
  input: ReportInput & ReportRange & { readonly by: Exclude<Grouping, (typeof STEPS)[number]> },
): Promise<ReadRows> {
  const { by, step, time_zone: zone, fromMs, toMs } = input
  const steps = step === undefined ? null : stepsIn(input, { step, zone })
  const read = { ...queryOf(input), boundsMs: steps?.boundsMs ?? [fromMs, toMs] }
  const rowsMax = rowsMaxOf(input)
  const groupsMax = by === 'tag' ? TAGS_MAX + 1 : rowsMax + 1
  const groups = await readPeriods(view, { ...read, by, groupsMax })
  if (groups.length >= groupsMax) throw by === 'tag' ? tooManyTags() : tooManyRows(rowsMax)
  const all = by === 'tag' ? await readPeriods(view, { ...read, by: null }) : groups
  const nameOf = await namesOf(view, by, groups)
  const ownerOfKey = hasOwners(input) ? await ownersOf(view, groups) : () => ({})
  const groupsAt = Map.groupBy(groups, ({ place }) => place)
  const allAt = Map.groupBy(all, ({ place }) => place)
  const rows: ReportRow[] = []
  let totals = NO_USAGE
  let rowsBefore = 0
  for (const place of read.boundsMs.slice(1).keys()) {
    const own = groupsAt.get(place) ?? []
    const ownSums = allOf(allAt.get(place) ?? [])
    totals = addSums(totals, ownSums)
    const found =
      by === 'tag'
        ? await rowsOfTags(own, ownSums)
        : own
            .map(({ label, sums }) => ({
              ...rowOf(label, { name: nameOf(label), sums }),
              ...ownerOfKey(label),
            }))
            .toSorted(byCharge)
    const date = steps?.dates[place]
    const shown = inOrder(found, input)
    rows.push(...(date === undefined ? shown : shown.map((row) => ({ date, ...row }))))
    if (rows.length > rowsMax) throw tooManyRows(rowsMax)
    if (rows.length < rowsBefore + ROWS_AT_ONCE) continue
    rowsBefore = rows.length
    await turn()
  }
  return { rows, totals }
}

function rowsMaxOf({ format, acceptsCsv, isForOperators }: ReportInput): number {
  return wantsCsv(format, acceptsCsv) || isForOperators ? ROWS_MAX : JSON_ROWS_OF_CUSTOMERS_MAX
}

function queryOf({ accountId, apiKeyId, model: modelId, upstream }: ReportInput) {
  return { accountId, apiKeyId, modelId, upstream }
}

function inOrder(
  rows: readonly ReportRow[],
  { sort }: Pick<ReportInput, 'sort'>,
): readonly ReportRow[] {
  return sort === undefined ? rows : sortedRows(rows, sort)
}

function rowOf(
  label: string | null,
  { name, sums }: { readonly name: string | null; readonly sums: UsageSums },
): ReportRow {
  return { id: label === '' ? null : label, name, figures: figuresOf(sums) }
}

function allOf(sums: readonly SumRow[]): UsageSums {
  return sums.reduce((all, each) => addSums(all, each.sums), NO_USAGE)
}

function tooManyTags(): Problem {
  return invalidParameter(
    'from',
    `The requests have more than ${TAGS_MAX.toLocaleString('en-US')} distinct tags, or combinations of tags. Choose a shorter range.`,
  )
}

function tooManyRows(rowsMax: number): Problem {
  const other = rowsMax < ROWS_MAX ? 'ask for CSV' : 'leave `step` out'
  return invalidParameter(
    'from',
    `The report has more than ${rowsMax.toLocaleString('en-US')} rows. Choose a shorter range, or ${other}.`,
  )
}

/**
 * A request counts in each of its tags. Requests without tags, and pruned ones, are the last row. Throws Problem
 * `invalid_parameter` for more tags than a report can have.
 */
async function rowsOfTags(lists: readonly SumRow[], all: UsageSums): Promise<readonly ReportRow[]> {
  const tags = new Map<string, UsageSums>()
  for (const [count, { label, sums }] of lists.entries()) {
    if (count > 0 && count % ROWS_AT_ONCE === 0) await turn()
    const tagged: readonly string[] = JSON.parse(label ?? '[]')
    for (const tag of tagged) tags.set(tag, addSums(tags.get(tag) ?? NO_USAGE, sums))
    if (tags.size > TAGS_MAX) throw tooManyTags()
  }
  const untagged = subtractSums(all, allOf(lists))
  const rows: ReportRow[] = []
  for (const [tag, sums] of tags) {
    rows.push(rowOf(tag, { name: null, sums }))
    if (rows.length % ROWS_AT_ONCE === 0) await turn()
  }
  rows.sort(byCharge)
  if (untagged.requests === 0) return rows
  return [...rows, rowOf(null, { name: null, sums: untagged })]
}

/** The names of keys and accounts. By position: the store, the grouping and the groups. */
async function namesOf(
  view: Kysely<Tables>,
  by: Grouping,
  groups: readonly SumRow[],
): Promise<(label: string | null) => string | null> {
  if (by !== 'key' && by !== 'account') return () => null
  const ids = groups.flatMap(({ label }) => label ?? [])
  const names = await readNames(view, by === 'key' ? 'api_keys' : 'accounts', ids)
  return (label) => names.get(label ?? '') ?? null
}

/** The accounts of keys. By position: the store and the keys. */
async function ownersOf(
  view: Kysely<Tables>,
  keys: readonly SumRow[],
): Promise<(label: string | null) => Partial<KeyOwner>> {
  const owners = await readKeyOwners(
    view,
    keys.flatMap(({ label }) => label ?? []),
  )
  return (label) => owners.get(label ?? '') ?? {}
}

function byCharge(one: ReportRow, other: ReportRow): number {
  return (
    other.figures.charge - one.figures.charge ||
    other.figures.requests - one.figures.requests ||
    ((one.id ?? '') < (other.id ?? '') ? -1 : 1)
  )
}
