import { test } from 'vitest'
import { describeScripts } from '../testing/scripts.ts'

describeScripts(['account A', 'key K A'], (holds) => {
  test('an account can have at most a billion dollars of paid and free credit together', () =>
    holds(`
    credit A backed 900000000000000 r1                → added top_up 900000000000000
    credit A free 200000000000000 r2 until 100        → beyondBalance added 100000000000000
    credit A free 100000000000000 r2 until 100        → added grant 100000000000000
    credit A free 100000000000000 r2 until 100        → exists grant 100000000000000
    credit A backed 1 r3                              → beyondBalance added 0
    code C 5
    redeem C A                                        → beyondBalance added 0
    look L1 P A 5 paid 10
    land L1                                           → posted held 5 back 0 in 0
    land L1 approved                                  → unchanged held 5 back 0 in 0
    open R1 K 1                                       → opened 1 = backed 1 + free 0
    settle R1 released                                → released 0
    credit A backed -10 r4                            → added chargeback -10
    redeem C A                                        → redeemed activation 5 code_C
    land L1 approved                                  → posted credited 5 back 0 in 0
    credit A backed 1 r3                              → beyondBalance added 0
  `))

  test('expired free credit frees its part of the limit, except for the held part', () =>
    holds(`
    credit A free 1000000000000000 r1 until 100       → added grant 1000000000000000
    open R1 K 7 free                                  → opened 7 = backed 0 + free 7
    code C 5
    at 99
    redeem C A                                        → beyondBalance added 0
    at 100
    redeem C A                                        → redeemed activation 5 code_C
    look L1 P A 10 paid 10
    land L1                                           → posted credited 10 back 0 in 0
    credit A backed 999999999999979 r2                → beyondBalance added 999999999999978
    credit A backed 999999999999978 r2                → added top_up 999999999999978
    settle R1 released                                → released 0
    show A                                            → backed 999999999999993 held 0, free 0 held 0
  `))

  test('removals can take an account to a billion dollars of debt, and charges can go below that', () =>
    holds(`
    credit A backed 100 r1                            → added top_up 100
    open R1 K 100                                     → opened 100 = backed 100 + free 0
    credit A backed -1000000000000000 r2       → added chargeback -1000000000000000
    credit A backed -101 r3                           → beyondBalance removed 100
    credit A backed -100 r3                           → added chargeback -100
    credit A backed -1 r4                             → beyondBalance removed 0
    settle R1 final 100                               → final 100
    show A                                            → backed -1000000000000100 held 0, free 0 held 0
    credit A backed -1 r4                             → beyondBalance removed 0
    credit A backed 2000000000000100 r5               → added top_up 2000000000000100
  `))

  test('a refund that fails returns its credit even if the account has reached its limit since', () =>
    holds(`
    look L1 P A 1000000000000000 paid 10
    land L1                                           → posted credited 1000000000000000 back 0 in 0
    look L2 P A 1000000000000000 paid 10 back 10
    land L2                                           → posted credited 1000000000000000 back 1000000000000000 in 1
    credit A backed 1000000000000000 r1               → added top_up 1000000000000000
    look L3 P A 1000000000000000 paid 10
    land L3                                           → posted credited 1000000000000000 back 0 in 2
    show A                                            → backed 2000000000000000 held 0, free 0 held 0
  `))
})
