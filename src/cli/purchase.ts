import { adminPurchaseShape, listedPurchaseShape } from '../operations/purchases.ts'
import { showMicros } from '../vocabulary/money.ts'
import { PURCHASE_STATES } from '../vocabulary/purchase.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment, table } from './table.ts'

const PURCHASES = shownRows(listedPurchaseShape, {
  list: 'all_purchases',
  none: 'no purchases match',
  columns: {
    ID: ({ id }) => id,
    ACCOUNT: ({ account_id }) => account_id,
    NAME: ({ account_name }) => account_name,
    METHOD: ({ method }) => method,
    STATE: ({ state }) => state,
    CREDIT: ({ credit }) => showMicros(credit),
    REVERSED: ({ reversed }) => showMicros(reversed),
    CREATED: ({ created_at }) => moment(created_at),
    CREDITED: ({ credited_at }) => moment(credited_at),
  },
})

/** Cents as dollars; other currencies in their smallest unit. */
function paidText({
  units,
  currency,
}: {
  readonly units: string
  readonly currency: string
}): string {
  return currency === 'usd' ? showMicros(Number(units) * 10_000) : `${units} ${currency}`
}

const purchase = { flags: '<purchase>', words: 'its ID, pur_…', to: 'params.purchase_id' } as const

/** `tollgate purchase`: credit that accounts have bought, and payments that are held. */
export const PURCHASE_COMMANDS: CommandGroup = {
  name: 'purchase',
  words: 'list purchases of credit; decide about payments that are held',
  commands: [
    {
      name: 'list',
      runs: 'listAllPurchases',
      words: 'list purchases, newest first',
      takes: [
        ...listOptions('all_purchases', 'purchase id'),
        {
          flags: '--account <account>',
          words: 'only this account, acct_…',
          to: 'query.account_id',
        },
        {
          flags: '--state <state>',
          words: `only ${PURCHASE_STATES.join(', ')}`,
          to: 'query.state',
        },
      ],
      show: PURCHASES.page,
    },
    {
      name: 'show',
      runs: 'getPurchase',
      words: 'show one purchase with its payment, and why it is held',
      takes: [purchase],
      show: show(
        adminPurchaseShape,
        ({ object: _, paid, transaction, credit, reversed, ...fields }) => {
          const shown = {
            ...fields,
            credit: showMicros(credit),
            reversed: showMicros(reversed),
            paid: paid === null ? null : paidText(paid),
            transaction: transaction && `${transaction.hash} on chain ${transaction.chain_id}`,
          }
          const rows = Object.entries(shown).map(([name, value]) => [name, value ?? '-'])
          return { out: table(['FIELD', 'VALUE'], rows) }
        },
      ),
    },
    {
      name: 'credit',
      runs: 'creditPurchase',
      words: 'add the credit of a purchase that is held or below the minimum',
      takes: [purchase],
      show: show(adminPurchaseShape, ({ account_id, credit, reversed }) => ({
        out: `added ${showMicros(credit - reversed)} of paid credit to ${account_id}`,
      })),
    },
    {
      name: 'dismiss',
      runs: 'dismissPurchase',
      words: 'decide that a held purchase adds no credit',
      takes: [
        purchase,
        {
          flags: '--note <why>',
          words: 'required: the reason, for the record',
          to: 'body.note',
        },
      ],
      show: show(adminPurchaseShape, ({ id }) => ({ out: `dismissed ${id}: no credit was added` })),
    },
  ],
}
