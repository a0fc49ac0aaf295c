import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DEFAULT_CATALOG_SETTINGS } from '../../catalog/catalog.ts'
import { DIALECTS } from '../../upstreams/dialects.ts'
import { meetVendorList } from '../../upstreams/listing/vendor-list.ts'
import { PATIENT_TIMEOUTS } from '../../upstreams/testing/upstream-settings.ts'
import { readUpstreamsFile } from './upstreams-file.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-upstreams-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('docs/upstreams.md and docs/moving.md', () => {
  const docs = join(import.meta.dirname, '../../../docs')
  const sections = ['upstreams.md', 'moving.md']
    .map((name) => readFileSync(join(docs, name), 'utf8'))
    .join('\n')
    .split(/^## /m)
    .flatMap((section): readonly (readonly [string, string])[] => {
      const [title = ''] = section.split('\n')
      const [, lines] = /```yaml\n(upstreams:\n.*?)```/s.exec(section) ?? []
      return lines === undefined ? [] : [[title, lines]]
    })

  test('have lines to paste for every server that they name', () => {
    expect(sections.map(([title]) => title)).toEqual([
      'Several upstreams',
      'OpenRouter',
      'OpenAI',
      'Anthropic',
      'Gemini',
      'Azure OpenAI',
      'Groq',
      'DeepSeek',
      'Mistral',
      'vLLM',
      'SGLang',
      'llama.cpp',
      'LiteLLM',
      'Ollama',
      'LM Studio',
      "From LiteLLM's proxy",
    ])
  })

  test.each(sections)('%s: the lines are a file that a server starts with', async (_, lines) => {
    const path = join(folder, 'upstreams.yaml')
    writeFileSync(path, lines)
    const names = [...lines.matchAll(/"\$\{([A-Z_]+)\}"/g)].map(([, name = '']) => name)
    const env = Object.fromEntries(names.map((name) => [name, 'sk-pasted']))
    const input = { env, timeouts: PATIENT_TIMEOUTS, dialects: DIALECTS }
    const { upstreams } = await readUpstreamsFile(path, input)
    expect(upstreams).not.toEqual([])
    for (const { dialect, models, formats } of upstreams) {
      if (dialect !== 'openai-compatible') continue
      const knowledge = {
        author: 'any',
        authoredIdOf: () => null,
        knownModel: () => null,
        factsOf: () => null,
      }
      const { models: offered } = meetVendorList([], knowledge, {
        ...DEFAULT_CATALOG_SETTINGS,
        written: models,
      })
      expect(offered.map(({ offer }) => offer.modelId)).toEqual(models.map(({ id }) => id))
      const writesText = offered.some(({ offer }) => offer.outputModalities.has('text'))
      const embeds = offered.some(({ offer }) => offer.outputModalities.has('embeddings'))
      expect([writesText, embeds]).toEqual([true, formats?.includes('embeddings') ?? false])
    }
  })
})
