import { httpNode } from '../../src/sale/chain/node.ts'
import { ChainWatch } from '../../src/sale/chain-watch.ts'
import { HandedOut } from '../../src/sale/deposit-rows.ts'
import { Sale } from '../../src/sale/sale.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { openKilled } from '../crash/open-killed.ts'
import { DEPOSIT_CEILINGS, DEPOSIT_TERMS, type KilledLook } from './deposit-bench.ts'

// One look at a chain in a process of its own, which kills itself before a command of the ledger or a statement that
// changes the watch's own rows.

const { databaseUrl, rpcUrls, chain, killAt }: KilledLook = JSON.parse(
  process.argv[2] ?? '',
  (_, value) =>
    typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
)

let ids = 0
const killed = await openKilled({ databaseUrl, killAt, clock: systemClock })
const { db, ledger } = killed
const idSource = { next: () => `pur_${process.pid}_${++ids}` }
const sale = new Sale({
  methods: [],
  db,
  ledger,
  ids: idSource,
  clock: systemClock,
  ceilings: DEPOSIT_CEILINGS,
  seller: null,
  onCreditChanged: async () => {},
})
const watch = new ChainWatch({
  chain,
  terms: DEPOSIT_TERMS,
  nodes: rpcUrls.map((url) => httpNode({ url })),
  handedOut: new HandedOut(),
  db,
  post: (input) => sale.post(input),
  ids: idSource,
  clock: systemClock,
  onNodeFailure: (_node, cause) => {
    throw cause
  },
  onTokenClosed: () => {},
  onContradicted: () => {},
  onFoundLate: () => {},
  onDust: () => {},
})
await watch.look()
await killed.close()
