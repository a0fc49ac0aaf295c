import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { usageReportShape } from '../operations/usage-report.ts'
import { showMicros } from '../vocabulary/money.ts'
import type { OperationCommand } from './operation-command.ts'
import { table } from './table.ts'

/** `tollgate usage`: what requests came to. */
export const USAGE_COMMAND: OperationCommand = {
  name: 'usage',
  runs: 'getAllUsage',
  words: 'show what requests came to, by day, model, key or tag',
  takes: [
    { flags: '--by <group>', words: 'day, model, key or tag', to: 'query.by', fallback: 'day' },
    {
      flags: '--since <time>',
      words: 'from this date or time on, such as 2027-01-31; left out: 30 days ago',
      to: 'query.from',
    },
    { flags: '--until <time>', words: 'before this date or time; left out: now', to: 'query.to' },
    {
      flags: '--time-zone <zone>',
      words: 'whose days, such as Europe/Berlin',
      to: 'query.time_zone',
      fallback: 'UTC',
    },
    { flags: '--account <account>', words: 'only this account, acct_…', to: 'query.account' },
    { flags: '--key <key>', words: 'only this API key, key_…', to: 'query.key' },
    { flags: '--csv', words: 'print CSV', to: 'query.format', read: () => 'csv' },
  ],
  async show({ body }) {
    if (body instanceof Readable) return { out: (await text(body)).trimEnd() }
    const { by, data, totals } = usageReportShape.parse(body)
    const rows = [...data, { id: 'total', name: null, figures: totals }]
    return {
      out: table(
        [by.toUpperCase(), 'REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'CHARGED'],
        rows.map(({ id, name, figures }) => [
          name === null ? (id ?? 'without tags, or pruned') : `${id} ${name}`,
          String(figures.requests),
          String(figures.failed),
          String(figures.input_tokens + figures.cache_read_tokens + figures.cache_write_tokens),
          String(figures.output_tokens),
          showMicros(figures.charge),
        ]),
      ),
    }
  },
}
