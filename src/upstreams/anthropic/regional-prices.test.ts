import { expect, test } from 'vitest'
import { parsePrice } from '../../vocabulary/money.ts'
import { upstreamSettings } from '../testing/upstream-settings.ts'
import { writtenModel } from '../testing/written-model.ts'
import { Upstream } from '../upstream.ts'
import { anthropic } from './anthropic.ts'

const LISTED = [
  'claude-opus-4-8',
  'claude-sonnet-4-6',
  'claude-opus-4-5-20251101',
  'claude-haiku-4-5',
  'claude-3-7-sonnet-20250219',
]

/** Anthropic's API, whose list of models is at hand. */
class ListedUpstream extends Upstream {
  override async getJson() {
    return { httpStatus: 200, json: { data: LISTED.map((id) => ({ id })) } }
  }
}

async function offers() {
  const written = writtenModel('anthropic/written', {
    upstreamModelId: 'claude-sonnet-4-6',
    prices: { input: 3_300_000n, output: 16_500_000n },
  })
  const settings = upstreamSettings({
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    models: [written],
  })
  const { models } = await anthropic.fetchModels(new ListedUpstream(settings, anthropic), {
    upstream: 'anthropic',
    perSearchIdsAdded: new Set(),
    perSearchIdsRemoved: new Set(),
    fees: { everyModel: 500, models: new Map() },
  })
  return new Map(models.map(({ offer }) => [offer.upstreamModelId, offer]))
}

const perMillion = (dollars: string) => (parsePrice(dollars) ?? 0n) / 1_000_000n

test('answers of Claude Opus 4.6 and later that were computed in the US have token prices of 1.1 times', async () => {
  const offer = (await offers()).get('claude-opus-4-8')
  expect(offer?.prices).toMatchObject({ input: perMillion('5') })
  expect(offer?.regionalPrices).toMatchObject({
    input: perMillion('5.5'),
    cacheRead: perMillion('0.55'),
    cacheWrite: perMillion('6.875'),
    cacheWriteLong: perMillion('11'),
    output: perMillion('27.5'),
    search: parsePrice('0.01'),
  })
})

test.each(['claude-opus-4-5-20251101', 'claude-haiku-4-5', 'claude-3-7-sonnet-20250219'])(
  '%s has one price in every region, for it can be bound to none',
  async (id) => {
    const offer = (await offers()).get(id)
    expect(offer?.prices.input).toBeGreaterThan(0n)
    expect(offer?.regionalPrices).toBeUndefined()
  },
)

test('prices that the operator has written are those of every region', async () => {
  const offer = (await offers()).get('claude-sonnet-4-6')
  expect(offer?.prices.input).toBe(3_300_000n)
  expect(offer?.regionalPrices).toBeUndefined()
})
