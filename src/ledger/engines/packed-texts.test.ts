import { expect, test } from 'vitest'
import { PackedTexts, readText } from './packed-texts.ts'

test('every text that is kept is read as it was, across blocks and in one that is longer than a block', () => {
  const texts = new PackedTexts()
  const given = ['one', 'ünë 中文 🙂', 'a'.repeat(700_000), '', '中'.repeat(500_000), 'last']
  const kept = given.map((text) => texts.keep(text))
  expect(new Set(kept.map(({ block }) => block)).size).toBeGreaterThan(2)
  expect(kept.map(readText)).toEqual(given)
})
