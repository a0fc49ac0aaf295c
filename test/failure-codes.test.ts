import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { UNREPORTED_FAILURES } from '../src/vocabulary/problem.ts'

test('every failure that no client sees is explained in docs/errors.md', () => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
  const explained = [...page.matchAll(/^- `(\w+)`: /gm)].map(([, code]) => code)
  expect(explained).toEqual([...UNREPORTED_FAILURES])
})
