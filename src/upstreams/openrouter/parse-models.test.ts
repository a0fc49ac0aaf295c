import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CatalogRefused, parseModels } from './catalog.ts'
import { LISTING_SETTINGS, upstreamList, upstreamRow } from './testing/upstream-list.ts'

const parse = (...rows: readonly unknown[]) => parseModels(upstreamList(...rows), LISTING_SETTINGS)

/** A list whose only row is skipped is refused, so each list here has another row. */
const anchor = upstreamRow({ id: 'anchor/model', canonical_slug: 'anchor/model' })

const idsOf = (...rows: readonly unknown[]) =>
  parse(anchor, ...rows)
    .models.map(({ offer }) => offer.modelId)
    .filter((id) => id !== 'anchor/model')

describe('an id that is listed twice', () => {
  test('is not offered if its rows disagree on its price', () => {
    const expensive = upstreamRow({ pricing: { prompt: '1', completion: '1' } })
    expect(idsOf(upstreamRow(), expensive)).toEqual([])
    expect(parse(anchor, upstreamRow(), expensive).unreadableIds).toEqual(
      new Set(['acme/sage-pro']),
    )
  })

  test.each<[string, object]>([
    ['window', { context_length: 1_000 }],
    ['longest answer', { top_provider: { context_length: 1_000_000, max_completion_tokens: 1 } }],
  ])('is not offered if its rows disagree on its %s', (_, changes) => {
    expect(idsOf(upstreamRow(), upstreamRow({ ...changes }))).toEqual([])
  })

  test('is offered once if they agree', () => {
    expect(idsOf(upstreamRow(), upstreamRow())).toEqual(['acme/sage-pro'])
  })
})

test('an unreadable row differs from one that is not offered', () => {
  const parsed = parse(
    anchor,
    upstreamRow({ context_length: 'x' }),
    upstreamRow({ id: 'acme/auto', pricing: { prompt: '-1', completion: '-1' } }),
  )
  expect(parsed.unreadableIds).toEqual(new Set(['acme/sage-pro']))
  expect(parsed.skipped).toEqual([
    { modelId: 'acme/sage-pro', why: '`context_length` is not a token count' },
    { modelId: 'acme/auto', why: 'its price `prompt` is negative, so it varies' },
  ])
})

describe('other names', () => {
  const aliasesOf = (id: string, ...rows: readonly unknown[]) =>
    parse(anchor, ...rows).models.find(({ offer }) => offer.modelId === id)?.aliases

  test('are the canonical slug and the aliases of the id or the slug', () => {
    const alias = (id: string, slug: string) =>
      upstreamRow({ id, alias_target: { name: 'Sage', slug } })
    expect(
      aliasesOf(
        'acme/sage-pro',
        alias('~acme/sage-latest', 'acme/sage-pro'),
        upstreamRow(),
        alias('~acme/sage-newest', 'acme/sage-pro-20260901'),
        alias('~acme/lost', 'acme/nowhere'),
      ),
    ).toEqual(['acme/sage-pro-20260901', '~acme/sage-latest', '~acme/sage-newest'])
  })

  test('do not exist for an ID with a suffix, because its slug is that of the model without the suffix', () => {
    const free = upstreamRow({
      id: 'acme/sage-pro:free',
      pricing: { prompt: '0', completion: '0' },
    })
    expect(aliasesOf('acme/sage-pro:free', free)).toEqual([])
    expect(aliasesOf('acme/sage-pro', free, upstreamRow())).toEqual(['acme/sage-pro-20260901'])
  })

  test('that two models share belong to neither', () => {
    const twin = upstreamRow({ id: 'acme/twin' })
    expect(aliasesOf('acme/twin', upstreamRow(), twin)).toEqual([])
    expect(aliasesOf('acme/sage-pro', upstreamRow(), twin)).toEqual([])
  })
})

describe('a list is refused as a whole', () => {
  test.each<[string, unknown]>([
    ['that is nothing', undefined],
    ['that is null', null],
    ['that is text', 'data'],
    ['that is a bare array', [upstreamRow()]],
    ['that is an error', { error: { message: 'no', code: 500 } }],
    ['whose data is an object', { data: { 0: upstreamRow() } }],
    ['that is empty', { data: [] }],
    [
      'of routers alone',
      upstreamList(upstreamRow({ pricing: { prompt: '-1', completion: '-1' } })),
    ],
  ])('%s', (_, answer) => {
    expect(() => parseModels(answer, LISTING_SETTINGS)).toThrow(CatalogRefused)
  })
})

