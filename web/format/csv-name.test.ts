import { expect, test } from 'vitest'
import { csvName } from './csv-name.ts'

const OCTOBER = { from: '2026-10-01T00:00:00Z', to: '2026-11-01T00:00:00Z' }

test('a CSV file is named by its account, the first and the last day of its range, and its grouping', () => {
  expect(csvName({ kind: 'usage', of: 'Northwind Robotics', ...OCTOBER, by: 'model' })).toBe(
    'usage-northwind-robotics-2026-10-01-to-2026-10-31-by-model.csv',
  )
})

test('a range of one day is named once', () => {
  const day = { from: '2026-10-01T00:00:00Z', to: '2026-10-01T18:00:00Z' }
  expect(csvName({ kind: 'statement', of: 'all accounts', ...day })).toBe(
    'statement-all-accounts-2026-10-01.csv',
  )
})

test('characters that file systems refuse are left out of the name of a file', () => {
  expect(csvName({ kind: 'usage', of: '../Müller & Söhne: "Lab"/\u202e', ...OCTOBER })).toBe(
    'usage-müller-söhne-lab-2026-10-01-to-2026-10-31.csv',
  )
})
