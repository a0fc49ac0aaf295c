import { expect, test } from 'vitest'
import { searchResultTokens } from './search-size.ts'

test.each<[string, Parameters<typeof searchResultTokens>[0], number]>([
  ['without settings', [{ type: 'web_search' }], 8_000],
  ['where small ones are asked for', [{ max_results: 1, search_context_size: 'low' }], 8_000],
  ['where nothing is known of the searches', [], 8_000],
  // 5 results × 15,000 characters / 3
  ['of a medium size, for each result', [{ search_context_size: 'medium' }], 25_000],
  ['of a high one', [{ search_context_size: 'high' }], 50_000],
  ['of a size that is not known', [{ search_context_size: 'huge' }], 166_667],
  ['by more results', [{ max_results: 12 }], 16_000],
  [
    'by characters a result, whatever the size',
    [{ search_context_size: 'high', max_characters: 6_000 }],
    10_000,
  ],
  [
    'in the place where the aggregator reads them',
    [{ parameters: { max_results: 25, max_characters: 100_000 } }],
    833_334,
  ],
  ['within the bounds of the upstream', [{ max_results: 1e300, max_characters: 1e300 }], 833_334],
  ['of settings that are no numbers', [{ max_results: '2', max_characters: [] }], 833_334],
  ['of settings that are null, as if left out', [{ max_results: null }], 8_000],
  ['by the largest search of several', [{}, { search_context_size: 'medium' }, {}], 25_000],
])('search results are sized %s', (_, searches, tokens) => {
  expect(searchResultTokens(searches)).toBe(tokens)
})
