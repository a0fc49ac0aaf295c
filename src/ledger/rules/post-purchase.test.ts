import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import { reversedCredit } from '../../vocabulary/purchase.ts'
import type { Ledger } from '../commands.ts'
import { createLedger } from '../engines/create-ledger.ts'
import { findPurchase } from '../purchases.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { paidLook } from '../testing/paid-look.ts'
import { runScript } from '../testing/script.ts'
import { describeScripts } from '../testing/scripts.ts'
import type { StoreBench } from '../testing/store-bench.ts'

describeScripts(['account A', 'account A2', 'key K A'], (holds) => {
  test('a paid purchase becomes credit once, however often a look finds it paid', () =>
    holds(`
    look L1 P A 100 open
    land L1                       → posted open 100 back 0 in 0
    land L1                       → unchanged open 100 back 0 in 0
    show A                        → backed 0 held 0, free 0 held 0
    look L2 P A 100 paid 10
    look L3 P A 100 paid 10
    land L2                       → posted credited 100 back 0 in 0
    land L3                       → unchanged credited 100 back 0 in 0
    land L2                       → unchanged credited 100 back 0 in 0
    land L1                       → unchanged credited 100 back 0 in 0
    show A                        → backed 100 held 0, free 0 held 0
    entries A                     → purchase backed 100
  `))

  test('a payment that the store does not know is credited at the first look', () =>
    holds(`
    look L1 P A 100 paid 10 back 3
    land L1                       → posted credited 100 back 30 in 1
    entries A                     → purchase backed 100, reversal backed -30 refund
  `))

  test('free credit that has expired is gone before a purchase adds credit, and before a refund', () =>
    holds(`
    credit A free 100 r1 until 60 → added grant 100
    open R K 30 free              → opened 30 = backed 0 + free 30
    at 60
    look L1 P A 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    entries A                     → grant free 100, expiry free -70, purchase backed 100
    look L2 P A 100 paid 10 back 1
    land L2                       → posted credited 100 back 10 in 1
    show A                        → backed 90 held 0, free 30 held 30
  `))

  test('a refund removes its part of the credit, and a won dispute returns it', () =>
    holds(`
    look L1 P A 100 paid 3
    land L1                       → posted credited 100 back 0 in 0
    look L2 P A 100 paid 3 back 1
    land L2                       → posted credited 100 back 34 in 1
    look L3 P A 100 paid 3 back 2
    land L3                       → posted credited 100 back 67 in 2
    look L4 P A 100 paid 3 back 3
    land L4                       → posted credited 100 back 100 in 3
    look L5 P A 100 paid 3 back 1
    land L5                       → posted credited 100 back 34 in 4
    land L5                       → unchanged credited 100 back 34 in 4
    entries A                     → purchase backed 100, reversal backed -34 refund, reversal backed -33 refund, reversal backed -33 refund, reversal backed 66 refund_failed
  `))

  test('a look from before the latest reversal changes nothing and is stale', () =>
    holds(`
    look L1 P A 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    look L2 P A 100 paid 10
    look L3 P A 100 paid 10 back 4
    look L4 P A 100 paid 10 back 4
    land L3                       → posted credited 100 back 40 in 1
    land L2                       → stale credited 100 back 40 in 1
    land L4                       → unchanged credited 100 back 40 in 1
    show A                        → backed 60 held 0, free 0 held 0
  `))

  test('a refund of credit that was spent leaves a balance below zero, which holds nothing', () =>
    holds(`
    look L1 P A 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    open R K 90                   → opened 90 = backed 90 + free 0
    settle R final 90             → final 90
    look L2 P A 100 paid 10 back 10
    land L2                       → posted credited 100 back 100 in 1
    show A                        → backed -90 held 0, free 0 held 0
    open R2 K 1                   → insufficient_credit needs 1 of 0, held 0
  `))

  test('a purchase that expired is credited if it was paid nevertheless', () =>
    holds(`
    look L1 P A 100 open
    land L1                       → posted open 100 back 0 in 0
    look L2 P A 100 expired
    land L2                       → posted expired 100 back 0 in 0
    land L1                       → unchanged expired 100 back 0 in 0
    look L3 P A 100 paid 10
    land L3                       → posted credited 100 back 0 in 0
    land L2                       → unchanged credited 100 back 0 in 0
  `))

  test('a held or too small payment waits for an admin, regardless of later looks', () =>
    holds(`
    look L1 P1 A 100 paid 10 hold 100
    land L1                       → posted held 100 back 0 in 0
    look L2 P1 A 100 paid 10
    land L2                       → unchanged held 100 back 0 in 0
    look L3 P2 A 1 paid 1 small
    land L3                       → posted below_minimum 1 back 0 in 0
    dismiss P2                    → notHeld below_minimum 1 back 0 in 0
    show A                        → backed 0 held 0, free 0 held 0
    look L4 P1 A 100 paid 10 back 5 hold 100
    land L4 approved              → posted credited 100 back 50 in 1
    land L3 approved              → posted credited 1 back 0 in 0
    show A                        → backed 51 held 0, free 0 held 0
  `))

  test('an approval adds the value of a held payment, and never more than was asked for', () =>
    holds(`
    look L1 P1 A 100 paid 6 hold 60
    land L1                       → posted held 100 back 0 in 0
    look L2 P1 A 100 paid 6 back 3 hold 60
    land L2 approved              → posted credited 60 back 30 in 1
    look L3 P2 A 100 paid 30 hold 300
    land L3                       → posted held 100 back 0 in 0
    land L3 approved              → posted credited 100 back 0 in 0
    show A                        → backed 130 held 0, free 0 held 0
  `))

  test('a held payment of unknown value is not credited, even with an approval', () =>
    holds(`
    look L1 P A 100 paid 10 hold -
    land L1                       → posted held 100 back 0 in 0
    land L1 approved              → unchanged held 100 back 0 in 0
    look L2 P A 100 paid 10 hold 0
    land L2 approved              → unchanged held 100 back 0 in 0
    show A                        → backed 0 held 0, free 0 held 0
  `))

  test('a dispute is recorded until it is won, even for a held purchase', () =>
    holds(`
    look L1 P A 100 paid 10 hold 100
    land L1                       → posted held 100 back 0 in 0
    look L2 P A 100 paid 10 back 10 disputed hold 100
    land L2                       → posted held 100 back 0 in 0 disputed
    land L2                       → unchanged held 100 back 0 in 0 disputed
    look L3 P A 100 paid 10
    land L3                       → posted held 100 back 0 in 0
    land L3 approved              → posted credited 100 back 0 in 0
    look L4 P A 100 paid 10 back 10 disputed
    look L5 P A 100 paid 10
    land L4                       → posted credited 100 back 100 in 1 disputed
    land L5                       → stale credited 100 back 100 in 1 disputed
    show A                        → backed 0 held 0, free 0 held 0
  `))

  test('a refund, a dispute and its end are distinguished, and an ambiguous change has no cause', () =>
    holds(`
    look L1 P A 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    look L2 P A 100 paid 10 back 3
    land L2                       → posted credited 100 back 30 in 1
    look L3 P A 100 paid 10 back 8 disputed
    land L3                       → posted credited 100 back 80 in 2 disputed
    look L4 P A 100 paid 10 back 9 disputed
    land L4                       → posted credited 100 back 90 in 3 disputed
    look L5 P A 100 paid 10 back 3
    land L5                       → posted credited 100 back 30 in 4
    look L6 Q A 100 paid 10 hold 100
    land L6                       → posted held 100 back 0 in 0
    look L7 Q A 100 paid 10 back 10 disputed hold 100
    land L7                       → posted held 100 back 0 in 0 disputed
    land L7 approved              → posted credited 100 back 100 in 1 disputed
    entries A                     → purchase backed 100, reversal backed -30 refund, reversal backed -50 dispute, reversal backed -10 null, reversal backed 60 dispute_won, purchase backed 100, reversal backed -100 dispute
  `))

  test('a dismissed purchase no longer adds credit', () =>
    holds(`
    dismiss P                     → unknownPurchase
    look L1 P A 100 paid 10 hold 100
    land L1                       → posted held 100 back 0 in 0
    dismiss P                     → dismissed dismissed 100 back 0 in 0
    dismiss P                     → notHeld dismissed 100 back 0 in 0
    land L1 approved              → unchanged dismissed 100 back 0 in 0
    look L2 P A 100 paid 10
    land L2                       → unchanged dismissed 100 back 0 in 0
    show A                        → backed 0 held 0, free 0 held 0
  `))

  test('an open or unpaid purchase is not credited, even with an approval', () =>
    holds(`
    look L1 P A 100 open
    land L1 approved              → posted open 100 back 0 in 0
    look L2 P A 100 paid 10 hold 100
    land L2 approved              → posted held 100 back 0 in 0
    look L3 P A 100 open
    land L3 approved              → unchanged held 100 back 0 in 0
    show A                        → backed 0 held 0, free 0 held 0
  `))

  test('a look that finds another account or another payment changes nothing', () =>
    holds(`
    look L1 P A 100 paid 10
    look L2 P A2 100 paid 10
    look L3 P A 100 paid 11
    look L4 P9 A9 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    land L2                       → conflict credited 100 back 0 in 0
    land L3                       → conflict credited 100 back 0 in 0
    land L4                       → unknownAccount
    show A                        → backed 100 held 0, free 0 held 0
    show A2                       → backed 0 held 0, free 0 held 0
  `))

  test('the credit of a purchase is fixed when its row is created', () =>
    holds(`
    look L1 P A 100 open
    land L1                       → posted open 100 back 0 in 0
    look L2 P A 999 paid 10
    land L2                       → posted credited 100 back 0 in 0
  `))

  test('a purchase worth nothing, or of impossible totals, is refused', () =>
    holds(`
    look L1 P A 0 paid 10
    land L1                       → rejects: StoreRefused
    look L2 P A 100 paid 0
    land L2                       → rejects: StoreRefused
    show P                        → none
  `))

  test('no other credit is posted with the ID of a purchase', () =>
    holds(`
    look L1 P A 100 paid 10 back 1
    land L1                       → posted credited 100 back 10 in 1
    credit A backed 100 pur_P     → rejects: StoreRefused
    credit A backed 100 pur_P:1   → rejects: StoreRefused
    credit A backed 100 pur_new   → rejects: StoreRefused
  `))

  test('a purchase lifts the limit of accounts without paid credit, as a top-up does', () =>
    holds(`
    credit A free 100 r1 until 60 → added grant 100
    open R1 K 1 free              → opened 1 = backed 0 + free 1
    settle R1 released            → released 0
    open R2 K 1 free              → opened 1 = backed 0 + free 1
    settle R2 released            → released 0
    open R3 K 1 free              → opened 1 = backed 0 + free 1
    settle R3 released            → released 0
    open R4 K 1 free              → rate_limited retry after 60
    look L1 P A 100 paid 10
    land L1                       → posted credited 100 back 0 in 0
    open R4 K 1 free              → opened 1 = backed 0 + free 1
  `))
})

