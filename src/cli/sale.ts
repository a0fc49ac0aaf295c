import { Command } from 'commander'
import { depositAddressShape } from '../operations/deposit-addresses.ts'
import { saleCheckShape, saleStatusShape } from '../operations/sale-status.ts'
import { RescanFailed } from '../sale/chain/terms.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type CommandInput, withStore } from './command-context.ts'
import { type CommandGroup, openSale, show } from './operation-command.ts'
import { listOptions, shownRows } from './rows.ts'
import { counted, moment, table } from './table.ts'
import { CommandFailure, UsageFailure } from './terminal.ts'

const ADDRESSES = shownRows(depositAddressShape, {
  list: 'deposit_addresses',
  none: 'no deposit addresses were given out yet',
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

/** `tollgate sale rescan`: credits deposits that came since a restored backup, at addresses of all accounts. */
function rescanCommand(input: CommandInput): Command {
  return new Command('rescan')
    .description('scan the chain again for deposits of all accounts, from a block')
    .requiredOption('--from-block <block>', 'the number of the first block')
    .action(({ fromBlock }: { fromBlock: string }) => {
      if (!/^\d{1,15}$/.test(fromBlock)) {
        throw new UsageFailure('`--from-block` must be the number of a block.')
      }
      return rescan(input, Number(fromBlock))
    })
}

function rescan(input: CommandInput, fromBlock: number): Promise<void> {
  return withStore(input, async (opened) => {
    const { ids, terminal } = opened
    const { sale, chain } = await openSale(opened, input.settings())
    if (sale === null || chain === null) {
      throw new CommandFailure(NO_CHAIN)
    }
    const follow = {
      post: sale.post.bind(sale),
      ids,
      onTokenClosed: () => terminal.note('a token has other decimals than CHAIN_TOKENS'),
      onFoundLate: () => {},
      onDust: () => {},
    }
    const { addresses, added, to, waiting } = await chain.rescan(follow, fromBlock).catch(explain)
    const searched = `blocks ${fromBlock} to ${to}, addresses of ${counted(addresses, 'account')}`
    terminal.out(`${searched}: ${counted(added, 'purchase')} added`)
    for (const [symbol, { reason }] of Object.entries(waiting)) {
      terminal.note(`deposits of ${symbol} wait, and the server adds them later: ${reason}`)
    }
  })
}

/** `tollgate sale replace-key`: lets the server give out addresses of another extended public key. */
function replaceKeyCommand(input: CommandInput): Command {
  return new Command('replace-key')
    .description('derive new deposit addresses from the current CHAIN_DEPOSIT_XPUB')
    .action(() =>
      withStore(input, async (opened) => {
        const { chain } = await openSale(opened, input.settings())
        if (chain === null) throw new CommandFailure(NO_CHAIN)
        await chain.replaceKey()
        opened.terminal.out(
          'new addresses are derived from the current key; deposits at earlier addresses are credited as before',
        )
      }),
    )
}

const NO_CHAIN = 'no deposits are taken: CHAIN_ID is not set'

function explain(cause: unknown): never {
  if (cause instanceof RescanFailed) throw new CommandFailure(cause.message, { cause })
  throw cause
}
