import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readToEnd } from '../world.ts'
import { ANTHROPIC_BILLS } from './bills/anthropic.ts'
import { type Bill, dueMicros } from './bills/bill.ts'
import { OPENAI_BILLS } from './bills/openai.ts'
import { COMPATIBLE_BILLS } from './bills/openai-compatible.ts'
import { startVendorWorld, type VendorWorld } from './bills/vendor-world.ts'
import type { ScriptedVendor } from './scripted-vendor.ts'

/* What vendors publish about their bills, row by row: the charge is what the vendor bills, with the fee of 5%. */

const DIALECTS = {
  openai: OPENAI_BILLS,
  anthropic: ANTHROPIC_BILLS,
  'openai-compatible': COMPATIBLE_BILLS,
} as const

/** Dollars for a million tokens, and for a search. */
const PRICES = 'input: 4, cache_read: 0.4, cache_write: 5, cache_write_1h: 8, output: 20'

describe.each(Object.entries(DIALECTS))('%s', (dialect, bills) => {
  let bench: VendorWorld

  beforeAll(async () => {
    bench = await startVendorWorld({
      modelIds: ['m', 'm-fast', 'long', 'embeds'],
      fileOf: (baseUrl) => upstreamsFile(dialect, baseUrl),
      creditMicros: 1_000_000_000,
    })
  })
  afterAll(() => bench?.close())

  /** The state and the charge of a request with this answer. */
  async function charged({ format, body }: Bill, answer: ScriptedVendor['answer']) {
    bench.vendor.answer = answer
    const stream = Array.isArray(answer) ? { stream: true } : {}
    const { path, least } = format
    const sent = await readToEnd(
      bench.world.send(bench.apiKey, { ...least, ...body, ...stream }, path),
    )
    expect(sent.httpStatus, sent.text).toBe(200)
    expect(await bench.world.logged(sent.requestId), 'without a warning').toContain('"level":30')
    const { state, backedChargeMicros, backedHeldMicros } = await bench.world.rowOf(sent.requestId)
    expect(backedHeldMicros).toBe(0)
    return { state, chargeMicros: backedChargeMicros }
  }

  test.each(bills)('$name', async (bill) => {
    const due = { state: 'final', chargeMicros: dueMicros(bill.lines) }
    expect(await charged(bill, bill.format.whole(bill.answer))).toEqual(due)
    if (bill.format.stream === null) return
    expect(await charged(bill, bill.format.stream(bill.answer)), 'as a stream').toEqual(due)
  })

  test('after all of it, the ledger is exact', async () => {
    await bench.world.expectExactLedger()
  })
})

function upstreamsFile(dialect: string, baseUrl: string): string {
  const formats =
    dialect === 'openai-compatible' ? 'formats: [chat, responses, messages, embeddings]' : ''
  const figures = 'context: 1000000, max_output: 128000, inputs: [text, image, file]'
  return `upstreams:
  vendor:
    dialect: ${dialect}
    base_url: ${baseUrl}
    api_key: "\${VENDOR_KEY}"
    ${formats}
    models:
      - { id: acme/m, upstream_id: m, ${figures}, parameters: [max_tokens, max_completion_tokens], prices: { ${PRICES}, search: 0.01 } }
      - { id: acme/m-fast, upstream_id: m-fast, ${figures}, prices: { input: 8, cache_read: 0.8, cache_write: 10, cache_write_1h: 16, output: 40, search: 0.01 } }
      - { id: acme/long, upstream_id: long, ${figures}, parameters: [max_tokens, max_completion_tokens], prices: { ${PRICES} }, long_prompts: [{ above: 411, input: 20, cache_read: 2, cache_write: 25, cache_write_1h: 40, output: 100 }] }
      - { id: acme/embeds, upstream_id: embeds, outputs: [embeddings], prices: { input: 0.13, output: 0 } }
`
}