test('a list without a model on sale is refused with the first three rows and why', () => {
  const rows = ['acme/one', 'acme/two', 'acme/three', 'acme/four'].map((id) =>
    upstreamRow({ id, canonical_slug: id, pricing: { completion: '0.1' } }),
  )
  const refusal = () => parse(...rows)
  expect(refusal).toThrow(CatalogRefused)
  expect(refusal).toThrow(
    /^the list has no model that can be offered: acme\/one: [^,]+, acme\/two: [^,]+, acme\/three: [^,]+, and so on$/,
  )
  expect(() => parse(upstreamRow({ id: 7 }))).toThrow(/offered: a row without an ID: /)
})

test("a list without prices, such as Ollama's, is refused with the dialect that its server speaks", () => {
  const data = [{ id: 'gpt-oss:20b', object: 'model', created: 1, owned_by: 'library' }]
  expect(() => parseModels({ data }, LISTING_SETTINGS)).toThrow(
    /^the upstream lists models without prices, .* the dialect openai-compatible in the file of TOLLGATE_UPSTREAMS/,
  )
})

describe('any answer of the upstream', () => {
  /** Whether it was read or refused; any other error fails the test. */
  const readOrRefused = (answer: unknown): boolean => {
    try {
      parseModels(answer, LISTING_SETTINGS)
      return true
    } catch (error) {
      if (error instanceof CatalogRefused) return false
      throw error
    }
  }
  const path = fc.constantFrom<readonly string[]>(
    ...Object.keys(upstreamRow()).map((key) => [key]),
    ...['prompt', 'completion', 'overrides', 'discount', 'image'].map((key) => ['pricing', key]),
    ...['input_modalities', 'output_modalities', 'modality'].map((key) => ['architecture', key]),
    ['top_provider', 'context_length'],
    ['top_provider', 'max_completion_tokens'],
    ['alias_target'],
    ['alias_target', 'slug'],
  )
  const damagedRow = fc.tuple(path, fc.jsonValue()).map(([[outer = '', inner], value]) => {
    const row = upstreamRow()
    if (inner === undefined) return { ...row, [outer]: value }
    return { ...row, [outer]: { ...Object(row[outer]), [inner]: value } }
  })

  test('is read or refused, without any other error', () => {
    const answers = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.jsonValue()).map((data) => ({ data })),
    )
    fc.assert(
      fc.property(answers, (answer) => {
        expect(() => readOrRefused(answer)).not.toThrow()
      }),
      { numRuns: 200 },
    )
  })

  test('with a damaged row still has its other rows', () => {
    fc.assert(
      fc.property(fc.array(damagedRow), (rows) => {
        const { models } = parse(...rows, anchor)
        expect(models.map(({ offer }) => offer.modelId)).toContain('anchor/model')
      }),
      { numRuns: 500 },
    )
  })

  test('has no offer with a negative price or a tier that is cheaper than a lower one', () => {
    const price = fc.oneof(
      fc.double({ min: -1e-6, max: 1, noNaN: true }).map(String),
      fc.constantFrom('0', '-1', '1e-9', '0.00001', 'x'),
    )
    const prices = {
      prompt: price,
      completion: price,
      input_cache_read: price,
      input_cache_write: price,
    }
    const override = fc.record(
      { ...prices, min_prompt_tokens: fc.nat(1_000) },
      { requiredKeys: [] },
    )
    const pricing = fc.record(
      { ...prices, overrides: fc.array(override, { maxLength: 4 }) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(pricing, (some) => {
        for (const { offer } of parse(anchor, upstreamRow({ pricing: some })).models) {
          let below = offer.prices.input
          expect(below >= 0n && offer.prices.output >= 0n).toBe(true)
          for (const tier of offer.prices.tiers) {
            expect(tier.input >= below).toBe(true)
            below = tier.input
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('with a hundred thousand broken rows is skipped row by row', () => {
    const rows = Array.from({ length: 100_000 }, (_, i) =>
      upstreamRow({ id: `acme/m${i}`, pricing: { prompt: '1' } }),
    )
    const parsed = parseModels({ data: [anchor, ...rows] }, LISTING_SETTINGS)
    expect([parsed.models.length, parsed.skipped.length]).toEqual([1, 100_000])
  })
})
