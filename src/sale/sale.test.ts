import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findPurchase } from '../ledger/purchases.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { micros } from '../vocabulary/money.ts'
import { CardMethod } from './card/card-method.ts'
import { PlayCard } from './card/play.ts'
import type { CardFact, CardProvider } from './card/provider.ts'
import { CardPoll } from './card-poll.ts'
import { Sale } from './sale.ts'

const CREDIT = micros(10_000_000)

const TERMS = { minimumMicros: micros(5_000_000), maximumMicros: micros(500_000_000), feeBps: 0 }

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  let nowMs = 1_000_000
  let ids = 0
  let changed: string[]

  const parts = () => ({
    db: bench.db,
    ledger: bench.ledger,
    ids: { next: () => `pur_${++ids}` },
    clock: { nowMs: () => nowMs },
    ceilings: { holdAboveMicros: micros(1e9), holdAboveDailyMicros: micros(5e9) },
    seller: null,
    onCreditChanged: async (accountId: string) => {
      changed.push(accountId)
    },
  })
  const playCard = () =>
    new PlayCard({
      db: bench.db,
      clock: { nowMs: () => nowMs },
      publicUrl: () => 'http://here',
    })

  const saleBy = (provider: CardProvider) =>
    new Sale({ ...parts(), methods: [new CardMethod({ provider, ...TERMS })] })

  function pollOf(sale: Sale, onFailure: (source: string | null, cause: unknown) => void) {
    const method = cardOf(sale)
    const clock = { nowMs: () => nowMs }
    return new CardPoll({ db: bench.db, sale, method, clock, onFailure })
  }

  async function begin(sale: Sale, accountId = 'A') {
    const begun = await sale.begin({ method: cardOf(sale), accountId, creditMicros: CREDIT })
    if (begun.kind !== 'begun') throw new Error(begun.kind)
    return begun.purchase
  }

  beforeEach(async () => {
    bench = await open()
    await bench.createAccount('A')
    changed = []
  })
  afterEach(() => bench.auditAndClose())

  test('the poll credits paid purchases and closes expired ones, without any message', async () => {
    const card = playCard()
    const sale = saleBy(card)
    const [paid, left] = [await begin(sale), await begin(sale)]
    await card.pay(paid.id)
    nowMs += 31 * 60_000
    const poll = pollOf(sale, (_source, cause) => {
      throw cause
    })
    await poll.look()
    await poll.look()
    expect(await findPurchase(bench.db, paid.source)).toMatchObject({ state: 'credited' })
    expect(await findPurchase(bench.db, left.source)).toMatchObject({ state: 'expired' })
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
    expect(changed).toEqual(['A'])
  })

  test('the page of a payment is found again only while it can be paid', async () => {
    const card = playCard()
    const sale = saleBy(card)
    const [paid, left] = [await begin(sale), await begin(sale)]
    expect(await sale.openPage(paid)).toBe(`http://here/play/checkout/${paid.id}?account=A`)
    await card.pay(paid.id)
    expect(await sale.openPage(paid)).toBe(null)
    nowMs += 31 * 60_000
    expect(await sale.openPage(left)).toBe(null)
    const elsewhere = saleBy({ ...FAKED, begin: beginFaked, look: card.look })
    expect(await elsewhere.openPage(left)).toBe(null)
    expect(await elsewhere.openPage({ ...left, source: 'faked:1' })).toBe('http://there')
    expect(await elsewhere.openPage({ ...left, source: 'faked:1', state: 'held' })).toBe(null)
  })

  test('a look that fails does not stop the others', async () => {
    const card = playCard()
    const [one, other] = await Promise.all([0, 1].map(() => begin(saleBy(card))))
    await card.pay(other?.id ?? '')
    const sale = saleBy({
      ...FAKED,
      name: 'play',
      begin: () => Promise.reject(new Error('away')),
      look: (row) =>
        row.source === one?.source ? Promise.reject(new Error('away')) : card.look(row),
    })
    const failed: (string | null)[] = []
    const onFailure = (source: string | null) => void failed.push(source)
    await pollOf(sale, onFailure).look()
    expect(failed).toEqual([one?.source])
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
  })

  test.each<[string, CardFact, number, string]>([
    ['a cent too little', paidOf('usd', 999n), 9_990_000, 'asked for $10.00, paid $9.99'],
    ['a cent', paidOf('usd', 1n), 10_000, 'asked for $10.00, paid $0.01'],
    ['a cent too much', paidOf('usd', 1_001n), 10_000_000, 'asked for $10.00, paid $10.01'],
    [
      'taxes that took a part',
      { ...paidOf('usd', 1_000n), netUnits: 800n },
      8_000_000,
      'asked for $10.00, paid $10.00, $8.00 of it for credit',
    ],
    ['doubt', { ...paidOf('usd', 1_000n), doubt: 'a doubt' }, 10_000_000, 'a doubt'],
  ])('a payment of %s is held, and its approval adds what it is worth', async (...row) => {
    const [, found, worthMicros, note] = row
    const sale = saleBy({ ...faked(found), begin: beginFaked })
    const purchase = await begin(sale)
    expect(await sale.look(purchase.source)).toMatchObject({
      isChanged: true,
      purchase: { state: 'held', creditMicros: CREDIT, note },
    })
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
    expect(await sale.approve(purchase.source, null)).toMatchObject({
      isChanged: true,
      purchase: { state: 'credited' },
    })
    expect(await sale.approve(purchase.source, null)).toMatchObject({ isChanged: false })
    expect((await bench.account('A')).backedBalanceMicros).toBe(worthMicros)
  })

  test('a payment in another currency is held, and no approval adds credit for it', async () => {
    const sale = saleBy({ ...faked(paidOf('eur', 1_000n)), begin: beginFaked })
    const { source } = await begin(sale)
    expect(await sale.look(source)).toMatchObject({ purchase: { state: 'held' } })
    expect(await sale.approve(source, null)).toMatchObject({ isChanged: false })
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
  })

  test('an approval covers only the reasons to hold that were known before it, and none that its own look finds', async () => {
    const sale = saleBy({ ...faked(paidOf('usd', 2_000n)), begin: beginFaked })
    const { source } = await begin(sale)
    expect(await sale.approve(source, null)).toMatchObject({ purchase: { state: 'held' } })
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
  })

  test('an approval that can add no credit is not recorded as an approval, even if its look finds other changes', async () => {
    let found: CardFact = paidOf('eur', 1_000n)
    const sale = saleBy({ ...FAKED, begin: beginFaked, look: async () => found })
    const { source } = await begin(sale)
    await sale.look(source)
    found = { ...found, dispute: 'open' }
    const token = { id: null, name: 'ADMIN_API_TOKEN' }
    const by = { id: 'act_1', token, action: 'creditPurchase' }
    expect(await sale.approve(source, by)).toMatchObject({
      isChanged: true,
      purchase: { state: 'held', dispute: 'open' },
    })
    const actions = bench.db.selectFrom('operator_actions').selectAll()
    expect(await actions.execute()).toEqual([])
  })

  test('money that was refunded while a purchase was held is not credited when it is approved', async () => {
    let found: CardFact = paidOf('usd', 2_000n)
    const card = { ...FAKED, begin: beginFaked, look: async () => found }
    const sale = saleBy(card)
    const { source } = await begin(sale)
    await sale.look(source)
    found = { ...paidOf('usd', 2_000n), reversedUnits: 800n }
    await sale.approve(source, null)
    expect((await bench.account('A')).backedBalanceMicros).toBe(6_000_000)
  })

  test('a look that contradicts earlier credit changes nothing, and is reported', async () => {
    let found = paidOf('usd', 1_000n)
    const card = { ...FAKED, begin: beginFaked, look: async () => found }
    const sale = saleBy(card)
    const { source } = await begin(sale)
    await sale.look(source)
    found = { ...paidOf('usd', 2_000n), reversedUnits: 500n }
    await expect(sale.look(source)).rejects.toThrow(`a look at ${source} contradicts its purchase`)
    expect((await bench.account('A')).backedBalanceMicros).toBe(CREDIT)
  })

  test('a payment starts nothing if the provider gives it the ID of an earlier payment', async () => {
    const once = { source: 'faked:same', url: 'http://there', expiresAtMs: 9_000_000 }
    const card = { ...faked(paidOf('usd', 1_000n)), begin: async () => once }
    const sale = saleBy(card)
    await bench.createAccount('A2')
    await begin(sale)
    await expect(begin(sale, 'A2')).rejects.toThrow(
      'the provider gave a new payment the ID of an earlier one: faked:same',
    )
  })

  test('a look that changes something is followed by one that finds nothing new', async () => {
    // The provider's answer is old at the first look: the money has gone back since.
    const answers = [paidOf('usd', 1_000n), { ...paidOf('usd', 1_000n), reversedUnits: 1_000n }]
    const look = async () => answers.shift() ?? { ...paidOf('usd', 1_000n), reversedUnits: 1_000n }
    const sale = saleBy({ ...FAKED, begin: beginFaked, look })
    const { source } = await begin(sale)
    await sale.look(source)
    expect((await bench.account('A')).backedBalanceMicros).toBe(0)
  })
})

function cardOf({ methods: [method] }: Sale): CardMethod {
  if (method?.kind !== 'card') throw new Error('no card')
  return method
}

function paidOf(currency: string, units: bigint) {
  return {
    kind: 'paid' as const,
    paid: { currency, units },
    reversedUnits: 0n,
    paymentRef: null,
    dispute: null,
    netUnits: units,
    doubt: null,
  } satisfies CardFact
}

const FAKED = {
  name: 'faked',
  chargesCards: false,
  lookIntervalMs: 0,
  openPage: async () => 'http://there',
}

/** A provider that finds the same in every look. */
function faked(found: CardFact) {
  return { ...FAKED, look: async () => found }
}

async function beginFaked({ purchaseId }: { readonly purchaseId: string }) {
  return { source: `faked:${purchaseId}`, url: 'http://there', expiresAtMs: 9_000_000 }
}
