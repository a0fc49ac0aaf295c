import { Readable } from 'node:stream'
import { z } from 'zod'
import { reversalsOfAccount } from '../../ledger/purchases.ts'
import { readStatement, type Statement, type StatementLine } from '../../usage/read-statement.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { dateOf, lastDays, RANGE_DAYS_MAX } from '../../vocabulary/date-range.ts'
import { ENTRY_KINDS, PURSES } from '../../vocabulary/money.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { purchaseIdOf, type Reversal } from '../../vocabulary/purchase.ts'
import { type CsvColumns, csvTable, dollarsCell } from '../csv.ts'
import {
  anyOf,
  formatField,
  idField,
  momentField,
  moneyField,
  namesOf,
  timeAnswer,
  timeField,
  timeOrNull,
  wantsCsv,
} from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths } from '../paths.ts'
import { chartRange } from '../usage/usage.ts'
import { reversalField } from './purchases.ts'

// More of them would delay other requests while they are parsed and written.
const ENTRIES_MAX = 10_000

/** The changes of an account's credit, day by day. */
export function statementOperations(parts: OperationParts) {
  return [show(parts)]
}

function show({ store, clock }: OperationParts) {
  return operation({
    name: 'getStatement',
    method: 'GET',
    scope: 'read',
    paths: accountPaths('/statement'),
    summary:
      "The account's statement, newest first: a line for the requests of each UTC day, for its corrections, and for each top-up, expiry and other change; JSON or CSV.",
    query: z.strictObject({
      from: momentField
        .optional()
        .describe(
          'The start of the range, moved back to the start of its UTC day. Default: 29 days before the last day.',
        ),
      to: momentField
        .optional()
        .describe(
          `The end of the range, exclusive, moved forward to the end of its UTC day. Default: now. At most ${RANGE_DAYS_MAX} days after \`from\`.`,
        ),
      kind: anyOf(z.enum(ENTRY_KINDS), `must be one or more of ${ENTRY_KINDS.join(', ')}`)
        .optional()
        .describe(`Only lines of these kinds, comma-separated: ${namesOf(ENTRY_KINDS)}.`),
      format: formatField,
    }),
    answers: { 200: statementShape },
    problems: ['not_found'],
    async run({ reader, accountId, query: { format, kind, ...asked }, acceptsCsv }) {
      const nowMs = clock.nowMs()
      const range = wholeDays(chartRange(asked, nowMs))
      const read = { accountId, ...range, nowMs, entriesMax: ENTRIES_MAX }
      const reads = store.searches(reader)
      const statement = await readStatement(reads, read)
      if (statement === null) throw notFound('account', accountId)
      if (statement === 'tooLong') {
        throw invalidParameter(
          'from',
          `The statement has more than ${ENTRIES_MAX.toLocaleString('en-US')} top-ups and other changes. Ask for a shorter range.`,
        )
      }
      const reversals = await reversalsOfAccount(reads, accountId)
      const whole = statementAnswer(statement, { accountId, reversals, ...range })
      const lines = whole.lines.filter((line) => kind === undefined || kind.includes(line.kind))
      const body = { ...whole, lines }
      return wantsCsv(format, acceptsCsv) ? Readable.from([statementCsv(body)]) : body
    },
  })
}

interface Days {
  readonly fromMs: number
  readonly toMs: number
}

function wholeDays({ fromMs, toMs }: Days): Days {
  return {
    fromMs: Math.floor(fromMs / DAY_MS) * DAY_MS,
    toMs: lastDays(1, { nowMs: toMs - 1 }).toMs,
  }
}

const lineShape = z.object({
  date: z.iso.date().describe('The UTC day.'),
  kind: z
    .enum(ENTRY_KINDS)
    .describe(
      '`charge`: all requests that began on the day, less write-offs. `correction`: all corrections of the day. Other kinds are single entries.',
    ),
  count: z.int().describe('The number of requests or corrections; 1 for a single entry.'),
  amount: moneyField.describe('The change of the balance in micro-dollars.'),
  balance: moneyField.describe(
    'The balance of both purses together after the line, in micro-dollars.',
  ),
  purse: z.enum(PURSES).nullable().describe('The purse of a single entry; null for other lines.'),
  reference: z
    .string()
    .nullable()
    .describe('The reference of a single entry, as in `GET …/entries`; null for other lines.'),
  reversal: reversalField.describe(
    'For a purchase, its refunds and its disputes: the effect of all of them until now, as in a purchase. Null for other lines.',
  ),
  request_id: idField('req')
    .nullable()
    .describe('The request of the latest of the corrections; null for other lines.'),
  expires_at: timeField.nullable().describe('When free credit expires; null for other entries.'),
  created_at: timeField
    .nullable()
    .describe(
      'When a single entry, or the latest of the corrections, was posted; null: the line has the requests of a day.',
    ),
})

