import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { usageReportShape } from '../operations/usage-report.ts'
import { showMicros } from '../vocabulary/money.ts'
import type { OperationCommand } from './operation-command.ts'
import { table } from './table.ts'

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
