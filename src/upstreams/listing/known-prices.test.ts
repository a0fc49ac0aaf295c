import { expect, test } from 'vitest'
import { parsePrice } from '../../vocabulary/money.ts'
import { loadKnownPrices } from './known-prices.ts'
import { parsePricing } from './pricing.ts'

const NOW_MS = Date.parse('2026-11-22')

async function pricesOf(vendor: string, id: string, nowMs = NOW_MS) {
  const known = (await loadKnownPrices(vendor, nowMs))(id)
  return known === null ? null : parsePricing(known.pricing).prices
}

function perMillion(usd: string): bigint {
  return (parsePrice(usd) ?? 0n) / 1_000_000n
}

test("OpenAI's prices are exact decimals of one token", async () => {
  expect(await pricesOf('openai', 'gpt-4o-mini')).toMatchObject({
    input: perMillion('0.15'),
    cacheRead: perMillion('0.075'),
    output: perMillion('0.60'),
    search: parsePrice('0.01'),
    tiers: [],
  })
})

test("Anthropic's prices have both lifetimes of cache writes, and searches", async () => {
  expect(await pricesOf('anthropic', 'claude-opus-4-5-20251101')).toMatchObject({
    input: perMillion('5'),
    cacheRead: perMillion('0.5'),
    cacheWrite: perMillion('6.25'),
    cacheWriteLong: perMillion('10'),
    output: perMillion('25'),
    search: parsePrice('0.01'),
  })
})

test('prices of longer prompts are tiers', async () => {
  expect(await pricesOf('openai', 'gpt-5.4')).toMatchObject({
    input: perMillion('2.50'),
    output: perMillion('15'),
    tiers: [{ inputTokensAbove: 272_000, input: perMillion('5'), output: perMillion('22.50') }],
  })
})

// developers.openai.com/api/docs/models: "prompts with >272K input tokens".
test.each(['gpt-5.4', 'gpt-5.4-pro', 'gpt-5.5', 'gpt-5.6-sol', 'gpt-6-astra', 'gpt-6-luna'])(
  'at OpenAI, a prompt of exactly 272,000 tokens has the lower prices: %s',
  async (id) => {
    const tiers = (await pricesOf('openai', id))?.tiers
    expect(tiers?.map(({ inputTokensAbove }) => inputTokensAbove)).toEqual([272_000])
  },
)

test('a price that changed on a day is the current one', async () => {
  const input = async (day: string) => (await pricesOf('openai', 'o3', Date.parse(day)))?.input
  expect(await input('2025-06-09')).toBe(perMillion('10'))
  expect(await input('2025-06-11')).toBe(perMillion('2'))
})

test('embeddings have only a price for input', async () => {
  expect(await pricesOf('openai', 'text-embedding-3-small')).toMatchObject({
    input: perMillion('0.02'),
    output: 0n,
  })
})

test.each([
  ['openai', 'gpt-4o-2024-11-20', 'gpt-4o'],
  ['openai', 'gpt-5-nano-2025-08-07', 'gpt-5-nano'],
  ['openai', 'gpt-6-sol-2026-10-01', 'gpt-6-sol'],
  ['anthropic', 'claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
  ['anthropic', 'claude-3-5-haiku-latest', 'claude-3-5-haiku'],
])('%s: %s has the prices of %s', async (vendor, dated, id) => {
  const prices = await pricesOf(vendor, dated)
  expect(prices).not.toBeNull()
  expect(prices).toEqual(await pricesOf(vendor, id))
})

test('a dated ID with a price of its own in the data has that price', async () => {
  expect((await pricesOf('openai', 'gpt-4o-2024-05-13'))?.input).toBe(perMillion('5'))
})

// The package's own rules take the first of these for other models.
test.each([
  ['anthropic', 'claude-sonnet-5-9'],
  ['anthropic', 'claude-haiku-4-5-turbo'],
  ['openai', 'gpt-5-nano-next'],
  ['openai', 'gpt-5.4-2099-01-01'],
  ['openai', 'gpt-4o-audio-preview-2025-06-03-x'],
  ['openai', 'whisper-1'],
  ['openai', 'gpt-audio'],
  ['openai', 'gpt-image-1'],
  ['openai', 'omni-moderation-latest'],
  ['nobody', 'gpt-4o'],
])('%s: %s has no price', async (vendor, id) => {
  expect(await pricesOf(vendor, id)).toBeNull()
})
