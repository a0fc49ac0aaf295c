import { CardMethod } from '../../src/sale/card/card-method.ts'
import { StripeCard } from '../../src/sale/card/stripe.ts'
import { CardPoll } from '../../src/sale/card-poll.ts'
import { Sale } from '../../src/sale/sale.ts'
import { CARD_LIMITS, NO_CEILINGS } from '../../src/sale/testing/card-bench.ts'
import { openKilled } from './open-killed.ts'

/** The input of a process that looks once. */
export interface KilledCardLook {
  readonly databaseUrl: string
  readonly stripe: { readonly secretKey: string; readonly baseUrl: string; readonly nowMs: number }
  /** Before which of its changes it kills itself. */
  readonly killAt: number
}

// One look at payments by card in a process of its own, which kills itself before a command of the ledger or a
// statement that changes the poll's own rows.

const { databaseUrl, stripe, killAt }: KilledCardLook = JSON.parse(process.argv[2] ?? '')

const clock = { nowMs: () => stripe.nowMs }
const killed = await openKilled({ databaseUrl, killAt, clock })
const { db, ledger } = killed
const provider = new StripeCard({
  ...stripe,
  clock,
  publicUrl: () => 'https://gate.example',
  storeId: async () => 'store_1',
})
const method = new CardMethod({ provider, ...CARD_LIMITS })
const sale = new Sale({
  methods: [method],
  db,
  ledger,
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
await killed.close()
