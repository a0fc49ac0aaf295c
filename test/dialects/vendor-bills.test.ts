import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { configuredUpstreams } from '../../src/app/configured-upstreams.ts'
import { readToEnd, startWorld, type World } from '../world.ts'
import { ANTHROPIC_BILLS } from './bills/anthropic.ts'
import { type Bill, dueMicros } from './bills/bill.ts'
import { OPENAI_BILLS } from './bills/openai.ts'
import { COMPATIBLE_BILLS } from './bills/openai-compatible.ts'
import { type ScriptedVendor, startScriptedVendor } from './scripted-vendor.ts'

/* What vendors publish about their bills, row by row: the charge is what the vendor bills, with the fee of 5%. */

const DIALECTS = {
  openai: OPENAI_BILLS,
  anthropic: ANTHROPIC_BILLS,
  'openai-compatible': COMPATIBLE_BILLS,
} as const

/** Dollars for a million tokens, and for a search. */
const PRICES = 'input: 4, cache_read: 0.4, cache_write: 5, cache_write_1h: 8, output: 20'

describe.each(Object.entries(DIALECTS))('%s', (dialect, bills) => {
  let vendor: ScriptedVendor
  let world: World
  let apiKey: string
  let folder: string

  beforeAll(async () => {
    vendor = await startScriptedVendor(['m', 'm-fast', 'long', 'embeds'])
    folder = mkdtempSync(join(tmpdir(), 'tollgate-bills-'))
    const file = join(folder, 'upstreams.yaml')
    writeFileSync(file, upstreamsFile(dialect, vendor.baseUrl))
    const settings = { TOLLGATE_UPSTREAMS: file }
    const configured = await configuredUpstreams(readConfig(settings), { VENDOR_KEY: 'key' })
    if (configured === null) throw new Error('the file has no upstreams')
    world = await startWorld({ settings, configured: () => configured })
    ;({ apiKey } = await world.account({ creditMicros: 1_000_000_000 }))
  })
  afterAll(async () => {
    await world?.close()
    await vendor?.close()
    rmSync(folder, { recursive: true })
  })

  /** The state and the charge of a request with this answer. */
  async function charged({ format, body }: Bill, answer: ScriptedVendor['answer']) {
    vendor.answer = answer
    const stream = Array.isArray(answer) ? { stream: true } : {}
    const { path, least } = format
    const sent = await readToEnd(world.send(apiKey, { ...least, ...body, ...stream }, path))
    expect(sent.httpStatus, sent.text).toBe(200)
    expect(await world.logged(sent.requestId), 'without a warning').toContain('"level":30')
    const { state, backedChargeMicros, backedHeldMicros } = await world.rowOf(sent.requestId)
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
    await world.expectExactLedger()
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
