import { expect, test } from 'vitest'
import { parseEventData } from './body.ts'

test.each([
  ['{"id":"a","error":{"message":"x"},"error":null}'],
  ['{"choices":[{"\\u0065rror":"x","error":null}]}'],
])('an event that hides an error behind a second one cannot be read: %s', (data) => {
  expect(parseEventData(data)).toBeNull()
})

test('an event may have an error in each of several objects', () => {
  const data = '{"error":null,"choices":[{"error":null},{"delta":{"content":"\\"error\\":1"}}]}'
  expect(parseEventData(data)).toEqual(JSON.parse(data))
})

test.each([
  ['values', `{"a":[${'{},'.repeat(2_000_000)}0]}`],
  ['levels', `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
])('an event of more %s than a body may have cannot be read', (_, data) => {
  expect(parseEventData(data)).toBeNull()
})

test('an event of one long text is read', () => {
  const text = 'x'.repeat(8 * 1024 * 1024)
  expect(parseEventData(`{"b64_json":"${text}"}`)?.['b64_json']).toHaveLength(text.length)
})
