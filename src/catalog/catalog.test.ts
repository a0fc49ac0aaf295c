import { describe, expect, test } from 'vitest'
import { parseModels } from '../upstreams/openrouter/catalog.ts'
import { upstreamList, upstreamRow } from '../upstreams/openrouter/testing/upstream-list.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { Catalog, DEFAULT_CATALOG_SETTINGS } from './catalog.ts'
import type { PricesListed, ServedModel } from './served-models.ts'

const OPENROUTER = { name: 'openrouter', models: [], formats: new Set(['chat', 'messages']) }
const START_MS = 1_790_000_000_000

interface Stocked {
  readonly rows: readonly unknown[]
  readonly pricesListed?: PricesListed
  readonly aliases?: ReadonlyMap<string, string>
}

/** A catalog of these rows, and the clock that it goes by. */
function stocked({ rows, aliases = new Map(), pricesListed = 'provider' }: Stocked) {
  const clock = { now: START_MS, nowMs: () => clock.now }
  const catalog = new Catalog({
    clock,
    settings: { pricesStaleAfterMs: HOUR_MS, aliases, pricesListed },
    upstreams: [OPENROUTER],
  })
  const { models } = parseModels(upstreamList(...rows), DEFAULT_CATALOG_SETTINGS)
  catalog.replace(
    'openrouter',
    models.map((model) => ({ ...model, refreshedAtMs: START_MS })),
  )
  return { catalog, clock }
}

/** A model as `GET /v1/models/{id}` has it; null: there is none of the name. */
function listed(
  catalog: Catalog,
  name: string,
  feeBasisPoints: number | null = null,
): ServedModel | null {
  const bytes = catalog.served(feeBasisPoints).bytesById.get(catalog.idOf(name) ?? '')
  return bytes === undefined ? null : JSON.parse(bytes.toString('utf8'))
}

/** The list as `GET /v1/models` has it. */
function listOf(catalog: Catalog): { readonly data: readonly ServedModel[] } {
  return JSON.parse(catalog.served(null).listBytes.toString('utf8'))
}

/** The code of the problem that `look` throws. */
function codeOf(look: () => unknown): string {
  try {
    look()
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a name', () => {
  const alias = upstreamRow({ id: '~acme/sage-latest', alias_target: { slug: 'acme/sage-pro' } })
  const free = upstreamRow({ id: 'acme/sage-pro:free', pricing: { prompt: '0', completion: '0' } })
  const { catalog } = stocked({
    rows: [upstreamRow(), free, alias, upstreamRow({ id: 'acme/other', canonical_slug: null })],
    aliases: new Map([
      ['sage', 'acme/sage-pro'],
      ['ACME/Other', 'acme/sage-pro'],
      ['lost', 'acme/nowhere'],
      ['workhorse', 'acme/other'],
    ]),
  })

  test.each([
    ['its id', 'acme/sage-pro', 'acme/sage-pro'],
    ['its id in another case', 'Acme/SAGE-pro', 'acme/sage-pro'],
    ['its id with the mark of a long window', 'acme/sage-pro[1m]', 'acme/sage-pro'],
    ['another case with the mark', 'ACME/sage-pro[1m]', 'acme/sage-pro'],
    ['its canonical slug', 'acme/sage-pro-20260901', 'acme/sage-pro'],
    ['its slug in another case, marked', 'acme/Sage-Pro-20260901[1m]', 'acme/sage-pro'],
    ['an alias of the upstream', '~acme/sage-latest', 'acme/sage-pro'],
    ['a configured alias', 'Sage', 'acme/sage-pro'],
    ['a suffix that is listed', 'acme/sage-pro:free', 'acme/sage-pro:free'],
    ['an id that a configured alias would shadow', 'acme/OTHER', 'acme/other'],
  ])('resolves by %s', (_, name, modelId) => {
    expect(catalog.offerFor(name, 'chat').modelId).toBe(modelId)
    expect(listed(catalog, name)?.id).toBe(modelId)
  })

  test.each([
    ['unknown', 'acme/nothing'],
    ['empty', ''],
    ['a mark alone', '[1m]'],
    ['marked twice', 'acme/sage-pro[1m][1m]'],
    ['marked in the middle', 'acme/sage[1m]-pro'],
    ['a suffix that is not listed', 'acme/sage-pro:online'],
    ['an alias of a model that is gone', 'lost'],
    ['padded', ' acme/sage-pro'],
    ['a word that every object has', '__proto__'],
    ['as long as a body', 'a'.repeat(1_000_000)],
  ])('is not found where it is %s', (_, name) => {
    expect(codeOf(() => catalog.offerFor(name, 'chat'))).toBe('model_not_found')
    expect(listed(catalog, name)).toBeNull()
  })

  test.each([
    ['without its author', 'sage-pro', 'acme/sage-pro'],
    ['with another author', 'other/sage-pro', 'acme/sage-pro'],
    ['with a date', 'sage-pro-20260101', 'acme/sage-pro'],
    ['with other punctuation', 'acme/Sage_Pro', 'acme/sage-pro'],
    ['with the mark of a long window', 'sage-pro[1m]', 'acme/sage-pro'],
    ['as an alias with a slip', 'workhorze', 'workhorse'],
  ])('that is written %s is refused with the id', (_, name, modelId) => {
    expect(() => catalog.offerFor(name, 'chat')).toThrow(
      `is not in the catalog. Did you mean "${modelId}"? GET /v1/models lists all models.`,
    )
  })

  test.each(['acme/nothing', '', '/', '[1m]', 'sagg', 'sage-pro:online'])(
    'that is near to no model has no suggestion: %j',
    (name) => {
      expect(catalog.notFound(name, null).message).toMatch(/lists the models\.$/)
    },
  )

  test('that differs from two IDs only in case resolves to neither, and each ID to itself', () => {
    const { catalog: twins } = stocked({
      rows: [upstreamRow({ id: 'acme/twin' }), upstreamRow({ id: 'acme/Twin' })],
    })
    expect(twins.offerFor('acme/twin', 'chat').modelId).toBe('acme/twin')
    expect(twins.offerFor('acme/Twin', 'chat').modelId).toBe('acme/Twin')
    expect(codeOf(() => twins.offerFor('ACME/TWIN', 'chat'))).toBe('model_not_found')
  })

  test('returns the same prepared offer each time', () => {
    expect(catalog.offerFor('ACME/SAGE-PRO', 'chat')).toBe(
      catalog.offerFor('acme/sage-pro', 'chat'),
    )
  })
})

