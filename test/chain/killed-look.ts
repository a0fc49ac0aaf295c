import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import { httpNode } from '../../src/sale/chain/node.ts'
import { ChainWatch } from '../../src/sale/chain-watch.ts'
import { Sale } from '../../src/sale/sale.ts'
import { openStore } from '../../src/store/open-store.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { DEPOSIT_CEILINGS, DEPOSIT_TERMS, type KilledLook } from './deposit-bench.ts'

// One look at a chain in a process of its own, which kills itself at a step: before or after a question to a node,
// a command of the ledger, or a statement of the watch's own rows.

const { databaseUrl, rpcUrls, chain, killAt }: KilledLook = JSON.parse(
  process.argv[2] ?? '',
  (_, value) =>
    typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
)

let steps = 0
let ids = 0
function step(): void {
  if (++steps === killAt) process.kill(process.pid, 'SIGKILL')
}

async function stepping<T>(work: () => Promise<T>): Promise<T> {
  step()
  const done = await work()
  step()
  return done
}

const store = await openStore({ url: databaseUrl })
const ledger = createLedger({ location: store.location, clock: systemClock })
const db = store.db.withPlugin({
  transformQuery({ node }) {
    step()
    return node
  },
  async transformResult({ result }) {
    step()
    return result
  },
})
const idSource = { next: () => `pur_${process.pid}_${++ids}` }
const sale = new Sale({
  methods: [],
  db,
  ledger: { postPurchase: (input, by) => stepping(() => ledger.postPurchase(input, by)) },
  ids: idSource,
  clock: systemClock,
  ceilings: DEPOSIT_CEILINGS,
  seller: null,
  onCreditChanged: async () => {},
})
const watch = new ChainWatch({
  chain,
  terms: DEPOSIT_TERMS,
  nodes: rpcUrls.map((url) => {
    const node = httpNode({ url })
    return { name: node.name, ask: (calls) => stepping(() => node.ask(calls)) }
  }),
  db,
  post: (input) => sale.post(input),
  ids: idSource,
  clock: systemClock,
  onNodeFailure: (_node, cause) => {
    throw cause
  },
  onTokenClosed: () => {},
  onFoundLate: () => {},
  onDust: () => {},
})
await watch.look()
await ledger.close()
await store.close()
process.stdout.write(String(steps))
