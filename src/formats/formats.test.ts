import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FORMATS } from './formats.ts'

const MIB = 1024 * 1024

test.each([
  ['/v1/chat/completions', 'chat', 'openai', 32 * MIB],
  ['/v1/completions', 'completions', 'openai', 32 * MIB],
  ['/v1/messages', 'messages', 'messages', 32 * MIB],
  ['/v1/responses', 'responses', 'openai', 32 * MIB],
  ['/v1/embeddings', 'embeddings', 'openai', 32 * MIB],
  ['/v1/images', 'images', 'openai', 64 * MIB],
])('%s is %s', (path, endpoint, family, bodyBytesMax) => {
  expect(FORMATS.find((format) => format.path === path)).toMatchObject({
    path,
    endpoint,
    family,
    bodyBytesMax,
  })
})

test("every format's file is in the table", () => {
  const formats = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .filter((name) =>
      /^export const \w+: WireFormat = /m.test(
        readFileSync(join(import.meta.dirname, name), 'utf8'),
      ),
    )
    .map((name) => name.slice(0, -3))
  expect(FORMATS.map(({ endpoint }): string => endpoint).toSorted()).toEqual(formats.toSorted())
})
