import { describe, expect, test } from 'vitest'
import {
  IMAGE_ARCHITECTURE,
  LISTING_SETTINGS,
  type UpstreamRow,
  upstreamRow,
} from '../openrouter/testing/upstream-list.ts'
import { parseRow } from './listing.ts'

const parse = (row: unknown) => parseRow(row, LISTING_SETTINGS)

/** The model in a row. */
function only(row: unknown) {
  const parsed = parse(row)
  if (parsed.kind !== 'model') throw new Error('the row is no model')
  return parsed
}

describe('a readable row', () => {
  test('becomes an offer with exact prices in pico-dollars', () => {
    const { offer } = only(
      upstreamRow({
        hugging_face_id: 'acme/sage-weights',
        pricing: {
          prompt: '0.000003',
          completion: '0.0000150',
          request: '0.018',
          image: '0.001264',
          image_token: '0.000004',
          image_output: '0.00003',
          audio: '0.000005',
          input_audio_cache: '0.000007',
          audio_output: '0.0001',
          web_search: '0.01',
          internal_reasoning: '2e-5',
          input_cache_read: '0.0000003',
          input_cache_write: '0.00000375',
          input_cache_write_1h: '0.000006',
          discount: 0.5,
        },
      }),
    )
    expect(offer).toEqual({
      modelId: 'acme/sage-pro',
      upstreamModelId: 'acme/sage-pro',
      authoredId: 'acme/sage-pro',
      endpoints: [],
      inputModalities: new Set(['text', 'image', 'file']),
      outputModalities: new Set(['text']),
      supportedParameters: new Set(['max_tokens', 'temperature', 'tools']),
      contextTokens: 1_000_000,
      outputTokensMax: 64_000,
      openWeights: true,
      billsPerSearch: false,
      upstream: 'openrouter',
      prices: {
        input: 3_000_000n,
        output: 15_000_000n,
        cacheRead: 300_000n,
        cacheWrite: 3_750_000n,
        cacheWriteLong: 6_000_000n,
        reasoning: 20_000_000n,
        imageOutput: 30_000_000n,
        audioOutput: 100_000_000n,
        imageInput: 1_264_000_000n,
        imageInputToken: 4_000_000n,
        audioInput: 7_000_000n,
        search: 10_000_000_000n,
        request: 18_000_000_000n,
        imageFlat: 0n,
        tiers: [],
      },
      fastPrices: null,
      priceSnapshotId: expect.stringMatching(/^price_[0-9a-f]{24}$/),
      feeBasisPoints: 500,
    })
  })

  test("is listed in the upstream's layout with the fields that other clients read", () => {
    expect(only(upstreamRow()).listing).toEqual({
      id: 'acme/sage-pro',
      object: 'model',
      type: 'model',
      owned_by: 'acme',
      canonical_slug: 'acme/sage-pro-20260901',
      hugging_face_id: '',
      name: 'Acme: Sage Pro',
      display_name: 'Acme: Sage Pro',
      created: 1_788_000_000,
      created_at: '2026-08-29T10:40:00.000Z',
      description: 'Answers questions.',
      context_length: 1_000_000,
      architecture: {
        modality: 'text+image+file->text',
        input_modalities: ['text', 'image', 'file'],
        output_modalities: ['text'],
        tokenizer: 'Other',
        instruct_type: null,
      },
      pricing: { prompt: '0.000003', completion: '0.000015' },
      top_provider: {
        context_length: 1_000_000,
        max_completion_tokens: 64_000,
        is_moderated: false,
      },
      supported_parameters: ['max_tokens', 'temperature', 'tools'],
      knowledge_cutoff: null,
      expiration_date: null,
    })
  })

  test.each([undefined, null, '1788000000', -1, 1.5, 253_402_300_800, Number.MAX_SAFE_INTEGER])(
    'with the creation time %s is listed with an unknown age',
    (created) => {
      const { listing } = only(upstreamRow({ created }))
      expect([listing.created, listing.created_at]).toEqual([0, '1970-01-01T00:00:00.000Z'])
    },
  )

  test('without cache prices bills the cache at the input price', () => {
    const { prices } = only(upstreamRow()).offer
    expect([prices.cacheRead, prices.cacheWrite, prices.cacheWriteLong]).toEqual([
      3_000_000n,
      3_000_000n,
      3_000_000n,
    ])
  })

  test('without a price for one-hour cache writes bills them like other cache writes', () => {
    const pricing = { prompt: '0.000003', completion: '0', input_cache_write: '0.00000375' }
    expect(only(upstreamRow({ pricing })).offer.prices.cacheWriteLong).toBe(3_750_000n)
  })

  test.each([
    ['a number that is written like one', { prompt: 0.000003, completion: 1.5e-5 }],
    ['a price of null, which is none', { prompt: '0.000003', completion: '0.000015', image: null }],
  ])('is read with %s', (_, pricing) => {
    const { prices } = only(upstreamRow({ pricing })).offer
    expect([prices.input, prices.output, prices.imageInput]).toEqual([3_000_000n, 15_000_000n, 0n])
  })

  test.each<[string, UpstreamRow, number | null, number | null]>([
    ['both known', {}, 1_000_000, 64_000],
    ['window unknown', { context_length: null, top_provider: {} }, null, null],
    ['window known of the provider alone', { context_length: null }, 1_000_000, 64_000],
    ['no provider', { top_provider: null }, 1_000_000, null],
    ['a maximum of zero', { top_provider: { max_completion_tokens: 0 } }, 1_000_000, null],
  ])('has its window and maximum output: %s', (_, changes, contextTokens, outputTokensMax) => {
    expect(only(upstreamRow(changes)).offer).toMatchObject({ contextTokens, outputTokensMax })
  })

  test.each<[unknown, boolean]>([
    ['acme/weights', true],
    ['', false],
    [' ', false],
    [null, false],
    [undefined, false],
    [7, false],
  ])('with the hugging_face_id %j has open weights: %j', (huggingFaceId, openWeights) => {
    expect(only(upstreamRow({ hugging_face_id: huggingFaceId })).offer.openWeights).toBe(
      openWeights,
    )
  })
})

