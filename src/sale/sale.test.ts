import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { findPurchase } from '../ledger/purchases.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { micros } from '../vocabulary/money.ts'
import { PlayCard } from './card/play.ts'
import type { CardFact } from './card/provider.ts'
import { CardPoll } from './card-poll.ts'
import { Sale } from './sale.ts'

const CREDIT = micros(10_000_000)

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  let nowMs = 1_000_000
  let ids = 0
  let changed: string[]

  const parts = () => ({
    db: bench.store.db,
    ledger: bench.ledger,
    ids: { next: () => `pur_${++ids}` },
    clock: { nowMs: () => nowMs },
    onCreditChanged: async (accountId: string) => {
      changed.push(accountId)
    },
  })
  const playCard = () =>
    new PlayCard({ db: bench.store.db, clock: { nowMs: () => nowMs }, publicUrl: 'http://here' })

  async function begin(sale: Sale) {
    const begun = await sale.begin({ accountId: 'A', creditMicros: CREDIT })
    if (begun.kind !== 'begun') throw new Error(begun.kind)
    return begun.purchase
  }

  beforeEach(async () => {
    bench = await open({ limits: LEDGER_LIMITS_DEFAULT })
    await bench.createAccount('A')
    changed = []
  })
  afterEach(async () => {
    await bench.audit()
    await bench.close()
  })

  test('the poll credits what was paid and closes what has expired, without any message', async () => {
    const card = playCard()
    const sale = new Sale({ ...parts(), card })
    const [paid, left] = [await begin(sale), await begin(sale)]
    await card.pay(paid.id)
    nowMs += 31 * 60_000
    const poll = new CardPoll({
      db: bench.store.db,
      sale,
      onFailure: (_source, cause) => {
        throw cause
      },
    })
    await poll.look()
    await poll.look()
    expect(await findPurchase(bench.store.db, paid.source)).toMatchObject({ state: 'credited' })
    expect(await findPurchase(bench.store.db, left.source)).toMatchObject({ state: 'expired' })
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
    expect(changed).toEqual(['A'])
  })

  test('a look that fails stops no other', async () => {
    const card = playCard()
    const [one, other] = await Promise.all([0, 1].map(() => begin(new Sale({ ...parts(), card }))))
    await card.pay(other?.id ?? '')
    const sale = new Sale({
      ...parts(),
      card: {
        has: () => true,
        begin: () => Promise.reject(new Error('away')),
        look: (source) =>
          source === one?.source ? Promise.reject(new Error('away')) : card.look(source),
      },
    })
    const failed: (string | null)[] = []
    const onFailure = (source: string | null) => void failed.push(source)
    await new CardPoll({ db: bench.store.db, sale, onFailure }).look()
    expect(failed).toEqual([one?.source])
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
  })

  test.each<[string, CardFact]>([
    ['a cent too little', paidOf('usd', 999n)],
    ['a cent too much', paidOf('usd', 1_001n)],
    ['another currency', paidOf('eur', 1_000n)],
  ])('a payment of %s is held, with the reason', async (_what, found) => {
    const sale = new Sale({ ...parts(), card: { ...faked(found), begin: beginFaked } })
    const purchase = await begin(sale)
    expect(await sale.look(purchase.source)).toMatchObject({
      isChanged: true,
      purchase: { state: 'held', note: expect.stringContaining('asked for 1000 usd, paid') },
    })
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
    expect(await sale.approve(purchase.source, null)).toMatchObject({
      isChanged: true,
      purchase: { state: 'credited' },
    })
    expect(await sale.approve(purchase.source, null)).toMatchObject({ isChanged: false })
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
  })

  test('money that went back while a purchase was held is not credited with it', async () => {
    let found: CardFact = paidOf('eur', 1_000n)
    const card = { has: () => true, begin: beginFaked, look: async () => found }
    const sale = new Sale({ ...parts(), card })
    const { source } = await begin(sale)
    await sale.look(source)
    found = { ...paidOf('eur', 1_000n), reversedUnits: 400n }
    await sale.approve(source, null)
    expect((await bench.account('A')).backedBalanceMicros).toBe(6_000_000)
  })

  test('a look that contradicts what was credited changes nothing and is reported', async () => {
    let found = paidOf('usd', 1_000n)
    const card = { has: () => true, begin: beginFaked, look: async () => found }
    const sale = new Sale({ ...parts(), card })
    const { source } = await begin(sale)
    await sale.look(source)
    found = { ...paidOf('usd', 2_000n), reversedUnits: 500n }
    await expect(sale.look(source)).rejects.toThrow(`a look at ${source} contradicts its purchase`)
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
  })

  test('a provider that names a new payment as an earlier one begins nothing', async () => {
    const once = { source: 'faked:same', url: 'http://there', expiresAtMs: 9_000_000 }
    const card = { ...faked(paidOf('usd', 1_000n)), begin: async () => once }
    const sale = new Sale({ ...parts(), card })
    await bench.createAccount('A2')
    await begin(sale)
    await expect(sale.begin({ accountId: 'A2', creditMicros: CREDIT })).rejects.toThrow(
      'the provider has named a new payment as an earlier one: faked:same',
    )
  })

  test('a look that changed something is followed by one that finds nothing new', async () => {
    // The provider's answer is old at the first look: the money has gone back since.
    const answers = [paidOf('usd', 1_000n), { ...paidOf('usd', 1_000n), reversedUnits: 1_000n }]
    const look = async () => answers.shift() ?? { ...paidOf('usd', 1_000n), reversedUnits: 1_000n }
    const sale = new Sale({ ...parts(), card: { has: () => true, begin: beginFaked, look } })
    const { source } = await begin(sale)
    await sale.look(source)
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
  })
})

function paidOf(currency: string, units: bigint) {
  return {
    kind: 'paid' as const,
    paid: { currency, units },
    reversedUnits: 0n,
    paymentRef: null,
  } satisfies CardFact
}

/** A provider that finds the same in every look. */
function faked(found: CardFact) {
  return { has: () => true, look: async () => found }
}

async function beginFaked({ purchaseId }: { readonly purchaseId: string }) {
  return { source: `faked:${purchaseId}`, url: 'http://there', expiresAtMs: 9_000_000 }
}