describe.each(STORE_BENCHES)('over two connections to $engine', ({ open }) => {
  let bench: StoreBench
  let other: Ledger & { close(): Promise<void> }

  beforeEach(async () => {
    bench = await open()
    await runScript(bench, 'account A\naccount A2')
    // Another process has its own writer on the same store.
    other = createLedger({ location: bench.store.location })
  })

  afterEach(async () => {
    await other.close()
    await bench.auditAndClose()
  })

  const ledgerOf = (place: number): Ledger => (place % 2 === 0 ? bench.ledger : other)

  test('of 50 looks that find a payment at the same time, one adds its credit', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, place) =>
        ledgerOf(place).postPurchase({ ...paidLook('P'), id: `pur_${place}` }),
      ),
    )
    const kinds = verdicts.map(({ kind }) => kind).sort()
    expect(kinds).toEqual(['posted', ...new Array(49).fill('unchanged')])
    expect(await bench.entries('A')).toMatchObject([{ kind: 'purchase', amountMicros: 1_000 }])
  })

  test('a look of another method than that of the purchase changes nothing', async () => {
    await bench.ledger.postPurchase(paidLook('P'))
    const other = { ...paidLook('P', { reversedUnits: 3n }), method: 'usdc' }
    expect(await bench.ledger.postPurchase(other)).toMatchObject({ kind: 'conflict' })
    expect((await bench.account('A')).backedBalanceMicros).toBe(1_000)
  })

  test('of 50 looks that find a refund at the same time, one removes the credit', async () => {
    await bench.ledger.postPurchase(paidLook('P'))
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, place) =>
        ledgerOf(place).postPurchase(paidLook('P', { reversedUnits: 3n })),
      ),
    )
    const kinds = verdicts.map(({ kind }) => kind).sort()
    expect(kinds).toEqual(['posted', ...new Array(49).fill('unchanged')])
    expect((await bench.account('A')).backedBalanceMicros).toBe(700)
  })

  test('if two accounts claim a payment at the same time, one gets the credit', async () => {
    for (let round = 0; round < 10; round++) {
      const claimed = await Promise.allSettled(
        ['A', 'A2'].map((accountId, place) =>
          ledgerOf(place).postPurchase({ ...paidLook(`P${round}`), accountId }),
        ),
      )
      // The one that comes second finds the row, or the store refuses its row.
      const posted = claimed.filter(
        (claim) => claim.status === 'fulfilled' && claim.value.kind === 'posted',
      )
      expect(posted).toHaveLength(1)
    }
    const [one, two] = [await bench.account('A'), await bench.account('A2')]
    expect(one.backedBalanceMicros + two.backedBalanceMicros).toBe(10_000)
  })

  test('the credit is exact after the last look, however looks race with refunds and each other', async () => {
    let number = 0
    const history = fc.array(fc.bigInt({ min: 0n, max: 10n }), { minLength: 2, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(history, async (totals) => {
        const name = `P${++number}`
        let back = 0n
        /** As the gateway looks: again where a reversal was posted meanwhile, until nothing changes. */
        const look = async (ledger: Ledger): Promise<void> => {
          for (;;) {
            const row = await findPurchase(bench.db, `play:${name}`)
            const seenReversals = row?.reversals ?? 0
            const verdict = await ledger.postPurchase({
              ...paidLook(name, { reversedUnits: back }),
              seenReversals,
            })
            if (verdict.kind === 'unchanged') return
          }
        }
        const before = (await bench.account('A')).backedBalanceMicros
        const looks: Promise<void>[] = []
        for (const [place, total] of totals.entries()) {
          back = total
          looks.push(look(ledgerOf(place)), look(ledgerOf(place + 1)))
        }
        await Promise.all(looks)
        const gone = reversedCredit({
          creditMicros: micros(1_000),
          paidUnits: 10n,
          reversedUnits: back,
        })
        const after = (await bench.account('A')).backedBalanceMicros
        expect(after - before).toBe(1_000 - gone)
      }),
      { numRuns: 25 },
    )
  })
})
