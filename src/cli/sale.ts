import { Command } from 'commander'
import { depositAddressShape } from '../operations/credit/deposit-addresses.ts'
import { saleCheckShape, saleStatusShape } from '../operations/credit/sale-status.ts'
import { RescanFailed, type Stablecoin } from '../sale/chain/terms.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type CommandInput, withStore } from './command-context.ts'
import { addHelp } from './help-text.ts'
import { type CommandGroup, openSale, show } from './operation-command.ts'
import { accountOption } from './options.ts'
import { listOptions, shownRows } from './rows.ts'
import { counted, moment, table } from './table.ts'
import { CommandFailure, UsageFailure } from './terminal.ts'

const ADDRESSES = shownRows(depositAddressShape, {
  list: 'deposit_addresses',
  none: 'no deposit addresses match',
  columns: {
    ACCOUNT: ({ account_id }) => account_id,
    CHAIN: ({ chain_id }) => String(chain_id),
    ADDRESS: ({ address }) => address,
    PATH: ({ path }) => path,
    KEY: ({ of_key }) => (of_key === null ? '-' : of_key ? 'this' : 'another'),
    DEPOSITS: ({ deposits }) => String(deposits),
  },
})

/** `tollgate sale`: the sale of credit, and whether payments are read. */
export const SALE_COMMANDS: CommandGroup = {
  name: 'sale',
  words: 'show sales of credit; compare payments with their provider; search a chain again',
  commands: [
    {
      name: 'status',
      runs: 'getSaleStatus',
      words: 'show purchases by method and state, and when payments were last read',
      takes: [],
      examples: ['tollgate sale status'],
      show: show(saleStatusShape, ({ methods, purchases, looks }) => {
        const sold = purchases.map(({ method, state, purchases, credit, reversed }) => [
          method,
          state,
          String(purchases),
          showMicros(credit),
          showMicros(reversed),
        ])
        const read = looks.map((look) => [look.source, moment(look.looked_at), look.position])
        const parts = [
          methods.length === 0 ? 'no credit is sold' : `credit is sold by ${methods.join(', ')}`,
          ...(sold.length === 0
            ? []
            : [table(['METHOD', 'STATE', 'PURCHASES', 'CREDIT', 'REFUNDS AND DISPUTES'], sold)]),
          ...(read.length === 0 ? [] : [table(['SOURCE', 'LAST READ', 'POSITION'], read)]),
        ]
        return { out: parts.join('\n\n') }
      }),
    },
    {
      name: 'addresses',
      runs: 'listDepositAddresses',
      words: 'list the deposit addresses that were given out, with their derivation paths',
      takes: [
        ...listOptions('deposit_addresses', 'chain and address'),
        accountOption('query.account_id'),
      ],
      help: `KEY is "this" for addresses of the current CHAIN_DEPOSIT_XPUB, and "another" for
those of an earlier one. To collect the tokens, derive each address from its
seed by its path.`,
      examples: ['tollgate sale addresses --account Ada'],
      show: ADDRESSES.page,
    },
    {
      name: 'check',
      runs: 'checkSale',
      words: 'compare payments at their provider with the store, and change nothing',
      takes: [
        {
          flags: '--days <days>',
          words: 'how many days back, 1 to 999; a payment counts by its start',
          to: 'query.days',
          fallback: '30',
        },
      ],
      help: `Exits 0 if all payments agree, 1 if one differs. docs/selling.md says what it
proves.`,
      examples: ['tollgate sale check --days 7'],
      progress: (payments) => `compared ${counted(payments, 'payment')}`,
      show: show(saleCheckShape, ({ checked, skipped, differences }) => {
        const rest = skipped === 0 ? '' : `\nnot compared: ${counted(skipped, 'skippedDeposit')}`
        if (differences.length === 0) {
          return { out: `the store agrees on ${counted(checked, 'payment')}${rest}` }
        }
        const compared = table(
          ['PAYMENT', 'STORED', 'FOUND'],
          differences.map(({ source, stored, found }) => [source, stored, found]),
        )
        return {
          out: `${compared}${rest}`,
          failure: counted(differences.length, 'paymentDifference'),
        }
      }),
    },
    { make: rescanCommand },
    { make: replaceKeyCommand },
  ],
}