describe('a model bills per search', () => {
  const searching = (parameters: readonly string[], prices: Record<string, string>) =>
    upstreamRow({
      supported_parameters: parameters,
      pricing: { prompt: '0.000003', completion: '0.000015', ...prices },
    })

  test.each<[string, UpstreamRow, boolean]>([
    [
      'search options and a price a search',
      searching(['web_search_options'], { web_search: '0.005' }),
      true,
    ],
    [
      'search options and a price a request',
      searching(['web_search_options'], { request: '0.018' }),
      true,
    ],
    ['search options at no price', searching(['web_search_options'], {}), false],
    [
      'search options beside tools',
      searching(['web_search_options', 'tools'], { web_search: '1' }),
      false,
    ],
    ['a price a search alone', searching(['max_tokens'], { web_search: '0.01' }), false],
  ])('%s: see the table', (_, row, expected) => {
    expect(only(row).offer.billsPerSearch).toBe(expected)
  })

  test('if a setting adds searches, and not if another setting removes them', () => {
    const perSearch = searching(['web_search_options'], { web_search: '0.005' })
    const plain = upstreamRow({ id: 'acme/plain' })
    const settings = {
      ...LISTING_SETTINGS,
      perSearchIdsAdded: new Set(['acme/plain']),
      perSearchIdsRemoved: new Set(['acme/sage-pro']),
    }
    const bills = [perSearch, plain].map((row) => {
      const parsed = parseRow(row, settings)
      return parsed.kind === 'model' && parsed.offer.billsPerSearch
    })
    expect(bills).toEqual([false, true])
  })
})

describe('price overrides', () => {
  const pricesOf = (pricing: UpstreamRow) =>
    only(upstreamRow({ pricing: { prompt: '0.000003', completion: '0.000015', ...pricing } })).offer
      .prices

  test('by prompt size become ascending tiers, which inherit missing prices', () => {
    const { tiers } = pricesOf({
      input_cache_read: '0.0000003',
      overrides: [
        { min_prompt_tokens: 400_000, prompt: '0.000012' },
        { min_prompt_tokens: 200_000, prompt: '0.000006', completion: '0.0000225' },
      ],
    })
    expect(tiers).toEqual([
      {
        inputTokensAbove: 200_000,
        input: 6_000_000n,
        output: 22_500_000n,
        cacheRead: 300_000n,
        cacheWrite: 6_000_000n,
        cacheWriteLong: 6_000_000n,
      },
      {
        inputTokensAbove: 400_000,
        input: 12_000_000n,
        output: 22_500_000n,
        cacheRead: 300_000n,
        cacheWrite: 12_000_000n,
        cacheWriteLong: 12_000_000n,
      },
    ])
  })

  test('by time of day count as the highest of them and the base', () => {
    const cheapNow = {
      overrides: [
        { utc_start: 30, utc_end: 1630, prompt: '0.000004', completion: '0.000010' },
        { utc_start: 1630, utc_end: 30, prompt: '0.000002', completion: '0.000020' },
      ],
    }
    const prices = pricesOf(cheapNow)
    expect([prices.input, prices.output, prices.tiers]).toEqual([4_000_000n, 20_000_000n, []])
  })

  test('under an unknown condition count if they are higher', () => {
    const prices = pricesOf({ overrides: [{ moon: 'full', prompt: '0.5', image_output: '0.25' }] })
    expect([prices.input, prices.imageOutput]).toEqual([500_000_000_000n, 250_000_000_000n])
  })

  test('by prompt size that are cheaper make no tier, because an estimate can exceed the threshold', () => {
    expect(
      pricesOf({ overrides: [{ min_prompt_tokens: 1_000, prompt: '0.000001' }] }).tiers,
    ).toEqual([])
  })

  test('are listed unchanged, with their conditions', () => {
    const overrides = [
      { min_prompt_tokens: 200_000, prompt: '0.000006' },
      { utc_start: 30, utc_end: 1630, prompt: '1' },
    ]
    const row = upstreamRow({ pricing: { prompt: '0.000003', completion: '0', overrides } })
    expect(only(row).listing.pricing['overrides']).toEqual(overrides)
  })
})

