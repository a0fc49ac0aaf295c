import { expect, test } from 'vitest'
import { parseEventData } from './event-data.ts'

test.each([
  ['{"id":"a","error":{"message":"x"},"error":null}'],
  ['{"choices":[{"\\u0065rror":"x","error":null}]}'],
])('an event that hides an error behind a second one can not be read: %s', (data) => {
  expect(parseEventData(data)).toBeNull()
})

test('an event may have an error in each of several objects', () => {
  const data = '{"error":null,"choices":[{"error":null},{"delta":{"content":"\\"error\\":1"}}]}'
  expect(parseEventData(data)).toEqual(JSON.parse(data))
})