/** An account's statement. */
export const statementShape = z
  .object({
    object: z.literal('statement'),
    account_id: idField('acct'),
    from: timeField,
    to: timeField.describe('The end of the range, exclusive.'),
    opening_balance: moneyField.describe(
      'The balance of both purses together before the oldest line, in micro-dollars.',
    ),
    closing_balance: moneyField.describe(
      'The balance of both purses together after the newest line, in micro-dollars.',
    ),
    lines: z.array(lineShape),
  })
  .meta({ id: 'Statement' })

type StatementAnswer = z.infer<typeof statementShape>

type LineAnswer = StatementAnswer['lines'][number]

function statementAnswer(
  { openingMicros, closingMicros, lines }: Statement,
  {
    accountId,
    reversals,
    fromMs,
    toMs,
  }: Days & {
    readonly accountId: string
    /** The reversals of the account's purchases, by the purchases' IDs. */
    readonly reversals: ReadonlyMap<string, Reversal | null>
  },
): StatementAnswer {
  return {
    object: 'statement',
    account_id: accountId,
    from: timeAnswer(fromMs),
    to: timeAnswer(toMs),
    opening_balance: openingMicros,
    closing_balance: closingMicros,
    lines: lines.filter(isShown).map((line) => lineAnswer(line, reversals)),
  }
}

/** A day has a line even if all its requests are still running or free. A day without requests has none. */
function isShown(line: StatementLine): boolean {
  return line.kind !== 'charge' || line.requests > 0 || line.amountMicros !== 0
}

function lineAnswer(
  line: StatementLine,
  reversals: ReadonlyMap<string, Reversal | null>,
): LineAnswer {
  const own = ownFields(line)
  const ofPurchase = own.kind === 'purchase' || own.kind === 'reversal'
  return {
    date: dateOf(line.dayMs),
    amount: line.amountMicros,
    balance: line.balanceMicros,
    ...own,
    reversal: ofPurchase ? (reversals.get(purchaseIdOf(own.reference ?? '')) ?? null) : null,
  }
}

const NO_ENTRY = { purse: null, reference: null, request_id: null, expires_at: null } as const

function ownFields(
  line: StatementLine,
): Omit<LineAnswer, 'date' | 'amount' | 'balance' | 'reversal'> {
  switch (line.kind) {
    case 'charge':
      return { kind: line.kind, count: line.requests, ...NO_ENTRY, created_at: null }
    case 'correction':
      return {
        kind: line.kind,
        count: line.corrections,
        ...NO_ENTRY,
        request_id: line.requestId,
        created_at: timeAnswer(line.latestAtMs),
      }
    case 'entry':
      return {
        kind: line.entry.kind,
        count: 1,
        purse: line.entry.purse,
        reference: line.entry.reference,
        request_id: line.entry.requestId,
        expires_at: timeOrNull(line.entry.expiresAtMs),
        created_at: timeAnswer(line.entry.createdAtMs),
      }
  }
}

// Amounts are dollars, exact to the micro-dollar.
const CSV_COLUMNS: CsvColumns<LineAnswer, keyof LineAnswer> = {
  date: ({ date }) => date,
  kind: ({ kind }) => kind,
  count: ({ count }) => count,
  amount: ({ amount }) => dollarsCell(amount),
  balance: ({ balance }) => dollarsCell(balance),
  purse: ({ purse }) => purse,
  reference: ({ reference }) => reference,
  request_id: (line) => line.request_id,
  expires_at: (line) => line.expires_at,
  created_at: (line) => line.created_at,
  reversal: ({ reversal }) => reversal,
}

function statementCsv({ lines }: StatementAnswer): string {
  const { head, line } = csvTable(CSV_COLUMNS)
  return [head, ...lines.map(line)].join('')
}
