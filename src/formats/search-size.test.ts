import { expect, test } from 'vitest'
import { searchResultTokens } from './tools.ts'

test.each<[string, Parameters<typeof searchResultTokens>[0], number]>([
  ['without settings', [{ type: 'web_search' }], 8_000],
  ['with small ones requested', [{ max_results: 1, search_context_size: 'low' }], 8_000],
  ['without any search', [], 8_000],
  // 5 results × 15,000 characters / 3
  ['of a medium size, for each result', [{ search_context_size: 'medium' }], 25_000],
  ['of a high size', [{ search_context_size: 'high' }], 50_000],
  ['of an unknown size', [{ search_context_size: 'huge' }], 166_667],
  ['with more results', [{ max_results: 12 }], 16_000],
  [
    'with characters set, over any size',
    [{ search_context_size: 'high', max_characters: 6_000 }],
    10_000,
  ],
  ['in `parameters`', [{ parameters: { max_results: 25, max_characters: 100_000 } }], 833_334],
  ['within the bounds of the upstream', [{ max_results: 1e300, max_characters: 1e300 }], 833_334],
  ['with settings that are not numbers', [{ max_results: '2', max_characters: [] }], 833_334],
  ['with settings below zero', [{ max_results: -1, max_characters: -1 }], 833_334],
  ['with null as absent', [{ max_results: null }], 8_000],
  ['at the largest of several searches', [{}, { search_context_size: 'medium' }, {}], 25_000],
])('search results are sized %s', (_, searches, tokens) => {
  expect(searchResultTokens(searches)).toBe(tokens)
})
