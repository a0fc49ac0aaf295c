import { depositAddressShape } from '../operations/deposit-addresses.ts'
import { saleCheckShape, saleStatusShape } from '../operations/sale-status.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type CommandGroup, show } from './operation-command.ts'
import { replaceKeyCommand, rescanCommand } from './rescan.ts'
import { listOptions, shownRows } from './rows.ts'
import { counted, moment, table } from './table.ts'

const ADDRESSES = shownRows(depositAddressShape, {
  list: 'deposit_addresses',
  none: 'no deposit address was given out yet',
  columns: {
    ACCOUNT: ({ account_id }) => account_id,
    CHAIN: ({ chain_id }) => String(chain_id),
    ADDRESS: ({ address }) => address,
    PATH: ({ path }) => path,
    KEY: ({ of_key }) => (of_key === null ? '-' : of_key ? 'this' : 'another'),
    DEPOSITS: ({ deposits }) => String(deposits),
  },
})

/** `tollgate sale`: what was sold, and whether payments are looked at. */
export const SALE_COMMANDS: CommandGroup = {
  name: 'sale',
  words: 'show what was sold; compare payments with their provider',
  commands: [
    { make: rescanCommand },
    { make: replaceKeyCommand },
    {
      name: 'status',
      runs: 'getSaleStatus',
      words: 'show purchases by method and state, and the last look at each source',
      takes: [],
      show: show(saleStatusShape, ({ methods, purchases, looks }) => {
        const sold = purchases.map(({ method, state, purchases, credit, reversed }) => [
          method,
          state,
          String(purchases),
          showMicros(credit),
          showMicros(reversed),
        ])
        const looked = looks.map((look) => [look.source, moment(look.looked_at), look.position])
        const parts = [
          methods.length === 0 ? 'nothing is sold' : `sold by ${methods.join(', ')}`,
          ...(sold.length === 0
            ? []
            : [table(['METHOD', 'STATE', 'PURCHASES', 'CREDIT', 'REVERSED'], sold)]),
          ...(looked.length === 0 ? [] : [table(['SOURCE', 'LOOKED AT', 'POSITION'], looked)]),
        ]
        return { out: parts.join('\n\n') }
      }),
    },
    {
      name: 'addresses',
      runs: 'listDepositAddresses',
      words: 'list the deposit addresses with their paths below the extended public key',
      takes: [
        ...listOptions('deposit_addresses', 'chain and address'),
        {
          flags: '--account <account>',
          words: 'only this account, acct_…',
          to: 'query.account_id',
        },
      ],
      show: ADDRESSES.page,
    },
    {
      name: 'check',
      runs: 'checkSale',
      words: 'compare payments at their provider with the store; exits 1 if one differs',
      takes: [{ flags: '--days <days>', words: 'how far back', to: 'query.days', fallback: '30' }],
      progress: (payments) => `compared ${counted(payments, 'purchase')}`,
      show: show(saleCheckShape, ({ checked, differences }) =>
        differences.length === 0
          ? { out: `the store agrees on ${counted(checked, 'purchase')}` }
          : {
              out: table(
                ['PAYMENT', 'STORED', 'FOUND'],
                differences.map(({ source, stored, found }) => [source, stored, found]),
              ),
              failure: counted(differences.length, 'difference'),
            },
      ),
    },
  ],
}
