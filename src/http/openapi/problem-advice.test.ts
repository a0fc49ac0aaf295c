import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ADVICE } from './problem-advice.ts'

const PAGE = join(import.meta.dirname, '..', '..', '..', 'docs', 'errors.md')

test('the advice on every problem is what docs/errors.md says, in its order', () => {
  const cells = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | '))
  const told = cells.map((row) => [
    row[0]?.replace(/[|` ]/g, ''),
    { meaning: row[4], remedy: row[5]?.replace(/ \|$/, '') },
  ])
  expect(told).toEqual(Object.entries(ADVICE))
})