describe('prices', () => {
  test('are valid until they are exactly an hour old, and stale after that', () => {
    const { catalog, clock } = stocked({ rows: [upstreamRow()] })
    clock.now = START_MS + HOUR_MS
    expect(catalog.offerFor('acme/sage-pro', 'chat').modelId).toBe('acme/sage-pro')
    clock.now++
    expect(codeOf(() => catalog.offerFor('acme/sage-pro', 'chat'))).toBe('model_prices_stale')
  })

  test('that are stale do not hide the model, and an unknown model stays unknown', () => {
    const { catalog, clock } = stocked({ rows: [upstreamRow()] })
    clock.now = START_MS + 2 * HOUR_MS
    expect(listed(catalog, 'acme/sage-pro')?.id).toBe('acme/sage-pro')
    expect(codeOf(() => catalog.offerFor('acme/nothing', 'chat'))).toBe('model_not_found')
  })

  test('stay valid while the clock is before the refresh, as after a step back', () => {
    const { catalog, clock } = stocked({ rows: [upstreamRow()] })
    clock.now = START_MS - HOUR_MS
    expect(catalog.offerFor('acme/sage-pro', 'chat').modelId).toBe('acme/sage-pro')
  })
})

test('a catalog that was never loaded does not answer that a model does not exist', () => {
  const catalog = new Catalog({
    clock: { nowMs: () => START_MS },
    settings: { ...DEFAULT_CATALOG_SETTINGS, pricesStaleAfterMs: HOUR_MS },
    upstreams: [OPENROUTER],
  })
  expect(codeOf(() => catalog.offerFor('acme/sage-pro', 'chat'))).toBe('service_unavailable')
  expect(listed(catalog, 'acme/sage-pro')).toBeNull()
  const empty = { object: 'list', data: [], total_count: 0, links: { next: null } }
  expect(listOf(catalog)).toEqual(empty)
})

