import { expect, test } from 'vitest'
import { Lab } from './lab.ts'

test('a wait on a slow machine ends with a look that begins after its time is up', async () => {
  let looks = 0
  await Lab.prototype.until(() => ++looks === 9, -1)
  expect(looks).toBe(2)
})
