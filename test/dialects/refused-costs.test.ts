import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { COUNTED_DIALECTS, refusalOf } from '../../src/upstreams/testing/refused-fields.ts'

const DOCUMENT = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')
const [, SECTION = ''] = /^## What vendors bill$(.*?)^## /ms.exec(DOCUMENT) ?? []

/** The fields in the last column of the table that are a cost: `store: true`, or a field with any value. */
const REFUSED = SECTION.split('\n')
  .filter((line) => line.startsWith('| '))
  .flatMap((line) => [...(line.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)])
  .map(([, field = '']) => field)
  .filter((field) => field !== 'tools')

/** A body with this field alone. */
function bodyWith(field: string): object {
  const [path = '', text = '{}'] = field.split(': ')
  const value: unknown =
    text === 'true' ? true : text === '{}' ? {} : path === 'modalities' ? [text] : text
  return path
    .split('.')
    .toReversed()
    .reduce<unknown>((inner, name) => ({ [name]: inner }), value) as object
}

describe('docs/upstreams.md: a cost that the answer does not show is refused', () => {
  test('the table names such fields', () => {
    expect(REFUSED.length).toBeGreaterThan(15)
  })

  test('a cap of messages above the longest answer, which a beta header can lift', () => {
    for (const dialect of ['anthropic', 'openai-compatible'] as const) {
      const ofCap = (max_tokens: number) =>
        refusalOf({ dialect, format: 'messages', fields: { max_tokens } })
      expect(ofCap(4_097)?.code, dialect).toBe('invalid_parameter')
      expect(ofCap(4_096), dialect).toBeNull()
    }
  })

  test.each(REFUSED)('%s', (field) => {
    for (const [dialect, { wires }] of Object.entries(COUNTED_DIALECTS)) {
      for (const format of wires.keys()) {
        const refusal = refusalOf({
          dialect: dialect as keyof typeof COUNTED_DIALECTS,
          format,
          fields: bodyWith(field),
        })
        expect(refusal, `${dialect} ${format}`).not.toBeNull()
      }
    }
  })
})