describe('the list', () => {
  const hidden = [
    upstreamRow({ id: 'acme/auto', pricing: { prompt: '-1', completion: '-1' } }),
    upstreamRow({ id: '~acme/sage-latest', alias_target: { slug: 'acme/sage-pro' } }),
  ]
  const { catalog } = stocked({
    rows: [
      upstreamRow(),
      ...hidden,
      upstreamRow({ id: 'acme/naïve' }),
      upstreamRow({ id: 'acme/mini', name: 'Acme: Miní' }),
    ],
  })

  test('lists exactly the offered models, in the order of the upstream', () => {
    expect(listOf(catalog).data.map(({ id }) => id)).toEqual(['acme/sage-pro', 'acme/mini'])
  })

  test('is made once a refresh and fee, however many accounts have fees of their own', () => {
    expect(catalog.served(null)).toBe(catalog.served(null))
    expect(catalog.served(1_200)).toBe(catalog.served(1_200))
    for (let basisPoints = 0; basisPoints < 100; basisPoints++) catalog.served(basisPoints)
    expect(listed(catalog, 'acme/mini', 99)).toEqual(listed(catalog, 'acme/mini', 99))
  })

  test('has each model as it is alone', () => {
    for (const listing of listOf(catalog).data) expect(listed(catalog, listing.id)).toEqual(listing)
  })

  test('changes after a refresh, and a removed model is not found', () => {
    const { catalog: changing } = stocked({ rows: [upstreamRow()] })
    const { models } = parseModels(
      upstreamList(upstreamRow({ id: 'acme/next' })),
      DEFAULT_CATALOG_SETTINGS,
    )
    changing.replace(
      'openrouter',
      models.map((model) => ({ ...model, refreshedAtMs: START_MS })),
    )
    expect(listOf(changing).data).toHaveLength(1)
    expect(listed(changing, 'acme/next')?.owned_by).toBe('acme')
    expect(codeOf(() => changing.offerFor('acme/sage-pro', 'chat'))).toBe('model_not_found')
  })
})

describe('a faster tier', () => {
  const fastPrices = (prompt: string, completion: string) => {
    const fast = upstreamRow({ id: 'acme/sage-pro-fast', pricing: { prompt, completion } })
    const { catalog } = stocked({ rows: [upstreamRow(), fast] })
    expect(catalog.offerFor('acme/sage-pro-fast', 'chat').fastPrices).toBeNull()
    return catalog.offerFor('acme/sage-pro', 'chat').fastPrices
  }

  test('has the prices of the model that is listed with `-fast` after its name', () => {
    expect(fastPrices('0.00003', '0.00015')).toMatchObject({
      input: 30_000_000n,
      output: 150_000_000n,
    })
  })

  test('is not a cheaper model of that name', () => {
    expect(fastPrices('0.0000002', '0.00015')).toBeNull()
    expect(fastPrices('0.00003', '0.0000005')).toBeNull()
  })

  test('is gone once it is no longer listed', () => {
    const rows = [upstreamRow(), upstreamRow({ id: 'acme/sage-pro-fast' })]
    const { catalog } = stocked({ rows })
    expect(catalog.offerFor('acme/sage-pro', 'chat').fastPrices).not.toBeNull()
    catalog.replace(
      'openrouter',
      catalog.rows().filter(({ offer }) => offer.modelId === 'acme/sage-pro'),
    )
    expect(catalog.offerFor('acme/sage-pro', 'chat').fastPrices).toBeNull()
  })
})

test("a listed model has the fields that OpenRouter's own SDK requires, even if the vendor gives none", () => {
  const bare = upstreamRow({ canonical_slug: null, description: null })
  const { catalog } = stocked({ rows: [bare] })
  expect(listOf(catalog)).toMatchObject({
    total_count: 1,
    links: { next: null },
    data: [
      {
        canonical_slug: 'acme/sage-pro',
        description: '',
        default_parameters: null,
        per_request_limits: null,
        supported_voices: null,
        links: { details: '/v1/models/acme/sage-pro' },
        architecture: { tokenizer: expect.any(String) },
      },
    ],
  })
})

describe('the charged prices', () => {
  const pricing = {
    prompt: '0.000003',
    completion: '0.000015',
    web_search: '0',
    overrides: [{ min_prompt_tokens: 200_000, utc_days: ['mon'], prompt: '0.0000060001' }],
  }
  const charged = {
    prompt: '0.00000315',
    completion: '0.00001575',
    web_search: '0',
    overrides: [{ min_prompt_tokens: 200_000, utc_days: ['mon'], prompt: '0.000006300105' }],
  }

  test("are exactly the provider's prices with the fee, listed next to the provider's", () => {
    const { catalog } = stocked({ rows: [upstreamRow({ pricing })] })
    expect(listed(catalog, 'acme/sage-pro')).toMatchObject({ pricing, charged_pricing: charged })
  })

  test('have the fee of the account that asks', () => {
    const { catalog } = stocked({ rows: [upstreamRow({ pricing })] })
    expect(listed(catalog, 'acme/sage-pro', 0)?.charged_pricing).toEqual(pricing)
    expect(listed(catalog, 'acme/sage-pro', 10_000)?.charged_pricing['prompt']).toBe('0.000006')
  })

  test("replace the provider's prices if a reseller lists no others", () => {
    const { catalog } = stocked({ rows: [upstreamRow({ pricing })], pricesListed: 'charged' })
    expect(listed(catalog, 'acme/sage-pro')).toMatchObject({
      pricing: charged,
      charged_pricing: charged,
    })
    expect(listed(catalog, 'acme/sage-pro', 0)?.pricing).toEqual(pricing)
  })
})
