import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import { CardMethod } from '../../src/sale/card/card-method.ts'
import type { CardProvider } from '../../src/sale/card/provider.ts'
import { StripeCard } from '../../src/sale/card/stripe.ts'
import { CardPoll } from '../../src/sale/card-poll.ts'
import { Sale } from '../../src/sale/sale.ts'
import { CARD_LIMITS, NO_CEILINGS } from '../../src/sale/testing/card-bench.ts'
import { openStore } from '../../src/store/open-store.ts'

/** What a process that looks once is given. */
export interface KilledCardLook {
  readonly databaseUrl: string
  readonly stripe: { readonly secretKey: string; readonly baseUrl: string; readonly nowMs: number }
  /** At which of its steps it kills itself. */
  readonly killAt: number
}

// One look at payments by card in a process of its own, which kills itself at a step: before or after a question to
// Stripe, a command of the ledger, or a statement of the poll's own rows.

const { databaseUrl, stripe, killAt }: KilledCardLook = JSON.parse(process.argv[2] ?? '')

let steps = 0
function step(): void {
  if (++steps === killAt) process.kill(process.pid, 'SIGKILL')
}

async function stepping<T>(work: () => Promise<T>): Promise<T> {
  step()
  const done = await work()
  step()
  return done
}

const clock = { nowMs: () => stripe.nowMs }
const store = await openStore({ url: databaseUrl })
const ledger = createLedger({ location: store.location, clock })
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
const card = new StripeCard({
  ...stripe,
  clock,
  publicUrl: () => 'https://gate.example',
  storeId: async () => 'store_1',
})
const provider: CardProvider = {
  name: card.name,
  chargesCards: card.chargesCards,
  lookIntervalMs: card.lookIntervalMs,
  begin: (asked) => card.begin(asked),
  openPage: (payment) => card.openPage(payment),
  look: (payment) => stepping(() => card.look(payment)),
  async *changedSince(position) {
    for await (const change of card.changedSince(position)) {
      step()
      yield change
    }
  },
}
const method = new CardMethod({ provider, ...CARD_LIMITS })
const sale = new Sale({
  methods: [method],
  db,
  ledger: { postPurchase: (input, by) => stepping(() => ledger.postPurchase(input, by)) },
  ids: { next: (prefix) => `${prefix}_${process.pid}` },
  clock,
  ceilings: NO_CEILINGS,
  seller: null,
  onCreditChanged: async () => {},
})
const onFailure = (_source: string | null, cause: unknown): never => {
  throw cause
}
await new CardPoll({ db, sale, method, clock, onFailure }).look()
await ledger.close()
await store.close()