/** `tollgate sale rescan`: credits deposits that came since a restored backup, at addresses of all accounts. */
function rescanCommand(input: CommandInput): Command {
  const command = new Command('rescan')
    .description('search the chain again for deposits of all accounts, from a block')
    .requiredOption('--from-block <block>', 'required: the number of the first block')
    .option('--json', 'print JSON')
  return addHelp(command, {
    help: `After a restored backup it credits deposits that the store lacks; a deposit is
credited once. docs/selling.md says how to choose the block.`,
    examples: ['tollgate sale rescan --from-block 21000000'],
  }).action(({ fromBlock, json }: { readonly fromBlock: string; readonly json?: true }) => {
    if (!/^\d{1,15}$/.test(fromBlock)) {
      throw new UsageFailure('`--from-block` must be the number of a block, such as 21000000.')
    }
    return rescan(input, { fromBlock: Number(fromBlock), isJson: json === true })
  })
}

/** By position: the command's inputs, and its options. */
function rescan(
  input: CommandInput,
  { fromBlock, isJson }: { readonly fromBlock: number; readonly isJson: boolean },
): Promise<void> {
  return withStore(input, async (opened) => {
    const { ids, terminal } = opened
    const { sale, chain } = await openSale(opened, input.settings())
    if (sale === null || chain === null) {
      throw new CommandFailure(NO_CHAIN)
    }
    const follow = {
      post: sale.post.bind(sale),
      ids,
      onTokenClosed: ({ symbol, decimals: configured }: Stablecoin, decimals: number) =>
        terminal.note(
          `deposits of ${symbol} are not credited: its contract has ${decimals} decimals, and CHAIN_TOKENS says ${configured}`,
        ),
      onContradicted: (purchaseId: string) =>
        terminal.note(
          `the chain has another transfer in place of the deposit of ${purchaseId}: the transfer gets no credit`,
        ),
      onFoundLate: () => {},
      onDust: () => {},
    }
    const { addresses, added, to, waiting } = await chain.rescan(follow, fromBlock).catch(explain)
    if (isJson) {
      const blocks = { from_block: fromBlock, to_block: to }
      terminal.out(JSON.stringify({ object: 'sale_rescan', ...blocks, addresses, added, waiting }))
      return
    }
    const searched = `blocks ${fromBlock} to ${to}, addresses of ${counted(addresses, 'account')}`
    terminal.out(`${searched}: ${counted(added, 'purchase')} added`)
    for (const [symbol, { reason }] of Object.entries(waiting)) {
      terminal.note(`deposits of ${symbol} wait, and the server adds them later: ${reason}`)
    }
  })
}

/** `tollgate sale replace-key`: lets the server give out addresses of another extended public key. */
function replaceKeyCommand(input: CommandInput): Command {
  const command = new Command('replace-key')
    .description('give out new deposit addresses, of the current CHAIN_DEPOSIT_XPUB')
    .option('--json', 'print JSON')
  return addHelp(command, {
    help: `Run it after you set another key, then start the server. Deposits at earlier
addresses are credited as before: keep the earlier seed to collect them.`,
    examples: ['tollgate sale replace-key'],
  }).action(({ json }: { readonly json?: true }) =>
    withStore(input, async (opened) => {
      const { chain } = await openSale(opened, input.settings())
      if (chain === null) throw new CommandFailure(NO_CHAIN)
      await chain.replaceKey()
      opened.terminal.out(
        json === true
          ? JSON.stringify({ object: 'sale_key', replaced: true })
          : 'new addresses are derived from the current key; deposits at earlier addresses are credited as before',
      )
    }),
  )
}

const NO_CHAIN = 'no deposits are taken: CHAIN_ID is not set (docs/selling.md)'

function explain(cause: unknown): never {
  if (cause instanceof RescanFailed) throw new CommandFailure(cause.message, { cause })
  throw cause
}
