import { expect, test } from 'vitest'
import { refusalWords } from './refusal-words.ts'

test.each([
  [
    'This request needs a hold of $0.30. With `max_tokens` of at most 1,200 it fits.',
    'This request needs a hold of $0.30. With an output cap of at most 1,200 it fits.',
  ],
  ['`max_output_tokens` must be at least 16.', 'The output cap must be at least 16.'],
  [
    'Set the length of the answer in `max_completion_tokens`.',
    'Set the length of the answer in the output cap.',
  ],
  ['This model takes no `temperature`.', 'This model takes no `temperature`.'],
])('a refusal names the output cap as the page does: %s', (message, words) => {
  expect(refusalWords(message)).toBe(words)
})
