import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { SAMPLES } from '../checks/charges.ts'
import { promptOf, readScript, scriptOf, wordAt, wordsOf } from './script.ts'

test('a prompt comes to about the tokens that its script says', () => {
  for (const tokens of [100, 1_000, 40_000]) {
    const text = promptOf(scriptOf('race-key-1-17', { in: tokens, wait: 1_000 }))
    expect(Math.abs(encode(text).length - tokens)).toBeLessThanOrEqual(5)
  }
})

test('each word of an answer is one token', () => {
  for (let index = 0; index < 9; index++) expect(encode(wordAt(index))).toHaveLength(1)
  expect(encode(wordsOf(50))).toHaveLength(50)
})

test.each(SAMPLES)('the tokens of the sample in $language are counted', ({ text, tokens }) => {
  expect(encode(text)).toHaveLength(tokens)
})

test('a script is read from any text that has it, and nothing else is taken for one', () => {
  const script = scriptOf('drift-1-2', { in: 1, out: 1, fault: 'drop', after: 10 })
  expect(readScript(`before ${promptOf(script)} {"after": {}}`)).toEqual(script)
  for (const text of [
    '',
    'books:',
    'books:{',
    'books:{"out":1}',
    'books:{"id":"a","fault":"no"}',
    'books:{"id":"a","x":1}',
  ])
    expect(readScript(text)).toBeNull()
})
