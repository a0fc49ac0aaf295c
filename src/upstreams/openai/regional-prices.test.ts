import { expect, test } from 'vitest'
import { parsePrice } from '../../vocabulary/money.ts'
import { upstreamSettings } from '../testing/upstream-settings.ts'
import { Upstream } from '../upstream.ts'
import { openai } from './openai.ts'

const LISTED = ['gpt-5.5', 'gpt-5.3-codex', 'gpt-4.1']

/** OpenAI's API, whose list of models is at hand. */
class ListedUpstream extends Upstream {
  override async getJson() {
    return { httpStatus: 200, json: { data: LISTED.map((id) => ({ id })) } }
  }
}

async function pricesAt(host: string) {
  const settings = upstreamSettings({ name: 'openai', baseUrl: `https://${host}/v1` })
  const upstream = new ListedUpstream(settings, openai)
  const { models } = await openai.fetchModels(upstream, {
    upstream: 'openai',
    perSearchIdsAdded: new Set(),
    perSearchIdsRemoved: new Set(),
    fees: { everyModel: 500, models: new Map() },
  })
  return new Map(models.map(({ offer }) => [offer.upstreamModelId, offer.prices]))
}

const perMillion = (dollars: string) => (parsePrice(dollars) ?? 0n) / 1_000_000n

test.each(['eu.api.openai.com', 'us.api.openai.com'])(
  'at %s, models since GPT-5.4 cost 1.1 times the token prices of the usual address, long prompts included',
  async (host) => {
    const prices = await pricesAt(host)
    expect(prices.get('gpt-5.5')).toMatchObject({
      input: perMillion('5.5'),
      cacheRead: perMillion('0.55'),
      output: perMillion('33'),
      search: parsePrice('0.01'),
      tiers: [
        { input: perMillion('11'), cacheRead: perMillion('1.1'), output: perMillion('49.5') },
      ],
    })
    expect(prices.get('gpt-5.3-codex')).toMatchObject({ input: perMillion('1.75') })
    expect(prices.get('gpt-4.1')).toMatchObject({ input: perMillion('2'), output: perMillion('8') })
  },
)

test.each(['api.openai.com', 'eu.api.openai.com.example.com'])(
  'at %s, prices are those of the list',
  async (host) => {
    expect((await pricesAt(host)).get('gpt-5.5')).toMatchObject({ input: perMillion('5') })
  },
)
