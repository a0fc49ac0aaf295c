import { test } from 'vitest'
import { describeScripts } from '../testing/scripts.ts'

describeScripts(['account A', 'key K A'], (holds) => {
  test('credit is held, charged once, and the rest of the hold is returned', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 60                  → opened 60 = backed 60 + free 0
    show A                        → backed 100 held 60, free 0 held 0
    open R2 K 41                  → insufficient_credit needs 41 of 40, held 60
    settle R1 final 25            → final 25
    show A                        → backed 75 held 0, free 0 held 0
    show K                        → spend 25 held 0 open 0
    settle R1 final 30            → final 25 before
    settle R1 released            → final 25 before
    show R1                       → final, charge backed 25 free 0, held backed 0 free 0
    show A                        → backed 75 held 0, free 0 held 0
    entries A                     → top_up backed 100, charge backed -25
    `))

  test('a repeated open returns the existing hold, and no request runs on an ended hold', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 60                  → opened 60 = backed 60 + free 0
    open R1 K 60                  → opened 60 = backed 60 + free 0
    show K                        → spend 0 held 60 open 1
    settle R1 released            → released 0
    open R1 K 60                  → rejects: StoreUnavailable
    show K                        → spend 0 held 0 open 0
    settle R9 released            → rejects: StoreRefused
    `))

  test('the grant is the largest part of the hold that credit covers, from the least to the whole', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 300 least 101       → insufficient_credit needs 101 of 100, held 0
    open R1 K 300 least 100       → opened 100 = backed 100 + free 0
    settle R1 final 40            → final 40
    set K limit 70
    open R2 K 300 least 10        → opened 30 = backed 30 + free 0
    open R3 K 300 least 10        → key_limit_reached needs 10 of 0, held 30
    settle R2 final 10            → final 10
    open R3 K 25                  → key_limit_reached needs 25 of 20, held 0
    open R3 K 20                  → opened 20 = backed 20 + free 0
    `))

  test('without credit no request runs, not even for a free model', () =>
    holds(`
    open R1 K 0                   → insufficient_credit
    credit A backed 10 r1         → added top_up 10
    open R1 K 0                   → opened 0 = backed 0 + free 0
    open R2 K 10                  → opened 10 = backed 10 + free 0
    open R3 K 0                   → insufficient_credit needs 0 of 0, held 10
    settle R2 released            → released 0
    set K limit 0
    open R3 K 0                   → key_limit_reached
    `))

  test('a hold takes free credit first, and its charge follows that split', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    credit A free 30 r2 until 999 → added grant 30
    open R1 K 50 free             → opened 50 = backed 20 + free 30
    settle R1 final 40            → final 40
    show R1                       → final, charge backed 10 free 30, held backed 0 free 0
    show A                        → backed 90 held 0, free 0 held 0
    credit A free 30 r3 until 999 → added grant 30
    open R2 K 50 free             → opened 50 = backed 20 + free 30
    settle R2 final 12            → final 12
    show A                        → backed 90 held 0, free 18 held 0
    open R3 K 50                  → opened 50 = backed 50 + free 0
    settle R3 final 50            → final 50
    show A                        → backed 40 held 0, free 18 held 0
    `))

  test('free credit pays only for qualifying requests, and the refusal says so if the account has no other credit', () =>
    holds(`
    credit A free 30 r1 until 999 → added grant 30
    open R1 K 10                  → free_credit_not_eligible needs 10 of 0, held 0
    open R1 K 40 free             → insufficient_credit needs 40 of 30, held 0
    open R1 K 30 free             → opened 30 = backed 0 + free 30
    open R2 K 10                  → free_credit_not_eligible needs 10 of 0, held 0
    open R2 K 10 free             → insufficient_credit needs 10 of 0, held 30
    credit A backed 5 r2          → added top_up 5
    open R2 K 10                  → insufficient_credit needs 10 of 5, held 0
    at 999
    settle R1 released            → released 0
    credit A backed -5 r3         → added chargeback -5
    open R3 K 10                  → insufficient_credit needs 10 of 0, held 0
    `))

  test('a messages request that only free credit pays for runs on the available part', () =>
    holds(`
    credit A free 30 r1 until 999 → added grant 30
    open R1 K 500 free alone      → opened 30 = backed 0 + free 30
    open R2 K 500 free alone      → insufficient_credit needs 500 of 0, held 30
    settle R1 final 10            → final 10
    set K limit 25
    open R2 K 500 free alone      → key_limit_reached needs 500 of 15, held 0
    set K limit 30
    open R2 K 500 free alone      → opened 20 = backed 0 + free 20
    settle R2 released            → released 0
    credit A backed 5 r2          → added top_up 5
    set K limit 9999
    open R3 K 500 free alone      → insufficient_credit needs 500 of 25, held 0
    `))

  test('a charge above the paid credit takes it below zero', () =>
    holds(`
    credit A backed 20 r1         → added top_up 20
    credit A free 5 r2 until 999  → added grant 5
    open R1 K 25 free             → opened 25 = backed 20 + free 5
    settle R1 final 40            → final 40 overrun 15
    show R1                       → final, charge backed 35 free 5, held backed 0 free 0
    show A                        → backed -15 held 0, free 0 held 0
    open R2 K 0                   → insufficient_credit
    `))

  test('free credit never goes below zero: the excess is written off', () =>
    holds(`
    credit A free 30 r1 until 999 → added grant 30
    open R1 K 10 free             → opened 10 = backed 0 + free 10
    open R2 K 15 free             → opened 15 = backed 0 + free 15
    settle R1 final 22            → final 22 overrun 12
    show R1                       → final, charge backed 0 free 22, held backed 0 free 0, written off 7
    show A                        → backed 0 held 0, free 15 held 15
    show K                        → spend 22 held 15 open 1
    settle R2 final 15            → final 15
    show A                        → backed 0 held 0, free 0 held 0
    entries A                     → grant free 30, charge free -22, write_off free 7, charge free -15
    `))

  test('a charge above a hold of only free credit takes available paid credit, and makes no debt', () =>
    holds(`
    credit A free 10 r1 until 999 → added grant 10
    credit A backed 50 r2         → added top_up 50
    open R1 K 5 free              → opened 5 = backed 0 + free 5
    open R2 K 30                  → opened 30 = backed 30 + free 0
    settle R1 provisional 25      → provisional 25 overrun 20
    show R1                       → provisional, charge backed 15 free 10, held backed 0 free 0, generation G
    correct R1 final 40           → final 40 overrun 35 difference 15
    show R1                       → final, charge backed 20 free 20, held backed 0 free 0, written off 10, generation G
    show A                        → backed 30 held 30, free 0 held 0
    settle R2 final 30            → final 30
    show A                        → backed 0 held 0, free 0 held 0
    `))

  test('a charge above a hold of zero makes no debt for an account that never had paid credit', () =>
    holds(`
    at 1
    credit A free 30 g until 9    → added grant 30
    open R1 K 0 free              → opened 0 = backed 0 + free 0
    settle R1 final 40            → final 40 overrun 40
    show A                        → backed 0 held 0, free 0 held 0
    show R1                       → final, charge backed 0 free 40, held backed 0 free 0, written off 10
    entries A                     → grant free 30, charge free -40, write_off free 10
    `))

  test('free credit expires at its time, but a hold that opened before can still be charged', () =>
    holds(`
    credit A free 30 r1 until 60  → added grant 30
    open R1 K 10 free             → opened 10 = backed 0 + free 10
    at 59.999
    open R2 K 5 free              → opened 5 = backed 0 + free 5
    at 60
    open R3 K 5 free              → insufficient_credit needs 5 of 0, held 15
    settle R1 final 8             → final 8
    show A                        → backed 0 held 0, free 5 held 5
    settle R2 released            → released 0
    show A                        → backed 0 held 0, free 0 held 0
    entries A                     → grant free 30, charge free -8, expiry free -17, expiry free -5
    `))

  test('a second grant adds to the unexpired credit, and the later expiry applies', () =>
    holds(`
    credit A free 30 r1 until 60  → added grant 30
    credit A free 10 r2 until 40  → added grant 10
    at 50
    open R1 K 40 free             → opened 40 = backed 0 + free 40
    settle R1 released            → released 0
    at 70
    credit A free 5 r3 until 90   → added grant 5
    show A                        → backed 0 held 0, free 5 held 0
    open R2 K 5 free              → opened 5 = backed 0 + free 5
    `))

  test('an estimated charge keeps the rest of its hold until it is final, and frees its place in flight', () =>
    holds(`
    credit A backed 100 r1            → added top_up 100
    open R1 K 60                      → opened 60 = backed 60 + free 0
    settle R1 provisional 20 estimate → provisional 20
    show A                            → backed 80 held 40, free 0 held 0
    show K                            → spend 20 held 40 open 0
    correct R1 final 35               → final 35 difference 15
    show A                            → backed 65 held 0, free 0 held 0
    correct R1 final 99               → unchanged final 35
    open R2 K 60                      → opened 60 = backed 60 + free 0
    settle R2 provisional 20 estimate → provisional 20
    correct R2 givenUp                → final 20 difference 0
    show A                            → backed 45 held 0, free 0 held 0
    entries A                         → top_up backed 100, charge backed -20, correction backed -15, charge backed -20
    `))

  test('a reported provisional charge frees the rest of its hold at once', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 60                  → opened 60 = backed 60 + free 0
    settle R1 provisional 20      → provisional 20
    show R1                       → provisional, charge backed 20 free 0, held backed 0 free 0, generation G
    correct R1 provisional 30     → unchanged provisional 20
    correct R1 final 5            → final 5 difference -15
    show A                        → backed 95 held 0, free 0 held 0
    show K                        → spend 5 held 0 open 0
    `))

  test('a reported cost that needs no look-up becomes final, and can still be looked up', () =>
    holds(`
    credit A backed 100 r1          → added top_up 100
    open R1 K 60                    → opened 60 = backed 60 + free 0
    settle R1 provisional 20 stands → provisional 20
    open R2 K 60                    → opened 60 = backed 60 + free 0
    settle R2 provisional 10 stands → provisional 10
    open R3 K 60                    → opened 60 = backed 60 + free 0
    settle R3 provisional 5 estimate → provisional 5
    stand final R1 R1 R3 R9         → 1 changed
    show R1                         → final, charge backed 20 free 0, held backed 0 free 0, generation G, stands
    correct R1 final 99             → unchanged final 20
    stand lookUp R2 R1              → 1 changed
    correct R2 final 11             → final 11 difference 1
    show R2                         → final, charge backed 11 free 0, held backed 0 free 0, generation G
    `))

  test('a correction follows the split of the hold, and reverses the write-off', () =>
    holds(`
    credit A backed 50 r1         → added top_up 50
    credit A free 10 r2 until 60  → added grant 10
    open R1 K 30 free             → opened 30 = backed 20 + free 10
    settle R1 provisional 6       → provisional 6
    show A                        → backed 50 held 0, free 4 held 0
    open R2 K 4 free              → opened 4 = backed 0 + free 4
    correct R1 final 18           → final 18 difference 12
    show R1                       → final, charge backed 8 free 10, held backed 0 free 0, written off 4, generation G
    show A                        → backed 42 held 0, free 4 held 4
    settle R2 provisional 9       → provisional 9 overrun 5
    show R2                       → provisional, charge backed 5 free 4, held backed 0 free 0, generation G
    at 61
    correct R2 final 3            → final 3 difference -6
    show R2                       → final, charge backed 0 free 3, held backed 0 free 0, generation G
    show A                        → backed 42 held 0, free 0 held 0
    `))

  test('the credit of an unresolved request stays held until its cost is known, and its place in flight is free', () =>
    holds(`
    credit A backed 100 r1            → added top_up 100
    open R1 K 30                      → opened 30 = backed 30 + free 0
    settle R1 unresolved              → unresolved 0
    show K                            → spend 0 held 30 open 0
    settle R1 final 10                → unresolved 0 before
    correct R1 provisional 8 estimate → provisional 8 difference 8
    show K                            → spend 8 held 22 open 0
    correct R1 final 9                → final 9 difference 1
    open R2 K 30                      → opened 30 = backed 30 + free 0
    settle R2 unresolved              → unresolved 0
    correct R2 givenUp                → released 0 difference 0
    show A                            → backed 91 held 0, free 0 held 0
    open R3 K 30                      → opened 30 = backed 30 + free 0
    correct R3 final 9                → unchanged open 0
    correct R9 final 9                → unknown
    `))

  test('a cost that becomes known after a release is recorded and never charged', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 30                  → opened 30 = backed 30 + free 0
    settle R1 released            → released 0
    correct R1 final 9            → unchanged released 0
    settle R1 final 9             → released 0 before
    settle R1 released            → released 0 before
    show R1                       → released, charge backed 0 free 0, held backed 0 free 0, late 2
    show A                        → backed 100 held 0, free 0 held 0
    entries A                     → top_up backed 100
    `))

  test('abandoning a dead instance makes its open holds unresolved, and what the instance reports later still counts', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 10 by I1            → opened 10 = backed 10 + free 0
    open R2 K 10 by I1            → opened 10 = backed 10 + free 0
    open R3 K 10 by I2            → opened 10 = backed 10 + free 0
    note R1 G1
    note R1 G2
    abandon I1                    → 2 unresolved
    abandon I1                    → 0 unresolved
    show R1                       → unresolved, charge backed 0 free 0, held backed 10 free 0, generation G1
    show K                        → spend 0 held 30 open 1
    settle R2 final 7             → final 7
    settle R2 final 8             → final 7 before
    settle R3 final 7             → final 7
    settle R1 unresolved          → unresolved 0
    show R1                       → unresolved, charge backed 0 free 0, held backed 10 free 0, generation G1
    settle R1 final 7             → unresolved 0 before
    `))

  test('a forgotten hold becomes unresolved, as if its instance were dead, and other holds stay open', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    open R1 K 10 by I1            → opened 10 = backed 10 + free 0
    open R2 K 10 by I1            → opened 10 = backed 10 + free 0
    open R3 K 10 by I1            → opened 10 = backed 10 + free 0
    settle R3 final 5             → final 5
    forget R1 R3 R9               → 1 unresolved
    forget R1 R3 R9               → 0 unresolved
    show R1                       → unresolved, charge backed 0 free 0, held backed 10 free 0
    show R2                       → open, charge backed 0 free 0, held backed 10 free 0
    show R3                       → final, charge backed 5 free 0, held backed 0 free 0
    show K                        → spend 5 held 20 open 1
    settle R1 final 7             → final 7
    settle R2 final 7             → final 7
    `))

  test('credit is added once for each reference, and a repeat with another amount is reported', () =>
    holds(`
    account A1
    account A2
    credit A1 backed 100 r1         → added top_up 100
    credit A1 backed 100 r1         → exists top_up 100
    credit A1 backed 101 r1         → conflict top_up 100
    credit A1 free 100 r1 until 60  → conflict top_up 100
    credit A2 backed 100 r1         → added top_up 100
    credit A1 free 5 r2 until 60    → added grant 5
    credit A1 free 5 r2 until 61    → conflict grant 5
    at 60
    credit A1 free 5 r2 until 60    → exists grant 5
    credit A1 free 5 r4 until 60    → expired
    credit A1 backed -130 r3        → added chargeback -130
    credit A1 backed -130 r3        → exists chargeback -130
    show A1                         → backed -30 held 0, free 0 held 0
    credit A9 backed 1 r1           → unknownAccount
    `))

  test.each([
    ['of zero', 'credit A backed 0 r1'],
    ['without a reference', 'credit A backed 1'],
    ['that is backed and expires', 'credit A backed 1 r1 until 60'],
    ['that is free and does not expire', 'credit A free 1 r1'],
    ['that is free and taken back', 'credit A free -1 r1 until 60'],
  ])('credit %s is refused', (_what, line) =>
    holds(`
    at 5
    credit A backed 1 r0            → added top_up 1
    ${line} → rejects: StoreRefused
    entries A                       → top_up backed 1
    `),
  )
})
