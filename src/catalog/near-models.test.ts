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

/** Models without aliases. */
const modelsOf = (ids: readonly string[]) => new NearModels(ids.map((id) => [id, id] as const))
const models = modelsOf(IDS)

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
  expect(models.find(name, null)).toEqual(ids)
})

test.each(['', '/', 'openai', 'gpt', 'o4', 'mistral-large', 'acme/nothing', 'llama:free', '中文'])(
  '%j is near no model',
  (name) => {
    expect(models.find(name, null)).toEqual([])
  },
)

test('a name that only its author or its date sets apart has no other suggestion', () => {
  expect(models.find('azure/gpt-4.1-latest', null)).toEqual(['openai/gpt-4.1'])
})

test('no more than three are suggested', () => {
  const many = modelsOf(['a', 'b', 'c', 'd'].map((end) => `acme/sage-pro-${end}`))
  expect(many.find('acme/sage-pro-x', null)).toEqual([
    'acme/sage-pro-a',
    'acme/sage-pro-b',
    'acme/sage-pro-c',
  ])
})

test('only models that the sender may use are suggested, and the next near ones in place of others', () => {
  const all = modelsOf(['one/sage-pro', 'two/sage-pro', 'acme/gpt-4.2', 'acme/gpt-4.3'])
  const only = (...ids: readonly string[]) => ({ mayUse: (id: string) => ids.includes(id) })
  expect(all.find('sage-pro', only('two/sage-pro'))).toEqual(['two/sage-pro'])
  expect(all.find('acme/gpt-4.1', only('acme/gpt-4.3'))).toEqual(['acme/gpt-4.3'])
  expect(all.find('sage-pro', only('acme/gpt-4.3'))).toEqual([])
})

test('an alias is suggested, once for each model', () => {
  const named = new NearModels([
    ['acme/large-model', 'acme/large-model'],
    ['workhorse', 'acme/large-model'],
    ['workhorses', 'acme/large-model'],
  ])
  expect(named.find('workhors', null)).toEqual(['workhorse'])
  const access = { mayUse: () => false }
  expect(named.find('workhors', access)).toEqual([])
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
  const compared = (count: number) => modelsOf([...anagrams(count), last]).find(`x${name}`, null)
  expect(compared(4)).toEqual([last])
  expect(compared(4_000)).toEqual([])
})
