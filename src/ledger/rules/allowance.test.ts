import { test } from 'vitest'
import { describeScripts } from '../testing/scripts.ts'

// The dates are in 1970: the 1st of January was a Thursday.
describeScripts(['account A', 'key K A', 'key K2 A', 'credit A backed 1000 r1'], (holds) => {
  test('a used allowance refuses requests until the millisecond before its reset, and is whole from the reset', () =>
    holds(`
    at 86000
    set K allowance 30/day UTC
    open req_z1 K 20              → opened 20 = backed 20 + free 0
    settle req_z1 final 12        → final 12
    open req_z2 K 19              → key_limit_reached needs 19 of 18, held 0, resets 86400
    open req_z2 K 18              → opened 18 = backed 18 + free 0
    show K                        → spend 12 held 18 open 1, from 0 spend 12 held 18
    at 86399.999
    open req_z3 K 1               → key_limit_reached needs 1 of 0, held 18, resets 86400
    at 86400
    open req_z3 K 30              → opened 30 = backed 30 + free 0
    open req_z4 K 1               → key_limit_reached needs 1 of 0, held 30, resets 172800
    `))

  test("an account's allowance covers all its keys, in addition to the total and to each key's own", () =>
    holds(`
    set A allowance 50/week UTC
    set K allowance 20/day UTC
    open req_z1 K2 25             → opened 25 = backed 25 + free 0
    open req_z2 K 20              → opened 20 = backed 20 + free 0
    open req_z3 K 1               → key_limit_reached needs 1 of 0, held 20, resets 86400
    open req_z3 K2 6              → insufficient_credit needs 6 of 5, held 45, resets 345600
    open req_z3 K2 9 least 2      → opened 5 = backed 5 + free 0
    settle req_z3 released        → released 0
    settle req_z2 final 20        → final 20
    at 86400
    set K2 limit 27
    open req_z4 K2 3              → key_limit_reached needs 3 of 2, held 25
    open req_z4 K 5               → opened 5 = backed 5 + free 0
    open req_z5 K 1               → insufficient_credit needs 1 of 0, held 30, resets 345600
    show A                        → backed 980 held 30, free 0 held 0, from -259200 spend 20 held 30
    show K                        → spend 20 held 5 open 1, from 86400 spend 0 held 5
    `))

  test('a charge, and each correction of it, counts in the period in which its hold opened', () =>
    holds(`
    at 86399
    set K allowance 30/day UTC
    open req_z1 K 10              → opened 10 = backed 10 + free 0
    open req_z2 K 10              → opened 10 = backed 10 + free 0
    settle req_z2 provisional 9 estimate → provisional 9
    at 86401
    open req_z3 K 25              → opened 25 = backed 25 + free 0
    settle req_z1 final 40        → final 40 overrun 30
    correct req_z2 final 2        → final 2 difference -7
    show K                        → spend 42 held 25 open 1, from 86400 spend 0 held 25
    settle req_z3 provisional 20 estimate → provisional 20
    at 86402
    correct req_z3 final 4        → final 4 difference -16
    open req_z4 K 26              → opened 26 = backed 26 + free 0
    open req_z5 K 1               → key_limit_reached needs 1 of 0, held 26, resets 172800
    abandon I                     → 1 unresolved
    show K                        → spend 46 held 26 open 0, from 86400 spend 4 held 26
    at 172800
    correct req_z4 givenUp        → released 0 difference 0
    show K                        → spend 46 held 0 open 0, from 86400 spend 4 held 0
    `))

  test('an allowance that is set, removed and set again in a period counts all charges of that period', () =>
    holds(`
    at 100
    open req_z1 K 10              → opened 10 = backed 10 + free 0
    settle req_z1 final 8         → final 8
    open req_z2 K 10              → opened 10 = backed 10 + free 0
    at 200
    set K allowance 20/day UTC
    open req_z3 K 3               → key_limit_reached needs 3 of 2, held 10, resets 86400
    settle req_z2 final 1         → final 1
    open req_z3 K 5               → opened 5 = backed 5 + free 0
    set K allowance none
    show K                        → spend 9 held 5 open 1
    settle req_z3 final 6         → final 6 overrun 1
    set K allowance 20/week UTC
    show K                        → spend 15 held 0 open 0, from -259200 spend 15 held 0
    set K allowance 16/week UTC
    open req_z4 K 2               → key_limit_reached needs 2 of 1, held 0, resets 345600
    at 345600
    open req_z4 K 16              → opened 16 = backed 16 + free 0
    set K allowance 16/day UTC
    open req_z5 K 1               → key_limit_reached needs 1 of 0, held 16, resets 432000
    `))

  test("a clock that is set back over the start of a period increases neither period's allowance", () =>
    holds(`
    at 86390
    set K allowance 30/day UTC
    set A allowance 40/month UTC
    open req_z1 K 20              → opened 20 = backed 20 + free 0
    settle req_z1 final 20        → final 20
    at 86401
    open req_z2 K 5               → opened 5 = backed 5 + free 0
    at 86395
    open req_z3 K 11              → key_limit_reached needs 11 of 10, held 0, resets 86400
    open req_z3 K 10              → opened 10 = backed 10 + free 0
    settle req_z2 final 4         → final 4
    open req_z4 K 1               → key_limit_reached needs 1 of 0, held 10, resets 86400
    at 86402
    open req_z4 K 27              → key_limit_reached needs 27 of 26, held 0, resets 172800
    open req_z4 K 7               → insufficient_credit needs 7 of 6, held 10, resets 2678400
    open req_z4 K 6               → opened 6 = backed 6 + free 0
    show K                        → spend 24 held 16 open 2, from 86400 spend 4 held 6
    `))

  test('an allowance that is set under a clock that was set back counts requests from before and after the step', () =>
    holds(`
    at 86401
    open req_z1 K 5               → opened 5 = backed 5 + free 0
    at 86300
    open req_z2 K 7               → opened 7 = backed 7 + free 0
    set K allowance 30/day UTC
    show K                        → spend 0 held 12 open 2, from 0 spend 0 held 7
    at 86410
    settle req_z1 final 5         → final 5
    open req_z3 K 26              → key_limit_reached needs 26 of 25, held 0, resets 172800
    open req_z3 K 25              → opened 25 = backed 25 + free 0
    show K                        → spend 5 held 32 open 2, from 86400 spend 5 held 25
    `))
})
