import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Bench } from '../testing/bench.ts'
import { BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'

describe.each(BENCHES)('on $engine', ({ open }) => {
  let bench: Bench

  beforeEach(async () => {
    bench = await open()
  })

  afterEach(async () => {
    await bench.audit()
    await bench.close()
  })

  /** Each line's answer stands behind its arrow; the script is its own expectation. */
  async function holds(script: string): Promise<void> {
    expect(await runScript(bench, script)).toBe(script)
  }

  test('keys are refused first, then frequency, then credit', () =>
    holds(`
    account A
    key K A
    open R1 K 10                  → insufficient_credit needs 10 of 0, held 0
    open R1 K9 10                 → invalid_api_key
    credit A backed 100 r1        → added top_up 100
    open R1 K 1                   → opened 1 = backed 1 + free 0
    open R2 K 1                   → opened 1 = backed 1 + free 0
    open R3 K 1                   → opened 1 = backed 1 + free 0
    open R4 K 999                 → too_many_concurrent_requests
    set K expires 10
    at 9.999
    open R4 K 999                 → too_many_concurrent_requests
    at 10
    open R4 K 999                 → api_key_expired
    set K disabled
    open R4 K 999                 → api_key_disabled
    set K deleted
    open R4 K 999                 → invalid_api_key
    settle R1 final 1             → final 1
    key K2 A
    set A disabled
    open R4 K2 1                  → account_suspended
    `))

  test('a key opens no hold of another account', () =>
    holds(`
    account A
    account A2
    key K A
    credit A backed 100 r1        → added top_up 100
    credit A2 backed 100 r2       → added top_up 100
    open R1 K 10 for A2           → invalid_api_key
    show A                        → backed 100 held 0, free 0 held 0
    show A2                       → backed 100 held 0, free 0 held 0
    `))

  test('a key has so many admitted requests in any 60 seconds, exact to a second', () =>
    holds(`
    account A
    key K A
    credit A backed 100 r1        → added top_up 100
    at 100.9
    open R1 K 1                   → opened 1 = backed 1 + free 0
    settle R1 released            → released 0
    open R2 K 1                   → opened 1 = backed 1 + free 0
    settle R2 released            → released 0
    at 130
    open R3 K 1                   → opened 1 = backed 1 + free 0
    settle R3 released            → released 0
    open R4 K 999                 → insufficient_credit needs 999 of 100, held 0
    open R4 K 1                   → opened 1 = backed 1 + free 0
    settle R4 released            → released 0
    open R5 K 1                   → opened 1 = backed 1 + free 0
    settle R5 released            → released 0
    at 130.5
    open R6 K 1                   → rate_limited retry after 30
    at 159.999
    open R6 K 1                   → rate_limited retry after 1
    at 160
    open R6 K 1                   → opened 1 = backed 1 + free 0
    settle R6 released            → released 0
    open R7 K 1                   → opened 1 = backed 1 + free 0
    settle R7 released            → released 0
    open R8 K 1                   → rate_limited retry after 30
    `))

  test('an account that never had paid credit has fewer, over all its keys; credit lifts it', () =>
    holds(`
    account A
    key K1 A
    key K2 A
    credit A free 100 r1 until 999 → added grant 100
    open R1 K1 1 free             → opened 1 = backed 0 + free 1
    open R2 K1 1 free             → opened 1 = backed 0 + free 1
    open R3 K2 1 free             → opened 1 = backed 0 + free 1
    open R4 K2 1 free             → rate_limited retry after 60
    credit A backed 1 r2          → added top_up 1
    open R4 K2 1 free             → opened 1 = backed 0 + free 1
    credit A backed -1 r3         → added chargeback -1
    open R5 K2 1 free             → opened 1 = backed 0 + free 1
    `))
})
