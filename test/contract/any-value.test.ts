import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { DIALECT, ROWS, SERVED_FORMATS } from './rows.ts'

let apiKey: string

const world = worldOfFile(() => ({
  formats: SERVED_FORMATS,
  ...(DIALECT === undefined ? {} : { dialect: DIALECT }),
  settings: { TOLLGATE_REQUESTS_PER_MINUTE: '100000' },
}))
beforeAll(async () => {
  apiKey = (await world.account({ creditMicros: 1_000_000_000 })).apiKey
})

const NAMES =
  `model messages system instructions input prompt tools tool_choice functions plugins provider metadata stop n
  stream stream_options max_tokens max_completion_tokens max_output_tokens max_tool_calls reasoning thinking prediction
  modalities service_tier response_format text context_management web_search_options store size input_references
  encoding_format dimensions user cache_control __proto__ constructor toString Stream`.split(/\s+/)

/** The sources of values that no field has. */
const VALUES = [
  ...['null', 'true', '0', '-0', '-1', '1.5', '1e400', '1e-400', '9007199254740993', '""', '"a"'],
  ...['"\\ud800"', '"\\u0000"', '"__proto__"', '[]', '[[]]', '[null]', '[1]', '[{}]', '{}'],
  ...['{"__proto__":{"a":1}}', '{"type":[]}', '{"type":"web_search"}', '[{"type":"function"}]'],
  ...['[{"type":"web_search","max_uses":1e400}]', '[{"type":"function","function":null}]'],
  ...['[{"role":null,"content":null}]', '[{"role":"user","content":{}}]', '{"enabled":{}}'],
  ...['[{"role":"user","content":[{"type":"image_url","image_url":null}]}]', '{"effort":1e999}'],
  ...['[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":7}}]}]'],
  ...['[{"role":"user","content":[{"type":"file","file":{"file_data":[]}}]}]', '"a",'.repeat(9)],
  ...['['.repeat(600) + ']'.repeat(600), '{"a":'.repeat(600), `[${'{},'.repeat(2_000)}{}]`],
]

describe.each(ROWS)('$endpoint', (row) => {
  test('any field with any value is answered, or refused in the envelope of the format', async () => {
    const field = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES))
    await fc.assert(
      fc.asyncProperty(fc.array(field, { minLength: 1, maxLength: 3 }), async (fields) => {
        const given = new Map(
          Object.entries(row.body).map(([name, value]) => [name, JSON.stringify(value)]),
        )
        for (const [name, value] of fields) given.set(name, value)
        const members = [...given].map(([name, value]) => `${JSON.stringify(name)}:${value}`)
        const answer = await world.send(apiKey, `{${members.join()}}`, row.path)
        const text = await answer.text()
        expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
        expect(answer.status).toBeLessThan(500)
        expect(text).not.toMatch(/\.ts:|node_modules|upstream-key/)
        if (answer.status < 400) return
        const isMessages = row.family === 'messages'
        expect(JSON.parse(text)).toMatchObject({
          ...(isMessages ? { type: 'error' } : {}),
          error: { type: expect.any(String), message: expect.any(String) },
        })
      }),
      { numRuns: 60 },
    )
    await world.expectExactLedger()
  })
})
