import { describe, expect, test } from 'vitest'
import type { Model } from '../../api/answers.ts'
import { matchingModels, vendorName, vendorsOf } from './model-list.ts'

function model(id: string, part: Partial<Model> = {}): Model {
  return {
    id,
    object: 'model',
    name: id,
    description: '',
    hugging_face_id: '',
    open_weights: false,
    context_length: 8_000,
    endpoints: ['chat'],
    supported_parameters: [],
    pricing: { prompt: '0.000001', completion: '0.000002' },
    top_provider: { max_completion_tokens: null },
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
    created: 0,
    ...part,
  }
}

const LARGE = model('acme/large', {
  context_length: 1_000_000,
  created: 3,
  supported_parameters: ['tools'],
})
const SMALL = model('acme/small', {
  pricing: { prompt: '0.0000001' },
  // Settings can call the weights open of a model that has no ID at Hugging Face.
  open_weights: true,
})
const DRAWS = model('brush/draw', {
  pricing: { image: '0.04' },
  architecture: { input_modalities: ['text'], output_modalities: ['image'] },
})
const ALL = [LARGE, SMALL, DRAWS]
const USES = new Map([['brush/draw', { requests: 4, chargeMicros: 1, firstByteMs: null }]])
const ids = (search: Parameters<typeof matchingModels>[1]) =>
  matchingModels(ALL, search, USES).map(({ id }) => id)

describe('models', () => {
  test.each([
    [{}, ['brush/draw', 'acme/large', 'acme/small']],
    [{ sort: 'name' }, ['acme/large', 'acme/small', 'brush/draw']],
    [{ sort: 'price' }, ['acme/small', 'acme/large', 'brush/draw']],
    [{ sort: 'context' }, ['acme/large', 'acme/small', 'brush/draw']],
    [{ sort: 'newest' }, ['acme/large', 'acme/small', 'brush/draw']],
    [{ vendor: 'brush' }, ['brush/draw']],
    [{ writes: 'image' }, ['brush/draw']],
    [{ open: true }, ['acme/small']],
    [{ context: 32_000 }, ['acme/large']],
    [{ supports: ['tools'] }, ['acme/large']],
    [{ find: 'SMA' }, ['acme/small']],
  ] as const)('of the search %j are %j', (search, found) => {
    expect(ids(search)).toEqual(found)
  })

  test('have a chip for each vendor with two of them', () => {
    expect(vendorsOf(ALL)).toEqual(['acme'])
  })

  test.each([
    ['openai', 'OpenAI'],
    ['anthropic', 'Anthropic'],
    ['black-forest', 'Black Forest'],
  ])('of the vendor %s have the chip %s', (vendor, name) => {
    expect(vendorName(vendor)).toBe(name)
  })
})
