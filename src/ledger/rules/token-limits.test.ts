import { test } from 'vitest'
import { describeScripts } from '../testing/scripts.ts'

describeScripts(['account A', 'key K A', 'key L A', 'credit A backed 100 r1'], (holds) => {
  test('a running request counts as the most tokens that it can use, and an ended one as all that it used, with cached tokens', () =>
    holds(`
    set K tokens 100
    open R1 K 1 tokens 60         → opened 1 = backed 1 + free 0
    open R2 K 1 tokens 41         → rate_limited tokens retry after 60
    settle R1 final 1 used 10 read 45 → final 1
    open R2 K 1 tokens 46         → rate_limited tokens retry after 60
    open R2 K 1 tokens 45         → opened 1 = backed 1 + free 0
    `))

  test('a released request counts no tokens, and a request that ended without counts has the most that it could use', () =>
    holds(`
    set K tokens 100
    open R1 K 1 tokens 60         → opened 1 = backed 1 + free 0
    settle R1 released            → released 0
    open R2 K 1 tokens 100        → opened 1 = backed 1 + free 0
    settle R2 final 1             → final 1
    open R3 K 1 tokens 1          → rate_limited tokens retry after 60
    `))

  test('a limit that is removed and set again still counts the requests of the last minute, each once', () =>
    holds(`
    set A tokens 100
    open R1 K 1 tokens 60         → opened 1 = backed 1 + free 0
    set A tokens none
    set A tokens 70
    open R2 L 1 tokens 11         → rate_limited tokens retry after 60
    open R2 L 1 tokens 10         → opened 1 = backed 1 + free 0
    settle R1 released            → released 0
    open R3 K 1 tokens 61         → rate_limited tokens retry after 60
    open R3 K 1 tokens 60         → opened 1 = backed 1 + free 0
    `))

  test('while a clock is set back, a request counts in the same second for its key and its account, and its end corrects that second', () =>
    holds(`
    set A tokens 100
    set L tokens 100
    at 100
    open R1 K 1 tokens 50         → opened 1 = backed 1 + free 0
    at 95
    open R2 L 1 tokens 50         → opened 1 = backed 1 + free 0
    settle R2 final 1 used 10     → final 1
    open R3 L 1 tokens 41         → rate_limited tokens retry after 65
    open R3 L 1 tokens 40         → opened 1 = backed 1 + free 0
    `))
})
