import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { statementShape } from '../operations/statement.ts'
import { usageReportShape } from '../operations/usage-report.ts'
import { showMicros } from '../vocabulary/money.ts'
import type { OperationCommand } from './operation-command.ts'
import { readMoment } from './rows.ts'
import { counted, table } from './table.ts'

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
      words: 'day or month: a row for each group in each of them',
      to: 'query.step',
    },
    {
      flags: '--since <time>',
      words: 'from this date or time on, such as 2027-01-31; default: 30 days ago',
      to: 'query.from',
    },
    { flags: '--until <time>', words: 'before this date or time; default: now', to: 'query.to' },
    {
      flags: '--time-zone <zone>',
      words: 'the time zone of days, such as Europe/Berlin',
      to: 'query.time_zone',
      fallback: 'UTC',
    },
    { flags: '--account <account>', words: 'only this account, acct_…', to: 'query.account' },
    { flags: '--key <key>', words: 'only this API key, key_…', to: 'query.key' },
    { flags: '--model <model>', words: 'only this model', to: 'query.model' },
    { flags: '--upstream <name>', words: 'only this upstream', to: 'query.upstream' },
    { flags: '--csv', words: 'print CSV', to: 'query.format', read: () => 'csv' },
    {
      flags: '--format <format>',
      words: 'focus: print CSV with the columns of FOCUS 1.2, by day or month; csv: as --csv',
      to: 'query.format',
    },
  ],
  async show({ body }) {
    if (body instanceof Readable) return { out: (await text(body)).trimEnd() }
    const { by, data, totals } = usageReportShape.parse(body)
    const isStepped = data.some(({ date }) => date !== undefined)
    const total = { id: 'total', name: null, figures: totals }
    const rows: typeof data = [...data, isStepped ? { ...total, date: '' } : total]
    const none = by === 'upstream' ? 'pruned' : 'without tags, or pruned'
    const headings = ['REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'CHARGED', 'COST', 'MARGIN']
    return {
      out: table(
        [...(isStepped ? ['DATE'] : []), by.toUpperCase(), ...headings],
        rows.map(({ date, id, name, figures }) => [
          ...(date === undefined ? [] : [date]),
          name === null ? (id ?? none) : `${id} ${name}`,
          String(figures.requests),
          String(figures.failed),
          String(figures.input_tokens + figures.cache_read_tokens + figures.cache_write_tokens),
          String(figures.output_tokens),
          showMicros(figures.charge),
          showMicros(figures.cost),
          figures.margin === null ? 'not known' : showMicros(figures.margin),
        ]),
      ),
    }
  },
}

/** `tollgate account statement`: what changed the credit of an account, day by day. */
export const STATEMENT_COMMAND: OperationCommand = {
  name: 'statement',
  runs: 'getStatement',
  words: "show each change of the account's credit; the requests of a UTC day are one line",
  takes: [
    { flags: '<account>', words: 'its ID, acct_…', to: 'params.account_id' },
    {
      flags: '--since <date>',
      words: 'from this date on, such as 2027-01-31; default: the last 30 days',
      to: 'query.from',
      read: readMoment,
    },
    {
      flags: '--until <date>',
      words: 'before this date; default: now',
      to: 'query.to',
      read: readMoment,
    },
    { flags: '--csv', words: 'print CSV', to: 'query.format', read: () => 'csv' },
  ],
  async show({ body }) {
    if (body instanceof Readable) return { out: (await text(body)).trimEnd() }
    const { lines, opening_balance, closing_balance } = statementShape.parse(body)
    const rows = lines.map(({ date, kind, count, amount, balance, reference, request_id }) => [
      date,
      kind,
      kind === 'charge' ? counted(count, 'request') : (reference ?? request_id ?? '-'),
      showMicros(amount),
      showMicros(balance),
    ])
    return {
      out: table(
        ['DATE', 'KIND', 'OF', 'AMOUNT', 'BALANCE'],
        [
          ['', 'closing', '', '', showMicros(closing_balance)],
          ...rows,
          ['', 'opening', '', '', showMicros(opening_balance)],
        ],
      ),
    }
  },
}
