import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { micros, parseDecimal } from '../../vocabulary/money.ts'
import type { Correction, RequestFacts, TokenUsage } from '../../vocabulary/outcome.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import type { Bench } from '../testing/bench.ts'
import { BENCHES } from '../testing/benches.ts'
import { FACTS, runScript } from '../testing/script.ts'

const COUNTED = usageOf('10 in, 1 read, 2 written, 3 written long, 4 out, 1 reasoning, 2 searches')
const ON_RECORD: TokenUsage = { ...COUNTED, outputTokens: 400, cacheWriteTokens: 0, searches: 0 }
const COST = parseDecimal('0.00002')

describe.each(BENCHES)('on $engine', ({ open }) => {
  let bench: Bench

  beforeEach(async () => {
    bench = await open()
    await runScript(bench, 'account A\nkey K A\ncredit A backed 100 r1\nopen R1 K 60')
  })

  afterEach(() => bench.close())

  async function usageAfter(facts: Partial<RequestFacts>, usage?: TokenUsage) {
    await bench.ledger.settle({
      requestId: 'R1',
      resolution: { kind: 'unresolved', generationId: 'G' },
      facts: { ...FACTS, ...facts },
    })
    if (COST === null) throw new Error('not a cost')
    const found: Correction = { kind: 'final', chargeMicros: micros(21), costUsd: COST }
    const correction = usage === undefined ? found : { ...found, usage }
    await bench.ledger.correct({ requestId: 'R1', correction })
    return (await bench.request('R1'))?.usage
  }

  test('an answer without counts gets the counts of the record', async () => {
    expect(await usageAfter({}, ON_RECORD)).toEqual(ON_RECORD)
  })

  test('the counts of a whole answer are kept, because they are more detailed', async () => {
    expect(await usageAfter({ usage: COUNTED }, ON_RECORD)).toEqual(COUNTED)
  })

  test("the counts of a broken answer are replaced by the record's counts", async () => {
    const facts = { usage: COUNTED, errorCode: 'client_gone' } as const
    expect(await usageAfter(facts, ON_RECORD)).toEqual(ON_RECORD)
  })

  test('a record without counts removes none', async () => {
    expect(await usageAfter({ usage: COUNTED, errorCode: 'upstream_error' })).toEqual(COUNTED)
  })

  test('an estimate that arrives after the release does not replace the known cost', async () => {
    const resolution = { kind: 'released' } as const
    await bench.ledger.settle({ requestId: 'R1', resolution, facts: FACTS })
    await runScript(bench, 'correct R1 final 21\ncorrect R1 provisional 30 estimate')
    const { lateCostUsd, lateReports } = (await bench.request('R1')) ?? {}
    expect({ lateCostUsd, lateReports }).toEqual({ lateCostUsd: '0.00002', lateReports: 2 })
  })
})
