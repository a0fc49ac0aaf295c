import { expect, test } from 'vitest'
import { NearModels } from './near-models.ts'

const IDS = [
  'openai/gpt-4o',
  'openai/gpt-4o-mini',
  'openai/o3',
  'openai/gpt-4.1',
  'openai/gpt-4.1-mini',
  'openai/text-embedding-3-small',
  'anthropic/claude-sonnet-4.5',
  'anthropic/claude-opus-4.5',
  'meta-llama/llama-3.1-8b-instruct',
  'meta-llama/llama-3.1-8b-instruct:free',
]
const models = new NearModels(IDS)

test.each([
  ['gpt-4o-mni', ['openai/gpt-4o-mini']],
  ['openai/gpt-4o-mni', ['openai/gpt-4o-mini']],
  ['opnai/gpt-4o-mni', ['openai/gpt-4o-mini']],
  ['openai/gpt-4o-mini/', ['openai/gpt-4o-mini']],
  ['gpt-4o-mni[1m]', ['openai/gpt-4o-mini']],
  ['GPT4O-MINNI-20240718', ['openai/gpt-4o-mini']],
  ['text-embeding-3-smal', ['openai/text-embedding-3-small']],
  ['claude-sonet-4-5', ['anthropic/claude-sonnet-4.5']],
  ['llama-3.1-8b-instruct:fre', ['meta-llama/llama-3.1-8b-instruct:free']],
  ['openai/gpt-4.2', ['openai/gpt-4o', 'openai/gpt-4.1']],
])('%s is near %j', (name, ids) => {
  expect(models.find(name)).toEqual(ids)
})

test.each(['', '/', 'openai', 'gpt', 'o4', 'mistral-large', 'acme/nothing', 'llama:free', '中文'])(
  '%j is near no model',
  (name) => {
    expect(models.find(name)).toEqual([])
  },
)

test('a name that only its author or its date sets apart has no other suggestion', () => {
  expect(models.find('azure/gpt-4.1-latest')).toEqual(['openai/gpt-4.1'])
})

test('no more than three are suggested', () => {
  const many = new NearModels(['a', 'b', 'c', 'd'].map((end) => `acme/sage-pro-${end}`))
  expect(many.find('acme/sage-pro-x')).toEqual([
    'acme/sage-pro-a',
    'acme/sage-pro-b',
    'acme/sage-pro-c',
  ])
})

test('no more than some hundred names are compared for one, so that its time is bounded', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh'
  const anagrams = (count: number) =>
    Array.from(
      { length: count },
      (_, at) => `acme/${letters.slice(at % 60)}${letters.slice(0, at % 60)}`,
    )
  const name = [...letters].toReversed().join('')
  const last = `acme/${name.slice(1)}`
  const compared = (count: number) => new NearModels([...anagrams(count), last]).find(`x${name}`)
  expect(compared(4)).toEqual([last])
  expect(compared(4_000)).toEqual([])
})
