import { Command } from 'commander'
import { RescanFailed } from '../sale/chain/terms.ts'
import { type CommandInput, withStore } from './command-context.ts'
import { openSale } from './operation-command.ts'
import { counted } from './table.ts'
import { CommandFailure, UsageFailure } from './terminal.ts'

/** `tollgate sale rescan`: credits deposits that came since a restored backup, at addresses of all accounts. */
export function rescanCommand(input: CommandInput): Command {
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
export function replaceKeyCommand(input: CommandInput): Command {
  return new Command('replace-key')
    .description('give out deposit addresses of the CHAIN_DEPOSIT_XPUB that is set now')
    .action(() =>
      withStore(input, async (opened) => {
        const { chain } = await openSale(opened, input.settings())
        if (chain === null) throw new CommandFailure(NO_CHAIN)
        await chain.replaceKey()
        opened.terminal.out(
          'new addresses are of the key that is set now; deposits at earlier addresses are credited as before',
        )
      }),
    )
}

const NO_CHAIN = 'no deposits are taken: CHAIN_ID is not set'

function explain(cause: unknown): never {
  if (cause instanceof RescanFailed) throw new CommandFailure(cause.message, { cause })
  throw cause
}
