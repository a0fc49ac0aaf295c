import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { statementShape } from '../operations/statement.ts'
import { showMicros } from '../vocabulary/money.ts'
import type { OperationCommand } from './operation-command.ts'
import { readMoment } from './rows.ts'
import { counted, table } from './table.ts'

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
