import { Readable } from 'node:stream'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import {
  getPurchase,
  listAllPurchases,
  listCreditedPurchases,
  type NamedPurchase,
  type PurchaseFilter,
} from '../../ledger/purchases.ts'
import type { ListPage, Page } from '../../store/list-page.ts'
import type { Tables } from '../../store/schema.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { feeOf, PURCHASE_STATES, REVERSALS, reversalOf } from '../../vocabulary/purchase.ts'
import {
  CSV_PAGE_ROWS,
  type CsvCell,
  type CsvColumns,
  csvPages,
  dollarsCell,
  exactCell,
} from '../csv.ts'
import {
  anyOf,
  formatField,
  idCursor,
  idFilterField,
  listAnswer,
  listShape,
  momentField,
  namesOf,
  pageQuery,
  timeAnswer,
  timeOrNull,
  wantsCsv,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import {
  adminPurchaseAnswer,
  adminPurchaseShape,
  paymentAnswer,
  paymentReference,
  receiptNumberAnswer,
} from './purchases.ts'

const stateFilter = anyOf(
  z.enum(PURCHASE_STATES),
  `must be one or more of ${PURCHASE_STATES.join(', ')}`,
)

const reversalFilter = anyOf(z.enum(REVERSALS), `must be one or more of ${REVERSALS.join(', ')}`)

// Later than any credit, even by another machine whose clock is ahead.
const END_MS = Number.MAX_SAFE_INTEGER

/** The purchases of all accounts, for admins. */
export function purchaseListOperations({ store, sale }: OperationParts) {
  return [
    operation({
      name: 'listAllPurchases',
      method: 'GET',
      scope: 'read',
      paths: staffPaths('purchases'),
      summary:
        'Purchases of credit, newest first; with `since` or `until`, the last credited first. JSON or CSV; CSV has all of them, with amounts in exact dollars.',
      query: pageQuery('all_purchases', {
        state: stateFilter
          .optional()
          .describe(
            `Only purchases in these states, comma-separated: ${namesOf(PURCHASE_STATES)}.`,
          ),
        reversal: reversalFilter
          .optional()
          .describe(
            `Only purchases whose payment is one of these, comma-separated: ${namesOf(REVERSALS)}.`,
          ),
        account_id: idFilterField('acct').optional(),
        since: momentField
          .optional()
          .describe('Only purchases that were credited at this time or later.'),
        until: momentField
          .optional()
          .describe('Only purchases that were credited before this time.'),
        format: formatField,
      }),
      answers: { 200: listShape(listedPurchaseShape) },
      async run({ reader, query, acceptsCsv }) {
        const { limit, cursor, state, reversal, account_id: accountId, since, until } = query
        const isRange = since !== undefined || until !== undefined
        if (isRange && state !== undefined && !state.includes('credited')) throw notCredited()
        const range = isRange ? { sinceMs: since ?? 0, untilMs: until ?? END_MS } : null
        const listed = { filter: { accountId, states: state, reversals: reversal }, range }
        if (wantsCsv(query.format, acceptsCsv)) {
          return Readable.from(purchaseCsv(purchasePages(store.searches(reader), listed), sale))
        }
        const page = await purchasePages(store.pages(reader), listed)({ limit, cursor })
        const answers = page.rows.map((row) => ({
          ...adminPurchaseAnswer(row, sale),
          account_name: row.accountName,
        }))
        return listAnswer(answers, idCursor('all_purchases', page.nextCursor))
      },
    }),
  ]
}

/** A purchase in the admins' list. */
export const listedPurchaseShape = adminPurchaseShape
  .extend({ account_name: z.string() })
  .meta({ id: 'ListedPurchase' })

type ReadPurchasePage = (page: Page) => Promise<ListPage<NamedPurchase>>

/** Lists purchases: in a range by the time of the credit, else by age. */
function purchasePages(
  db: Kysely<Tables>,
  {
    filter,
    range,
  }: {
    readonly filter: PurchaseFilter
    /** Null: credited at any time, or not at all. */
    readonly range: { readonly sinceMs: number; readonly untilMs: number } | null
  },
): ReadPurchasePage {
  if (range === null) return (page) => listAllPurchases(db, { ...filter, ...page })
  return async ({ cursor = null, limit }) => {
    const after = cursor === null ? null : await creditedPlace(db, cursor)
    return listCreditedPurchases(db, { ...filter, ...range, after, limit })
  }
}

/** The place of a cursor in the order of credit. Throws Problem `invalid_parameter` if its purchase has none. */
async function creditedPlace(db: Kysely<Tables>, purchaseId: string) {
  const purchase = await getPurchase(db, purchaseId)
  const creditedAtMs = purchase?.creditedAtMs ?? null
  if (creditedAtMs !== null) return { id: purchaseId, creditedAtMs }
  const message = '`cursor` must be the `next_cursor` of a page with `since` or `until`.'
  throw invalidParameter('cursor', message)
}

function notCredited() {
  const reason = '`since` and `until` select by the time of the credit'
  return invalidParameter('state', `\`state\` must include \`credited\`: ${reason}.`)
}

/** Purchases as CSV. Amounts are dollars, exact to the micro-dollar; `paid` and `tax` are of the currency. */
function purchaseCsv(
  readPage: ReadPurchasePage,
  sale: OperationParts['sale'],
): AsyncGenerator<string> {
  return csvPages(csvColumns(sale), async (cursor: string | null) => {
    const { rows, nextCursor } = await readPage({ cursor, limit: CSV_PAGE_ROWS })
    return { rows, next: nextCursor }
  })
}

function csvColumns(sale: OperationParts['sale']): CsvColumns<NamedPurchase> {
  const cell = ({ method, paid }: NamedPurchase, units: bigint | undefined | null): CsvCell => {
    if (paid === null || units == null) return null
    const { decimals } = paymentAnswer({ method, currency: paid.paidCurrency, units }, sale)
    // No number: it would be added up with amounts of the currency.
    if (decimals === null) return `${units} units`
    return exactCell({ digits: units, exponent: -decimals })
  }
  return {
    receipt_number: receiptNumberAnswer,
    credited_at: ({ creditedAtMs }) => timeOrNull(creditedAtMs),
    created_at: ({ createdAtMs }) => timeAnswer(createdAtMs),
    account_id: ({ accountId }) => accountId,
    account_name: ({ accountName }) => accountName,
    external_id: ({ externalId }) => externalId,
    method: ({ method }) => method,
    paid: (row) => cell(row, row.paid?.paidUnits),
    currency: ({ paid }) => paid?.paidCurrency ?? null,
    fee: (row) => {
      const feeMicros = feeOf(row)
      return feeMicros === null ? null : dollarsCell(feeMicros)
    },
    tax: (row) => cell(row, row.taxUnits),
    credit: ({ creditMicros }) => dollarsCell(creditMicros),
    reversal: reversalOf,
    reversed: ({ reversedMicros }) => dollarsCell(reversedMicros),
    state: ({ state }) => state,
    reference: paymentReference,
    purchase_id: ({ id }) => id,
  }
}
