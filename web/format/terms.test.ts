import { expect, test } from 'vitest'
import {
  changedTerms,
  hasTerms,
  modelsText,
  NO_TERMS,
  readTerms,
  type Terms,
  typedTerms,
} from './terms.ts'

const TERMS: Terms = {
  models: { allow: ['acme/*', 'qwen/qwen4-coder'], deny: ['acme/sage-pro'] },
  allowance: { amount: 20_500_000, period: 'week', time_zone: 'Europe/Berlin' },
  limits: { requests_per_minute: 60, in_flight: null, tokens_per_minute: 1_000_000 },
}

test('terms that are typed as they are shown are the same terms', () => {
  for (const terms of [TERMS, NO_TERMS]) {
    const read = readTerms(typedTerms(terms, 'UTC'))
    expect(read).toEqual({ terms, faults: null })
    expect(changedTerms(terms, read.terms ?? NO_TERMS)).toEqual({})
    expect(hasTerms(terms)).toBe(terms === TERMS)
  }
})

test('lists are read with commas, spaces and lines between their models', () => {
  const typed = { ...typedTerms(NO_TERMS, 'UTC'), allow: ' acme/*,b/c\n\nd/e , ' }
  expect(readTerms(typed).terms?.models).toEqual({ allow: ['acme/*', 'b/c', 'd/e'], deny: [] })
})

test.each([
  ['amount', 'ten'],
  ['amount', '-5'],
  ['requests_per_minute', '0'],
  ['in_flight', '1.5'],
  ['tokens_per_minute', 'many'],
] as const)('%s is no %j', (field, text) => {
  const typed = { ...typedTerms(TERMS, 'UTC'), [field]: text }
  expect(readTerms(typed)).toEqual({ terms: null, faults: { [field]: expect.any(String) } })
})

test('untouched fields are not sent, and emptied fields are removed', () => {
  const typed = { ...typedTerms(TERMS, 'UTC'), amount: '', tokens_per_minute: '' }
  expect(changedTerms(TERMS, readTerms(typed).terms ?? TERMS)).toEqual({
    allowance: null,
    limits: { tokens_per_minute: null },
  })
  const zone = { ...typedTerms(TERMS, 'UTC'), timeZone: 'UTC', allow: '', deny: '' }
  expect(changedTerms(TERMS, readTerms(zone).terms ?? TERMS)).toEqual({
    models: null,
    allowance: { amount: 20_500_000, period: 'week', time_zone: 'UTC' },
  })
})

test.for([
  [null, 'All'],
  [{ allow: [], deny: ['x-ai/*'] }, 'All but x-ai/*'],
  [{ allow: ['a/*', 'b/one', 'b/two'], deny: [] }, 'Only a/*, b/one and 1 more'],
  [{ allow: ['a/*'], deny: ['a/one'] }, 'Only a/* but not a/one'],
] as const)('the models that may be used are said in a few words: %j', ([models, text]) => {
  expect(modelsText(models)).toBe(text)
})