describe('a row is not offered', () => {
  const priced = (pricing: unknown) => upstreamRow({ pricing })
  /** Priced as it must be, and with this in addition. */
  const also = (pricing: object) => priced({ prompt: '1', completion: '1', ...pricing })

  test.each<[string, unknown]>([
    ['with the price of a router', priced({ prompt: '-1', completion: '-1' })],
    ['with one negative price', also({ request: '-0.1' })],
    ['with a negative price too small to count', priced({ prompt: '1', completion: '-1e-40' })],
    ['with a negative price of a kind not known', also({ moonlight: '-1' })],
    ['with a negative price at some hours', also({ overrides: [{ prompt: '-1' }] })],
    ['without a prompt price', priced({ completion: '1' })],
    ['without a completion price', priced({ prompt: '1', completion: null })],
    ['without prices', priced(null)],
    ['with a price that is no decimal', priced({ prompt: '1', completion: 'cheap' })],
    ['with a price that is an object', priced({ prompt: '1', completion: {} })],
    ['with a price that is not a number', also({ image: 'NaN' })],
    ['with overrides that are no list', also({ overrides: {} })],
    ['with an override that is no object', also({ overrides: ['x'] })],
    ['with a threshold that is no count', also({ overrides: [{ min_prompt_tokens: 1.5 }] })],
    ['with overrides beyond number', also({ overrides: new Array(201).fill({}) })],
    ['priced for batches', upstreamRow({ id: 'acme/sage-pro:batch' })],
    ['that is an alias of nothing', upstreamRow({ id: '~acme/sage-latest' })],
    ['without an author', upstreamRow({ id: 'sage-pro' })],
    ['with an id that needs escaping', upstreamRow({ id: 'acme/sage pro' })],
    ['with an id as long as a book', upstreamRow({ id: `acme/${'a'.repeat(300)}` })],
    ['with an id that leads to its parent', upstreamRow({ id: 'acme/../sage-pro' })],
    ['with an id that ends in its parent', upstreamRow({ id: 'acme/..' })],
    ['with an id that has two dots in a row', upstreamRow({ id: 'acme/sage..pro' })],
    ['with an id that leads to itself', upstreamRow({ id: 'acme/./sage-pro' })],
    ['with an id that has an empty segment', upstreamRow({ id: 'acme//sage-pro' })],
    ['with an id that ends in an empty segment', upstreamRow({ id: 'acme/sage-pro/' })],
    [
      'that is an alias with an empty segment',
      upstreamRow({ id: '~acme//sage', alias_target: { slug: 'acme/sage-pro' } }),
    ],
    ['without modalities', upstreamRow({ architecture: null })],
    [
      'that makes nothing',
      upstreamRow({ architecture: { ...IMAGE_ARCHITECTURE, output_modalities: [] } }),
    ],
    ['with parameters that are no list', upstreamRow({ supported_parameters: { seed: true } })],
    ['with a window that is text', upstreamRow({ context_length: '8192' })],
    ['with a maximum below zero', upstreamRow({ top_provider: { max_completion_tokens: -1 } })],
    ['that is no object', 'acme/sage-pro'],
    ['that is a list', []],
  ])('%s', (_, row) => {
    expect(['unreadable', 'notOffered']).toContain(parse(row).kind)
  })
})
