import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { z } from 'zod'
import { statementShape } from '../operations/credit/statement.ts'
import { refusalsShape } from '../operations/requests/refusals.ts'
import { usageReportShape } from '../operations/usage/usage-report-row.ts'
import { REFUSALS_KEPT_DAYS } from '../vocabulary/date-range.ts'
import { entryName } from '../vocabulary/entry-words.ts'
import { showMicros } from '../vocabulary/money.ts'
import { findId, idArgument } from './ids.ts'
import { type OperationCommand, show } from './operation-command.ts'
import { accountOption, CSV_OPTION, sortOption } from './options.ts'
import { brokenAt } from './shown-width.ts'
import { CUT_WIDTH_MIN, counted, fittingTable, moment, table } from './table.ts'
import { rangeOptions, readSinceOrDate, SINCE_FORMS } from './times.ts'

const keyOption: OperationCommand['takes'][number] = {
  flags: '--key <key>',
  words: 'only this API key, also if it was deleted: its shown part or ID',
  to: 'query.key',
  find: (text, opened) => findId('key', text, { ...opened, alsoEnded: true }),
}

/** `tollgate usage`: sums of requests. */
export const USAGE_COMMAND: OperationCommand = {
  name: 'usage',
  runs: 'getAllUsage',
  words: 'show requests, tokens and charges, with provider cost and margin',
  takes: [
    {
      flags: '--by <group>',
      words: 'day, month, account, key, model, endpoint, upstream or tag',
      to: 'query.by',
      fallback: 'day',
    },
    {
      flags: '--step <step>',
      words: 'day or month: a row for each group in each day or month',
      to: 'query.step',
    },
    sortOption(['requests', 'spend', 'cost', 'margin']),
    ...rangeOptions(
      `from this date or time on, ${SINCE_FORMS}; default: 30 days, the last of which is the day in which the range ends`,
      'before this date or time, in the same forms; default: now',
      readSinceOrDate,
    ),
    {
      flags: '--time-zone <zone>',
      words: 'the time zone of days and dates, such as Europe/Berlin',
      to: 'query.time_zone',
      fallback: 'UTC',
    },
    accountOption('query.account'),
    keyOption,
    { flags: '--model <model>', words: 'only this model ID', to: 'query.model' },
    { flags: '--upstream <name>', words: 'only this upstream', to: 'query.upstream' },
    CSV_OPTION,
    {
      flags: '--format <format>',
      words: 'focus: print CSV with the columns of FOCUS 1.2, by day or month; csv: as --csv',
      to: 'query.format',
    },
  ],
  examples: [
    'tollgate usage --by account --since 2027-01-01 --until 2027-02-01',
    'tollgate usage --by model --since 7d --account Ada',
    'tollgate usage --by account --sort margin',
    'tollgate usage --by account --step month --csv > usage.csv',
  ],
  async show({ body }, { sent }) {
    if (body instanceof Readable) return { out: (await text(body)).trimEnd() }
    const { by, data, totals } = usageReportShape.parse(body)
    const isSorted = sent.query['sort'] !== undefined
    const groups = by === 'day' && !isSorted ? withoutEmptyStart(data) : data
    const isStepped = groups.some(({ date }) => date !== undefined)
    const total = { id: 'total', name: null, figures: totals }
    const rows: readonly UsageRow[] = [...groups, isStepped ? { ...total, date: '' } : total]
    const none = by === 'upstream' ? 'pruned' : 'without tags, or pruned'
    const headings = ['REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'SPEND', 'COST', 'MARGIN']
    const groupOf = ({ id, ...row }: UsageRow): string =>
      row.name === null ? (id ?? none) : `${id} ${nameOf(row)}`
    // An ID stays whole, and the name after it may be cut, but not to a few letters.
    const widths = rows.map((row) => {
      const { id, name } = row
      return name === null ? groupOf(row).length : (id ?? none).length + 1 + CUT_WIDTH_MIN
    })
    return {
      out: fittingTable(
        [...(isStepped ? ['DATE'] : []), by.toUpperCase(), ...headings],
        rows.map(({ date, figures, ...row }) => [
          ...(date === undefined ? [] : [date]),
          groupOf({ figures, ...row }),
          String(figures.requests),
          String(figures.failed),
          String(figures.input_tokens + figures.cache_read_tokens + figures.cache_write_tokens),
          String(figures.output_tokens),
          showMicros(figures.charge),
          showMicros(figures.cost),
          figures.margin === null ? 'not known' : showMicros(figures.margin),
        ]),
        { [by.toUpperCase()]: Math.max(...widths) },
      ),
    }
  },
}

type UsageRow = z.infer<typeof usageReportShape>['data'][number]

/** The name of a group; a key's is followed by its account, where the report is of several. */
function nameOf({ name, account_id, account_name }: Omit<UsageRow, 'figures' | 'id'>) {
  return account_id === undefined ? name : `${name} (${account_name ?? account_id})`
}

/** The days from the first that has something: a new gateway would show a month of zeros. */
function withoutEmptyStart(days: readonly UsageRow[]): readonly UsageRow[] {
  const firstAt = days.findIndex(({ figures: { requests, charge, cost } }) =>
    [requests, charge, cost].some((figure) => figure !== 0),
  )
  return firstAt < 0 ? [] : days.slice(firstAt)
}

type Line = z.infer<typeof statementShape>['lines'][number]

/** The requests of a day, or the reference of another line; with a purchase, whether it was refunded or disputed. */
function subjectOf({ kind, count, reference, request_id, reversal }: Line): string {
  if (kind === 'charge') return counted(count, 'request')
  const subject = reference ?? request_id ?? '-'
  const isReversed = kind === 'purchase' && reversal !== null
  return isReversed ? `${subject}, ${reversal.replaceAll('_', ' ')}` : subject
}

/** `tollgate account statement`: the changes of an account's credit, day by day. */
export const STATEMENT_COMMAND: OperationCommand = {
  name: 'statement',
  runs: 'getStatement',
  words: "show each change of the account's credit; the requests of a UTC day are one line",
  takes: [
    idArgument('acct', '<account>', 'params.account_id'),
    ...rangeOptions(
      `from this UTC day on, ${SINCE_FORMS}; default: the last 30 days`,
      'before this date, in the same forms; a time includes its UTC day; default: now',
    ),
    CSV_OPTION,
  ],
  examples: [
    'tollgate account statement Ada --since 2027-01-01 --until 2027-02-01',
    'tollgate account statement Ada --since 90d --csv > statement.csv',
  ],
  async show({ body }) {
    if (body instanceof Readable) return { out: (await text(body)).trimEnd() }
    const { lines, opening_balance, closing_balance } = statementShape.parse(body)
    const rows = lines.map((line) => [
      line.date,
      entryName(line).toLowerCase(),
      subjectOf(line),
      showMicros(line.amount),
      showMicros(line.balance),
    ])
    return {
      out: table(
        ['DATE', 'KIND', 'DETAILS', 'AMOUNT', 'BALANCE'],
        [
          ['', 'closing', '', '', showMicros(closing_balance)],
          ...rows,
          ['', 'opening', '', '', showMicros(opening_balance)],
        ],
      ),
    }
  },
}

/** `tollgate account refusals`: why requests of an account were refused before they were forwarded. */
export const REFUSALS_COMMAND: OperationCommand = {
  name: 'refusals',
  runs: 'getRefusals',
  words: 'show why requests of the account were refused before they were forwarded',
  takes: [
    idArgument('acct', '<account>', 'params.account_id'),
    ...rangeOptions(
      `from this hour on, ${SINCE_FORMS}; default: the last 7 UTC days`,
      'before this time, in the same forms; a time includes its hour; default: now',
    ),
    keyOption,
  ],
  help: `Such requests are not in \`tollgate request list\`: they are only counted, by
hour, error code and API key. Counts are kept for ${REFUSALS_KEPT_DAYS} days.`,
  examples: ['tollgate account refusals Ada', 'tollgate account refusals Ada --since 24h'],
  show: show(refusalsShape, ({ codes, keys }) => {
    if (codes.length === 0) return { out: 'no requests were refused before they were forwarded' }
    const rows = keys.map(({ code, key_id, key_name, key_deleted, requests, latest_at }) => [
      requests,
      code,
      key_id,
      `${key_name ?? ''}${key_deleted ? ' (deleted)' : ''}`.trim(),
      moment(latest_at),
    ])
    const list = fittingTable(['REQUESTS', 'CODE', 'KEY', 'NAME', 'LATEST'], rows, {
      NAME: CUT_WIDTH_MIN,
    })
    const texts = codes.map(({ code, meaning, remedy }) => `${code}: ${meaning} ${remedy}`)
    return {
      out: (columnsMax) => {
        const broken = texts.flatMap((text) =>
          columnsMax === null ? text : brokenAt(columnsMax, text),
        )
        return [list(columnsMax), '', ...broken].join('\n')
      },
    }
  }),
}
