import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { parsePrice } from '../../vocabulary/money.ts'
import { listen } from '../../vocabulary/testing/listen.ts'
import { anthropicFacts } from '../anthropic/anthropic.ts'
import { loadDialect } from '../dialects.ts'
import { openaiFacts, openaiId } from '../openai/openai.ts'
import { upstreamSettings } from '../testing/upstream-settings.ts'
import { writtenModel } from '../testing/written-model.ts'
import { Upstream } from '../upstream.ts'
import { loadKnownPrices } from './known-prices.ts'
import type { ListingSettings } from './listing.ts'
import { meetVendorList, type VendorKnowledge } from './vendor-list.ts'

type VendorModel = Parameters<typeof meetVendorList>[0][number]

const SETTINGS: ListingSettings = {
  upstream: 'openai',
  perSearchIdsAdded: new Set(),
  perSearchIdsRemoved: new Set(),
  fees: { everyModel: 500, models: new Map() },
}

function listed(upstreamModelId: string, figures: Partial<VendorModel> = {}): VendorModel {
  return {
    upstreamModelId,
    name: null,
    created: null,
    contextTokens: null,
    outputTokensMax: null,
    ...figures,
  }
}

const NOTHING_WRITTEN = { ...SETTINGS, written: [] }
const NOTHING_KNOWN: VendorKnowledge = {
  author: 'local',
  authoredIdOf: () => null,
  knownModel: () => null,
  factsOf: () => null,
}
const PRICES = { input: 50_000n, output: 200_000n }

async function openaiKnowledge(): Promise<VendorKnowledge> {
  const knownModel = await loadKnownPrices('openai', Date.parse('2026-11-22'))
  return { author: 'openai', authoredIdOf: openaiId, knownModel, factsOf: openaiFacts }
}

describe("OpenAI's list of IDs", () => {
  test('is joined with prices and facts, and offered with catalog IDs', async () => {
    const ids = ['gpt-5-mini', 'gpt-4o-2024-11-20', 'text-embedding-3-small', 'gpt-5-pro']
    const { models } = meetVendorList(
      ids.map((id) => listed(id, { created: 1_700_000_000 })),
      await openaiKnowledge(),
      NOTHING_WRITTEN,
    )
    expect(models.map(({ offer }) => [offer.modelId, offer.upstreamModelId])).toEqual(
      ids.map((id) => [`openai/${id}`, id]),
    )
    const [mini, , embedding] = models
    expect(mini).toMatchObject({
      offer: {
        contextTokens: 400_000,
        outputTokensMax: 128_000,
        openWeights: false,
        billsPerSearch: false,
        prices: { input: 250_000n, cacheRead: 25_000n, output: 2_000_000n },
      },
      listing: {
        owned_by: 'openai',
        created: 1_700_000_000,
        pricing: { prompt: '0.00000025', completion: '0.000002' },
      },
    })
    expect(embedding?.offer.outputModalities).toEqual(new Set(['embeddings']))
  })

  test('leaves out models without a price or facts, and says which lines to add to the settings', async () => {
    const { models, skipped } = meetVendorList(
      ['gpt-5-mini', 'gpt-99', 'gpt-4.5-preview'].map((id) => listed(id)),
      await openaiKnowledge(),
      NOTHING_WRITTEN,
    )
    expect(models).toHaveLength(1)
    expect(skipped).toEqual([
      {
        modelId: 'openai/gpt-99',
        why: 'no price is known for it: to offer it, write `- { id: openai/gpt-99, upstream_id: gpt-99, prices: { input: …, output: … }, context: …, max_output: … }` below `models`',
      },
      {
        modelId: 'openai/gpt-4.5-preview',
        why: 'its limits are not known: to offer it, write `- { id: openai/gpt-4.5-preview, upstream_id: gpt-4.5-preview, context: …, max_output: … }` below `models`',
      },
    ])
  })

  test('an ID in the settings replaces the listed model that would have it', async () => {
    const { models, unreadableIds } = meetVendorList(
      [listed('gpt-4o'), listed('gpt-4o-2024-08-06')],
      await openaiKnowledge(),
      {
        ...SETTINGS,
        written: [
          writtenModel('openai/gpt-4o', { upstreamModelId: 'gpt-4o-2024-08-06', prices: PRICES }),
        ],
      },
    )
    expect(models.map(({ offer }) => [offer.modelId, offer.upstreamModelId])).toEqual([
      ['openai/gpt-4o', 'gpt-4o-2024-08-06'],
    ])
    expect(models[0]?.offer.prices.input).toBe(PRICES.input)
    expect(unreadableIds).toEqual(new Set())
  })

  test.each(['gpt-6.2-astra', 'gpt-6.2-sol', 'gpt-6.1-sol', 'gpt-6.1-terra'])(
    '%s, whose price the package lacks, needs only prices and its window to be written',
    async (id) => {
      const knowledge = await openaiKnowledge()
      expect(knowledge.knownModel(id)).toBeNull()
      const { models } = meetVendorList([listed(id)], knowledge, {
        ...SETTINGS,
        written: [writtenModel(`openai/${id}`, { upstreamModelId: id, prices: PRICES })],
      })
      expect(models.map(({ offer }) => offer)).toMatchObject([
        { outputTokensMax: 128_000, inputModalities: new Set(['text', 'image', 'file']) },
      ])
    },
  )

  test('limits in the settings take precedence over known ones, and prices in the settings replace all known ones', async () => {
    const { models } = meetVendorList([listed('gpt-5-mini')], await openaiKnowledge(), {
      ...SETTINGS,
      written: [writtenModel('mine/mini', { upstreamModelId: 'gpt-5-mini', prices: PRICES })],
    })
    expect(models.map(({ offer }) => offer)).toMatchObject([
      {
        modelId: 'mine/mini',
        upstreamModelId: 'gpt-5-mini',
        outputTokensMax: 128_000,
        prices: { input: 50_000n, cacheRead: 50_000n, output: 200_000n, search: 0n },
      },
    ])
  })
})

