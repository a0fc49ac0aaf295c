import type { FormatRow } from '../format-row.ts'
import { at, numberAt } from '../json-reading.ts'
import { FILE_PART, OPENAI_STYLE, QUESTION, USER } from './row-parts.ts'

/** Embeddings. */
export const embeddings: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'embeddings',
  path: '/v1/embeddings',
  // Long enough to cost whole micro-dollars.
  body: { model: 'sim/embed', input: `${QUESTION} `.repeat(1000), user: USER },
  unfitModels: ['sim/text', 'sim/image'],
  output: (answer) => JSON.stringify(at(answer, 'data', 0, 'embedding')),
  counts: (usage) => [numberAt(usage, 'prompt_tokens'), 0],
  hold: null,
  parts: {
    body: (part) => ({
      model: 'sim/embed',
      input: [{ content: [{ type: 'text', text: QUESTION }, part] }],
    }),
    path: 'input[0].content[1]',
    file: FILE_PART,
    unreadFile: 'refused',
    fileModel: null,
  },
  tools: null,
  streams: null,
}
