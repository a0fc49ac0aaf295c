import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readToEnd } from '../world.ts'
import { dueMicros } from './bills/bill.ts'
import { PRICES, type Priced, RANDOM_BILLS, type RandomBill } from './bills/random.ts'
import { startVendorWorld, type VendorWorld } from './bills/vendor-world.ts'

/*
 * Random requests and random counts in every dialect: the charge is what the vendor's price page makes of the counts,
 * to the micro-dollar. A failure shows the seed.
 */

const VENDOR_MODELS = ['m', 'm-fast', 'long', 'embeds', 'claude-opus-4-8', 'gpt-5.4']

describe.each(Object.entries(RANDOM_BILLS))('%s', (dialect, bills) => {
  let bench: VendorWorld

  beforeAll(async () => {
    bench = await startVendorWorld({
      modelIds: VENDOR_MODELS,
      fileOf: (baseUrl) => upstreamsFile(dialect, baseUrl),
      creditMicros: 1_000_000_000_000,
    })
  })
  afterAll(() => bench?.close())

  async function charged({ format, body, answer }: RandomBill, stream: boolean) {
    const { path, least } = format
    const events = stream ? (format.stream?.(answer) ?? null) : null
    bench.vendor.answer = events ?? format.whole(answer)
    const asked = { ...least, ...body, ...(events === null ? {} : { stream: true }) }
    const sent = await readToEnd(bench.world.send(bench.apiKey, asked, path))
    expect(sent.httpStatus, sent.text).toBe(200)
    const { state, backedChargeMicros } = await bench.world.rowOf(sent.requestId)
    return { state, chargeMicros: backedChargeMicros }
  }

  test('every answer is charged what the vendor bills, and the ledger is exact', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(...bills), fc.boolean(), async (bill, stream) => {
        const due = { state: 'final', chargeMicros: dueMicros(bill.lines) }
        expect(await charged(bill, stream)).toEqual(due)
      }),
      { numRuns: 60 },
    )
    await bench.world.expectExactLedger()
  })
})

const written = ({ input, read, write, writeLong, output }: Priced): string =>
  `input: ${input}, cache_read: ${read}, cache_write: ${write}, cache_write_1h: ${writeLong}, output: ${output}`

function upstreamsFile(dialect: string, baseUrl: string): string {
  const formats =
    dialect === 'openai-compatible' ? 'formats: [chat, responses, messages, embeddings]' : ''
  const figures =
    'context: 1000000, max_output: 128000, inputs: [text], parameters: [max_tokens, max_completion_tokens]'
  const { flat, fast, long, longAbove } = PRICES
  return `upstreams:
  vendor:
    dialect: ${dialect}
    base_url: ${baseUrl}
    api_key: "\${VENDOR_KEY}"
    ${formats}
    models:
      - { id: acme/m, upstream_id: m, ${figures}, prices: { ${written(flat)}, search: 0.01 } }
      - { id: acme/m-fast, upstream_id: m-fast, ${figures}, prices: { ${written(fast)}, search: 0.01 } }
      - { id: acme/long, upstream_id: long, ${figures}, prices: { ${written(long)}, search: 0.01 }, long_prompts: [{ above: 411, ${written(longAbove)} }] }
      - { id: acme/embeds, upstream_id: embeds, outputs: [embeddings], prices: { input: 0.13, output: 0 } }
`
}
