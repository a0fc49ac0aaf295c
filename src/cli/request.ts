import type { z } from 'zod'
import { requestPricesShape } from '../operations/requests/request-prices.ts'
import { requestShape } from '../operations/requests/requests.ts'
import { parseDecimal, showDollarText, showMicros } from '../vocabulary/money.ts'
import { REQUEST_STATES } from '../vocabulary/outcome.ts'
import { findKeyIds, idArgument } from './ids.ts'
import { type CommandGroup, type Shown, show, showNamed } from './operation-command.ts'
import { accountOption, stateOption } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment, table } from './table.ts'
import { UsageFailure } from './terminal.ts'
import { spanOptions } from './times.ts'

const REQUESTS = shownRows(requestShape, {
  list: 'requests',
  none: 'no requests match',
  columns: {
    ID: ({ id }) => id,
    OPENED: ({ opened_at }) => moment(opened_at),
    ENDPOINT: ({ endpoint }) => endpoint,
    MODEL: ({ model }) => model,
    STATUS: ({ http_status }) => String(http_status ?? '-'),
    STATE: ({ state }) => state,
    HOLD: ({ hold }) => showMicros(hold),
    CHARGE: ({ charge }) => showMicros(charge),
  },
})

const request = {
  ...idArgument('req', '<request>', 'params.request_id'),
  words: 'the ID of the request, req_…, from the x-request-id of a response',
} as const

/** `tollgate request`: the Activity of all accounts. */
export const REQUEST_COMMANDS: CommandGroup = {
  name: 'request',
  words: 'list requests with their holds and charges; settle unresolved ones',
  commands: [
    {
      name: 'list',
      runs: 'listRequests',
      words: 'list requests, newest first, with their holds and charges',
      takes: [
        ...listOptions('requests', 'request ID'),
        accountOption('query.account'),
        {
          flags: '--key <keys>',
          words: 'only these API keys, deleted ones too: shown parts or IDs, comma-separated',
          to: 'query.key',
          find: findKeyIds,
        },
        stateOption(REQUEST_STATES),
        {
          flags: '--model <models>',
          words: 'only these model IDs, comma-separated',
          to: 'query.model',
        },
        {
          flags: '--upstream <names>',
          words: 'only these upstreams, comma-separated',
          to: 'query.upstream',
        },
        {
          flags: '--tag <tags>',
          words: 'only requests that the client sent with one of these tags, comma-separated',
          to: 'query.tag',
        },
        ...spanOptions('opened'),
      ],
      help: `Requests that were refused before they were forwarded are not listed:
\`tollgate account refusals <account>\` counts them.`,
      examples: [
        'tollgate request list --state unresolved,provisional',
        'tollgate request list --account Ada --since 24h --limit 100',
      ],
      show: REQUESTS.page,
    },
    {
      name: 'show',
      runs: 'getRequest',
      words: 'show one request with all its fields',
      takes: [request],
      examples: ['tollgate request show req_…'],
      show: show(requestShape, ({ object: _, ...fields }) => {
        const rows = Object.entries(fields).map(([name, value]) => [name, shown(name, value)])
        return { out: table(['FIELD', 'VALUE'], rows) }
      }),
    },
    {
      name: 'prices',
      runs: 'getRequestPrices',
      words: 'show how the charge of a request follows from its tokens and prices',
      takes: [request],
      examples: ['tollgate request prices req_…'],
      show: show(requestPricesShape, shownPrices),
    },
    {
      name: 'settle',
      runs: 'settleRequest',
      words: 'settle an unresolved or provisional request at its provider cost',
      takes: [
        request,
        {
          flags: '<dollars>',
          words: 'the provider cost, such as 0.0123; the charge is the cost plus the fee',
          to: 'body.cost',
          read: readCost,
        },
      ],
      help: `The gateway settles requests itself: by the provider's record, or without a
charge once its deadline has passed. Settle one by hand only if you know its
cost from the provider; a cost of 0 charges nothing.`,
      examples: ['tollgate request settle req_… 0.0123'],
      show: showNamed(requestShape, async ({ id, account_id, charge }, { named }) => ({
        out: `settled ${id}: charged ${showMicros(charge)} to ${await named.account(account_id)}`,
      })),
    },
  ],
}

const NOT_BY_PRICES = {
  none: 'nothing is charged',
  reported:
    'the cost behind the charge was reported by the provider: it is not the tokens times the listed prices',
  settled: 'an operator settled the request, and entered the cost behind the charge',
  estimate: 'no cost was reported: the charge is an estimate',
} as const

function shownPrices({ basis, charge, fee_basis_points, lines }: Prices): Shown {
  const total = `charge: ${showMicros(charge)}, with a fee of ${fee_basis_points / 100}%`
  if (basis !== 'prices') return { out: `${total}\n${NOT_BY_PRICES[basis]}` }
  const rows = lines.map((line) => [
    line.kind,
    line.quantity,
    showDollarText(line.provider_price),
    showDollarText(line.provider_cost),
    showDollarText(line.price),
    showDollarText(line.charge),
  ])
  const headings = ['KIND', 'QUANTITY', 'PRICE', 'COST', 'CHARGED PRICE', 'CHARGE']
  return { out: `${table(headings, rows)}\n${total}` }
}

type Prices = z.output<typeof requestPricesShape>

const MONEY_FIELDS = ['hold', 'held', 'charge', 'margin', 'overrun']
const COST_FIELDS = ['provider_cost', 'uncharged_provider_cost']

function shown(name: string, value: unknown): string {
  if (value === null) return '-'
  if (typeof value === 'number' && MONEY_FIELDS.includes(name)) return showMicros(value)
  if (name === 'fee_basis_points') return `${String(value)} (${Number(value) / 100}%)`
  if (COST_FIELDS.includes(name)) return showDollarText(String(value))
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return value.join(', ') || '-'
  // Token counts by kind, without zeros.
  const counts = Object.entries(value).filter(([, count]) => count !== 0)
  return counts.length === 0 ? '-' : counts.map(([kind, count]) => `${kind} ${count}`).join(', ')
}

/** A provider's cost in dollars, such as `0.0123`, as the exact text. */
function readCost(text: string): string {
  const plain = text.trim().replace(/^\$/, '')
  const cost = parseDecimal(plain)
  if (cost === null || cost.digits < 0n) {
    throw new UsageFailure('must be zero or more dollars, such as 0.0123, without commas')
  }
  return plain
}
