import { createInterface } from 'node:readline'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { XPUB } from './deposit-bench.ts'

/**
 * `npm run chain`: a chain on this machine, the settings of a gateway that sells credit on it, and a deposit at each address
 * that is typed.
 */

const DEPOSIT_UNITS = 10_000_000n

await using anvil = await Anvil.start()

// The chain ends with this process, so its deposits belong in a separate store.
console.log(`A chain of play money is at ${anvil.url}, until Ctrl-C. Put these lines into .env, without UPSTREAM_BASE_URL:

CHAIN_ID=${ANVIL_CHAIN_ID}
CHAIN_RPC_URLS=${anvil.url}
CHAIN_QUORUM=1
CHAIN_TOKENS=USDC=${anvil.usdc}:6
CHAIN_PRICE_FEEDS=USDC=1
CHAIN_DEPOSIT_XPUB=${XPUB}
DATABASE_URL=sqlite:./data/chain-${new URL(anvil.url).port}.db

Start the gateway in another terminal with npm start, and open the link that it prints. In the menu at the top left, choose
the account "first". Under Credit, choose "Add credit" and USDC, and paste the address here:
`)

for await (const line of createInterface({ input: process.stdin })) {
  const to = line.trim()
  if (/^0x[\da-f]{40}$/i.test(to)) {
    await anvil.transfer({ to, units: DEPOSIT_UNITS })
    // As many blocks as make it final.
    await anvil.mine()
    console.log(`sent 10 USDC to ${to}; the gateway adds the credit within 15 seconds`)
  } else {
    console.log(
      'this is no address: it begins with 0x and has 40 more characters, 0 to 9 and a to f',
    )
  }
}
