import { Readable } from 'node:stream'
import { z } from 'zod'
import { listStatement, type StatementEntry, sumTopUps } from '../../ledger/activity/entries.ts'
import type { EntryPlace } from '../../ledger/activity/entry-sums.ts'
import type { AddCreditInput, BeyondBalance } from '../../ledger/ledger.ts'
import type { OperatorAction } from '../../ledger/operator-actions.ts'
import { isReservedReference } from '../../ledger/rules/credit.ts'
import type { Entry } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { BALANCE_MICROS_MAX, ENTRY_KINDS, PURSES, showMicros } from '../../vocabulary/money.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import { CSV_PAGE_ROWS, type CsvColumns, csvPages, dollarsCell } from '../csv.ts'
import {
  changeField,
  entrySpanQuery,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  MUST_BE_FUTURE,
  moment,
  momentField,
  moneyField,
  positiveAmountField,
  statementCursor,
  statementPageQuery,
  text,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { foundAccount, notFound } from '../not-found.ts'
import { type Answered, operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths, staffPaths } from '../paths.ts'
import { chartRange } from '../usage/usage.ts'

/** Adding credit to accounts, their entries, and the credit that was added to all of them. */
export function creditOperations(parts: OperationParts) {
  return [add(parts), entries(parts), download(parts), topUps(parts)]
}

const referenceField = text({
  charsMax: TEXT_CHARS_MAX.reference,
  missing:
    'is required: your own ID for this credit, such as invoice-1042, so that a repeat adds nothing',
}).refine(
  (reference) => !isReservedReference(reference),
  'must not begin with "code_" or "pur_", as the IDs of credit codes and purchases do',
)

const creditBody = z.discriminatedUnion(
  'kind',
  [
    z.strictObject(
      {
        kind: z.literal('backed'),
        amount: changeField.describe(
          'The paid credit, in micro-dollars; a negative amount removes credit.',
        ),
        reference: referenceField,
      },
      {
        error(issue) {
          if (issue.code !== 'unrecognized_keys') return undefined
          return issue.keys.includes('expires_at')
            ? 'needs `kind=free`: paid credit does not expire'
            : 'is not a field of paid credit'
        },
      },
    ),
    z.strictObject({
      kind: z.literal('free'),
      amount: positiveAmountField,
      expires_at: moment({ missing: 'is required for free credit: when it expires' }).describe(
        'When the credit expires.',
      ),
      reference: referenceField,
    }),
  ],
  'must be backed or free',
)

function add(parts: OperationParts) {
  return operation({
    name: 'addCredit',
    method: 'POST',
    scope: 'credit',
    paths: staffPaths('accounts/{account_id}/credit'),
    summary:
      'Add credit, or remove paid credit. A reference counts once: a repeat answers 200 and the existing entry.',
    body: creditBody,
    example: { kind: 'backed', amount: 25_000_000, reference: 'invoice-1042' },
    answers: { 200: entryShape, 201: entryShape },
    problems: ['not_found', 'reference_conflict'],
    async run({ accountId, by, body }) {
      const input: AddCreditInput = {
        accountId,
        purse: body.kind,
        amountMicros: body.amount,
        expiresAtMs: body.kind === 'free' ? body.expires_at : null,
        reference: body.reference,
      }
      return addCredit(parts, input, by)
    },
  })
}

async function addCredit(
  parts: OperationParts,
  input: AddCreditInput,
  by: OperatorAction | null,
): Promise<Answered> {
  const verdict = await parts.ledger.addCredit(input, by)
  switch (verdict.kind) {
    case 'added':
      await parts.onCallersChanged({ accountId: input.accountId })
      return { httpStatus: 201, body: entryAnswer(verdict.entry) }
    case 'exists':
      return { httpStatus: 200, body: entryAnswer(verdict.entry) }
    case 'conflict':
      throw new Problem('reference_conflict', {
        message: `The account already has ${showMicros(verdict.entry.amountMicros)} of ${verdict.entry.purse === 'backed' ? 'paid' : 'free'} credit with this reference. Use another reference.`,
        param: 'reference',
      })
    case 'expired':
      throw invalidParameter('expires_at', `\`expires_at\` ${MUST_BE_FUTURE}.`)
    case 'beyondBalance':
      throw invalidParameter('amount', beyondText('`amount`', verdict))
    case 'unknownAccount':
      throw notFound('account', input.accountId)
    default:
      return assertNever(verdict)
  }
}

/** Why credit can't be added or removed. By position: the amount of the request, and the most that is possible. */
export function beyondText(amount: string, { change, mostMicros }: BeyondBalance): string {
  const most = showMicros(BALANCE_MICROS_MAX)
  return change === 'added'
    ? `${amount} must be at most ${showMicros(mostMicros)}: an account can have at most ${most}.`
    : `${amount} must be at least ${showMicros(-mostMicros)}: an account can owe at most ${most}.`
}

function entries({ store }: OperationParts) {
  return operation({
    name: 'listEntries',
    method: 'GET',
    scope: 'read',
    paths: accountPaths('/entries'),
    summary: "The account's entries, newest first.",
    query: statementPageQuery(),
    answers: { 200: listShape(statementLineShape) },
    problems: ['not_found'],
    async run({ reader, caller, accountId, query: { limit, cursor, from, to } }) {
      await foundAccount(readsFor({ caller, reader }, store), accountId)
      // Entries after the range are added up, and there may be many.
      const page = await listStatement(
        to === undefined ? store.pages(reader) : store.searches(reader),
        {
          accountId,
          place: cursor ?? null,
          limit,
          fromMs: from ?? null,
          toMs: to ?? null,
        },
      )
      const lines = page.lines.map(({ entry, balanceMicros }) => ({
        ...entryAnswer(entry),
        balance: balanceMicros,
      }))
      return listAnswer(lines, statementCursor(page.next))
    },
  })
}

function download({ store }: OperationParts) {
  return operation({
    name: 'downloadEntries',
    method: 'GET',
    paths: {
      member: '/app/api/accounts/{account_id}/entries.csv',
      operator: '/app/api/operator/accounts/{account_id}/entries.csv',
    },
    summary: "The account's entries as CSV, newest first, with amounts in exact dollars.",
    query: z.strictObject(entrySpanQuery),
    answers: { 200: z.string() },
    problems: ['not_found'],
    async run({ reader, accountId, query: { from, to } }) {
      await foundAccount(store.pages(reader), accountId)
      const span = { fromMs: from ?? null, toMs: to ?? null }
      const rows = entryCsv(store.searches(reader), { accountId, ...span })
      return Readable.from(rows)
    },
  })
}

// Amounts are dollars, exact to the micro-dollar.
const CSV_COLUMNS: CsvColumns<StatementEntry> = {
  number: ({ entry }) => entry.number,
  created_at: ({ entry }) => timeAnswer(entry.createdAtMs),
  kind: ({ entry }) => entry.kind,
  purse: ({ entry }) => entry.purse,
  amount: ({ entry }) => dollarsCell(entry.amountMicros),
  reference: ({ entry }) => entry.reference,
  request_id: ({ entry }) => entry.requestId,
  expires_at: ({ entry }) => timeOrNull(entry.expiresAtMs),
  balance: ({ balanceMicros }) => dollarsCell(balanceMicros),
}

/** Entries with the balance after each. */
function entryCsv(
  db: Store['db'],
  entries: Pick<Parameters<typeof listStatement>[1], 'accountId' | 'fromMs' | 'toMs'>,
): AsyncGenerator<string> {
  return csvPages(CSV_COLUMNS, async (place: EntryPlace | null) => {
    const page = await listStatement(db, { ...entries, place, limit: CSV_PAGE_ROWS })
    return { rows: page.lines, next: page.next }
  })
}

/** A line of an account's ledger. */
export const entryShape = z
  .object({
    id: z.string().describe('The ID of the entry: the ID of the account and a number.'),
    object: z.literal('entry'),
    account_id: idField('acct'),
    kind: z
      .enum(ENTRY_KINDS)
      .describe(
        '`top_up`: paid credit was added. `activation`: a credit code was redeemed. `purchase`: credit was bought. `reversal`: a refund or dispute of a purchase, or its end. `chargeback`: paid credit was removed. `grant`: free credit was added. `charge`: a request. `correction`: the difference to the final cost of a request. `expiry`: free credit expired. `write_off`: the part of a charge that free credit could not pay.',
      ),
    amount: moneyField.describe('The change of the balance in micro-dollars.'),
    purse: z.enum(PURSES),
    reference: z
      .string()
      .nullable()
      .describe(
        'The reference of added credit, the ID of a redeemed code, or the ID of a purchase; null for other entries.',
      ),
    request_id: idField('req')
      .nullable()
      .describe('The request of a charge, correction or write-off; null for other entries.'),
    expires_at: timeField.nullable().describe('When free credit expires; null for other entries.'),
    created_at: timeField,
  })
  .meta({ id: 'Entry' })

/** A line of an account's statement. */
const statementLineShape = entryShape
  .extend({
    balance: moneyField.describe(
      'The balance of both purses together after the entry, in micro-dollars.',
    ),
  })
  .meta({ id: 'StatementLine' })

/** An entry as responses have it. */
export function entryAnswer(entry: Entry): z.infer<typeof entryShape> {
  return {
    id: `${entry.accountId}/${entry.number}`,
    object: 'entry',
    account_id: entry.accountId,
    kind: entry.kind,
    amount: entry.amountMicros,
    purse: entry.purse,
    reference: entry.reference,
    request_id: entry.requestId,
    expires_at: timeOrNull(entry.expiresAtMs),
    created_at: timeAnswer(entry.createdAtMs),
  }
}

/** Paid credit that was added over a range, for operators. */
function topUps({ store, clock }: OperationParts) {
  return operation({
    name: 'getTopUps',
    method: 'GET',
    paths: { operator: '/app/api/operator/top-ups' },
    summary:
      'The paid credit that was added in a range, and what refunds and disputes removed, of all accounts or of one.',
    query: z.strictObject({
      from: momentField.optional(),
      to: momentField.optional(),
      account: idFilterField('acct').optional(),
    }),
    answers: { 200: topUpsShape },
    async run({ reader, query: { account = null, ...asked } }) {
      const { fromMs, toMs } = chartRange(asked, clock.nowMs())
      const range = { accountId: account, fromMs, toMs }
      const { amountMicros, reversedMicros, entries } = await sumTopUps(store.pages(reader), range)
      return {
        object: 'top_ups',
        from: timeAnswer(fromMs),
        to: timeAnswer(toMs),
        amount: amountMicros,
        reversed: reversedMicros,
        top_ups: entries.top_up ?? 0,
        purchases: entries.purchase ?? 0,
        codes: entries.activation ?? 0,
      }
    },
  })
}

/** Paid credit that was added over a range. */
const topUpsShape = z
  .object({
    object: z.literal('top_ups'),
    from: timeField,
    to: timeField,
    amount: moneyField.describe(
      'The paid credit that was added, in micro-dollars, without deducting refunds and disputes.',
    ),
    reversed: moneyField.describe(
      'What refunds and disputes removed in the range, in micro-dollars, less what was added again; below zero: more was added again.',
    ),
    top_ups: z.int().describe('How many times operators and programs added credit.'),
    purchases: z.int().describe('The number of purchases that were credited.'),
    codes: z.int().describe('The number of credit codes that were redeemed.'),
  })
  .meta({ id: 'TopUps' })
