import { expect, test } from 'vitest'
import { changedTerms, NO_TERMS, readTerms, type Terms, typedTerms } from './terms.ts'

const TERMS: Terms = {
  models: { allow: ['acme/*', 'qwen/qwen4-coder'], deny: ['acme/sage-pro'] },
}

test('terms that are typed as they are shown are the same terms', () => {
  for (const terms of [TERMS, NO_TERMS]) {
    const read = readTerms(typedTerms(terms))
    expect(read).toEqual(terms)
    expect(changedTerms(terms, read)).toEqual({})
  }
})

test('lists are read with commas, spaces and lines between their models', () => {
  const typed = { allow: ' acme/*,b/c\n\nd/e , ', deny: '' }
  expect(readTerms(typed)).toEqual({ models: { allow: ['acme/*', 'b/c', 'd/e'], deny: [] } })
})

test('what was emptied is taken away', () => {
  expect(changedTerms(TERMS, readTerms({ allow: '', deny: ' ' }))).toEqual({ models: null })
})
