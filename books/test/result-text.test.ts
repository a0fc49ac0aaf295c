import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resultText } from '../report.ts'

const RESULTS = join(import.meta.dirname, '..', 'results')

test.each(readdirSync(RESULTS))('%s has each request on a line, as a run writes it', (name) => {
  const text = readFileSync(join(RESULTS, name), 'utf8')
  expect(resultText(JSON.parse(text))).toBe(text)
})

test('a result is read back as it was, with any texts', () => {
  const words = 'a "quoted" {"id": 1}\n  line'
  const requests = [
    { id: 'race-1-1', status: 200, billed: 3_500 },
    { id: words, status: null, billed: 0 },
  ]
  const text = resultText({ words, requests, id: 'x', last: [{ id: 'y', of: ['z'] }] })
  expect(JSON.parse(text)).toEqual({ words, requests, id: 'x', last: [{ id: 'y', of: ['z'] }] })
  expect(text).toContain('\n  { "id": "race-1-1", "status": 200, "billed": 3500 },\n')
})
