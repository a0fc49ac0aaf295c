import { requestShape } from '../operations/requests.ts'
import { parseDecimal, showMicros } from '../vocabulary/money.ts'
import { REQUEST_STATES } from '../vocabulary/outcome.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { listOptions, readMoment, shownRows } from './rows.ts'
import { moment, table } from './table.ts'
import { UsageFailure } from './terminal.ts'

const REQUESTS = shownRows(requestShape, {
  list: 'requests',
  none: 'no requests match',
  columns: {
    REQUEST: ({ id }) => id,
    OPENED: ({ opened_at }) => moment(opened_at),
    ENDPOINT: ({ endpoint }) => endpoint,
    MODEL: ({ model }) => model,
    STATUS: ({ http_status }) => String(http_status ?? '-'),
    STATE: ({ state }) => state,
    HOLD: ({ hold }) => showMicros(hold),
    CHARGED: ({ charge }) => showMicros(charge),
  },
})

const request = {
  flags: '<request>',
  words: 'its ID, req_…, from the x-request-id of a response',
  to: 'params.request_id',
} as const

/** `tollgate request`: the activity of all accounts. */
export const REQUEST_COMMANDS: CommandGroup = {
  name: 'request',
  words: 'list requests with their holds and charges; settle unresolved ones',
  commands: [
    {
      name: 'list',
      runs: 'listRequests',
      words: 'list requests, newest first, with their holds and charges',
      takes: [
        ...listOptions('requests', 'request id'),
        { flags: '--account <account>', words: 'only this account, acct_…', to: 'query.account' },
        { flags: '--key <key>', words: 'only this API key, key_…', to: 'query.key' },
        { flags: '--state <state>', words: `only ${REQUEST_STATES.join(', ')}`, to: 'query.state' },
        { flags: '--model <model>', words: 'only this model ID', to: 'query.model' },
        { flags: '--upstream <name>', words: 'only this upstream', to: 'query.upstream' },
        { flags: '--tag <tag>', words: 'only with this tag of the client', to: 'query.tag' },
        {
          flags: '--since <time>',
          words: 'opened at this time or later, such as 2027-01-31 or 2027-01-31T12:00:00Z',
          to: 'query.since',
          read: readMoment,
        },
        {
          flags: '--until <time>',
          words: 'opened before this time',
          to: 'query.until',
          read: readMoment,
        },
      ],
      show: REQUESTS.page,
    },
    {
      name: 'show',
      runs: 'getRequest',
      words: 'show one request in full',
      takes: [request],
      show: show(requestShape, ({ object: _, ...fields }) => {
        const rows = Object.entries(fields).map(([name, value]) => [name, shown(name, value)])
        return { out: table(['FIELD', 'VALUE'], rows) }
      }),
    },
    {
      name: 'settle',
      runs: 'settleRequest',
      words: "settle an unresolved or provisional request at the provider's cost",
      takes: [
        request,
        {
          flags: '<dollars>',
          words: "the provider's cost; the charge is the cost plus the fee",
          to: 'body.cost',
          read: readCost,
        },
      ],
      show: show(requestShape, ({ charge }) => ({ out: `settled: charged ${showMicros(charge)}` })),
    },
  ],
}

const MONEY_FIELDS = ['hold', 'held', 'charge', 'overrun']

function shown(name: string, value: unknown): string {
  if (value === null) return '-'
  if (typeof value === 'number' && MONEY_FIELDS.includes(name)) return showMicros(value)
  if (name === 'provider_cost') return `$${String(value)}`
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.join(', ') || '-'
  // Token counts by kind, without zeros.
  const counts = Object.entries(value).filter(([, count]) => count !== 0)
  return counts.length === 0 ? '-' : counts.map(([kind, count]) => `${kind} ${count}`).join(', ')
}

/** A provider's cost in dollars, such as `0.0123`, as the exact text. */
function readCost(text: string): string {
  const cost = parseDecimal(text)
  if (cost === null || cost.digits < 0n) {
    throw new UsageFailure('must be zero or more dollars, such as 0.0123')
  }
  return text
}
