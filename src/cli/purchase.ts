import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { listedPurchaseShape } from '../operations/credit/purchase-list.ts'
import { adminPurchaseShape } from '../operations/credit/purchases.ts'
import { MICROS_PER_CENT, showMicros } from '../vocabulary/money.ts'
import {
  type PaidUnits,
  PURCHASE_STATES,
  REVERSALS,
  type Reversal,
  tokenText,
} from '../vocabulary/purchase.ts'
import { idArgument } from './ids.ts'
import { type CommandGroup, show, showNamed } from './operation-command.ts'
import { accountOption, CSV_OPTION, stateOption } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { moment, table } from './table.ts'
import { spanOptions } from './times.ts'

const PURCHASES = shownRows(listedPurchaseShape, {
  list: 'all_purchases',
  none: 'no purchases match',
  cut: ['NAME'],
  columns: {
    ID: ({ id }) => id,
    ACCOUNT: ({ account_id }) => account_id,
    NAME: ({ account_name }) => account_name,
    METHOD: ({ method }) => method,
    STATE: ({ state }) => state,
    CREDIT: ({ credit }) => showMicros(credit),
    'REFUND OR DISPUTE': reversalText,
    CREATED: ({ created_at }) => moment(created_at),
    CREDITED: ({ credited_at }) => moment(credited_at),
  },
})

/** `partly refunded, $3.33`, `dispute won`; `-` where there was neither a refund nor a dispute. */
function reversalText({
  reversal,
  reversed,
}: {
  readonly reversal: Reversal | null
  readonly reversed: number
}): string {
  if (reversal === null) return '-'
  const word = reversal.replaceAll('_', ' ')
  return reversed === 0 ? word : `${word}, ${showMicros(reversed)}`
}

function paidText(paid: PaidUnits): string {
  const isUsd = paid.currency === 'usd'
  return isUsd ? showMicros(Number(paid.units) * MICROS_PER_CENT) : tokenText(paid)
}

const purchase = idArgument('pur', '<purchase>', 'params.purchase_id')

/** `tollgate purchase`: credit that accounts have bought, and payments that are held. */
export const PURCHASE_COMMANDS: CommandGroup = {
  name: 'purchase',
  words: 'list purchases of credit; approve or dismiss purchases on hold',
  commands: [
    {
      name: 'list',
      runs: 'listAllPurchases',
      words: 'list purchases, newest first; in a range, the last credited first',
      takes: [
        ...listOptions('all_purchases', 'purchase ID'),
        accountOption('query.account_id'),
        stateOption(PURCHASE_STATES),
        {
          flags: '--reversal <reversals>',
          words: `only these, comma-separated: ${REVERSALS.join(', ')}`,
          to: 'query.reversal',
        },
        ...spanOptions('credited'),
        { ...CSV_OPTION, words: 'print all of them as CSV, with receipt numbers, fees and taxes' },
      ],
      examples: [
        'tollgate purchase list --state held',
        'tollgate purchase list --since last-month --until this-month --csv',
      ],
      show: async (answered, ran) =>
        answered.body instanceof Readable
          ? { out: (await text(answered.body)).trimEnd() }
          : PURCHASES.page(answered, ran),
    },
    {
      name: 'show',
      runs: 'getPurchase',
      words: 'show one purchase with its payment, and why it is on hold',
      takes: [purchase],
      examples: ['tollgate purchase show pur_…'],
      show: show(
        adminPurchaseShape,
        ({ object: _, paid, transaction, credit, reversal, reversed, ...fields }) => {
          const shown = {
            ...fields,
            credit: showMicros(credit),
            'refund or dispute': reversalText({ reversal, reversed }),
            remaining: fields.state === 'credited' ? showMicros(credit - reversed) : null,
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
      words: 'add the credit of a purchase that is on hold or below the minimum',
      takes: [purchase],
      examples: ['tollgate purchase credit pur_…'],
      show: showNamed(adminPurchaseShape, async ({ account_id, credit, reversed }, { named }) => ({
        out: `added ${showMicros(credit - reversed)} of paid credit to ${await named.account(account_id)}`,
      })),
    },
    {
      name: 'dismiss',
      runs: 'dismissPurchase',
      words: 'dismiss a purchase on hold: it adds no credit; pay its money back at the provider',
      takes: [
        purchase,
        {
          flags: '--note <why>',
          words: 'required: the reason, which the purchase shows',
          to: 'body.note',
        },
      ],
      examples: ['tollgate purchase dismiss pur_… --note "paid back at Stripe"'],
      show: showNamed(adminPurchaseShape, async ({ id, account_id }, { named }) => ({
        out: `dismissed ${id} of ${await named.account(account_id)}: no credit was added`,
      })),
    },
  ],
}