test('every model of the tables that has a price is offered', async () => {
  const tables = [
    ['openai', openaiFacts, ['gpt-6-sol', 'gpt-5.6-luna', 'gpt-5', 'o3', 'gpt-4o', 'gpt-4.1-mini']],
    ['anthropic', anthropicFacts, ['claude-opus-5-5', 'claude-sonnet-5', 'claude-haiku-4-5']],
  ] as const
  for (const [author, factsOf, ids] of tables) {
    const knownModel = await loadKnownPrices(author, Date.parse('2026-11-22'))
    const knowledge = { author, authoredIdOf: () => null, knownModel, factsOf }
    const { skipped } = meetVendorList(
      ids.map((id) => listed(id)),
      knowledge,
      NOTHING_WRITTEN,
    )
    expect(skipped).toEqual([])
  }
})

describe('a server without prices', () => {
  test('offers the models in the settings, listed or not', () => {
    const { models, skipped } = meetVendorList([listed('a'), listed('b')], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [
        writtenModel('local/a', { prices: PRICES, openWeights: true, contextTokens: 8_192 }),
        writtenModel('local/c', { prices: PRICES }),
      ],
    })
    expect(models.map(({ offer }) => [offer.modelId, offer.openWeights])).toEqual([
      ['local/a', true],
      ['local/c', false],
    ])
    expect(skipped.map(({ modelId }) => modelId)).toEqual(['local/b'])
    // Open weights alone do not name a repository of Hugging Face.
    expect(models.map(({ listing }) => listing.hugging_face_id)).toEqual([null, null])
  })

  test('accepts a cap unless the settings list its parameters, because without a cap its answer has no bound', () => {
    const { models } = meetVendorList([], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [
        writtenModel('local/a', { prices: PRICES }),
        writtenModel('local/b', { prices: PRICES, supportedParameters: ['temperature'] }),
      ],
    })
    expect(models.map(({ offer }) => [...offer.supportedParameters])).toEqual([
      ['max_tokens'],
      ['temperature'],
    ])
  })

  test('can have one model with two IDs at two prices', () => {
    const { models } = meetVendorList([listed('a')], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [
        writtenModel('cheap/a', { prices: PRICES }),
        writtenModel('dear/a', { prices: { input: 100_000n, output: 400_000n } }),
      ],
    })
    expect(models.map(({ offer }) => offer.prices.input)).toEqual([50_000n, 100_000n])
  })

  test('reports that it lists no prices, and the lines to add, if the settings have none', () => {
    expect(() =>
      meetVendorList([listed('a'), listed('b')], NOTHING_KNOWN, NOTHING_WRITTEN),
    ).toThrow('the upstream lists 2 models and no prices. Write the models to offer')
  })

  test("a vendor's own limits take precedence over the table's", () => {
    const figures = { contextTokens: 500_000, outputTokensMax: 64_000 }
    const { models } = meetVendorList([listed('a', figures)], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [writtenModel('local/a', { prices: PRICES })],
    })
    expect(models[0]?.offer).toMatchObject(figures)
  })

  test('the thinking that a server does not count in a cap is that of the settings', () => {
    const { models } = meetVendorList([], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [
        writtenModel('local/a', { prices: PRICES, uncappedThinkingTokens: 32_768 }),
        writtenModel('local/b', { prices: PRICES }),
      ],
    })
    expect(models.map(({ offer }) => offer.uncappedThinkingTokens)).toEqual([32_768, undefined])
  })

  test('every price in the settings has its place in the table', () => {
    const prices = {
      input: 1n,
      output: 2n,
      cacheRead: 3n,
      cacheWrite: 4n,
      cacheWriteLong: 5n,
      reasoning: 6n,
      search: 8n,
      request: 9n,
    }
    const { models } = meetVendorList([], NOTHING_KNOWN, {
      ...SETTINGS,
      written: [writtenModel('local/a', { prices })],
    })
    expect(models[0]?.offer.prices).toMatchObject(prices)
    expect(models[0]?.listing.pricing['prompt']).toBe('0.000000000001')
    expect(parsePrice('0.000000000001')).toBe(1n)
  })
})

describe("the author's ID of a model", () => {
  test.each([
    ['anthropic', 'claude-opus-5', 'anthropic/claude-opus-5'],
    ['openai', 'gpt-5', 'openai/gpt-5'],
    ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::1', 'openai/gpt-4o-mini-2024-07-18:acme::1'],
    ['openai-compatible', 'anthropic/claude-opus-5', null],
  ])(
    "follows from the dialect %s and its ID %s, not from the operator's name for it",
    async (name, upstreamModelId, authoredId) => {
      const dialect = await loadDialect(name)
      const server = createServer((_, answer) => answer.end('{"data":[]}'))
      const port = await listen(server)
      const prices = { input: PRICES.input, output: PRICES.output }
      const models = [writtenModel('google/chosen', { upstreamModelId, prices })]
      const upstream = new Upstream(
        { ...upstreamSettings({ baseUrl: `http://127.0.0.1:${port}/v1` }), models },
        dialect,
      )
      try {
        const { models: offered } = await dialect.fetchModels(upstream, SETTINGS)
        expect(offered[0]?.offer).toMatchObject({ modelId: 'google/chosen', authoredId })
      } finally {
        await upstream.close()
        server.close()
      }
    },
  )
})
