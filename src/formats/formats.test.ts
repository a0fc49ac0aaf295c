import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FORMATS } from './formats.ts'

const MIB = 1024 * 1024

test.each([
  ['/v1/chat/completions', 'chat', '/chat/completions', 'openai', 32 * MIB, true],
  ['/v1/completions', 'completions', '/completions', 'openai', 32 * MIB, true],
  ['/v1/messages', 'messages', '/messages', 'messages', 32 * MIB, true],
  ['/v1/responses', 'responses', '/responses', 'openai', 32 * MIB, true],
  ['/v1/embeddings', 'embeddings', '/embeddings', 'openai', 32 * MIB, true],
  ['/v1/images', 'images', '/images', 'openai', 64 * MIB, false],
])('%s is %s', (path, endpoint, upstreamPath, family, bodyBytesMax, hasGenerationId) => {
  expect(FORMATS.find((format) => format.path === path)).toMatchObject({
    path,
    endpoint,
    upstreamPath,
    family,
    bodyBytesMax,
    hasGenerationId,
  })
})

test('every file of a format has its line in the table', () => {
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
