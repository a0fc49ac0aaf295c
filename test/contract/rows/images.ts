import type { FormatRow } from '../format-row.ts'
import { textAt } from '../json-reading.ts'
import {
  chatCounts,
  FILE_PART,
  joined,
  OPENAI_STYLE,
  openAiError,
  QUESTION,
  USER,
  usageAt,
} from './row-parts.ts'

/** Images. */
export const images: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'images',
  path: '/v1/images',
  bodyMebibytesMax: 64,
  hasGenerations: false,
  totalTimeout: 'TOLLGATE_IMAGE_TIMEOUT_MS',
  body: { model: 'sim/image', prompt: QUESTION, user: USER },
  unfitModels: ['sim/text', 'sim/embed'],
  output: (answer) => textAt(answer, 'data', 0, 'b64_json'),
  counts: chatCounts,
  hold: null,
  parts: {
    body: (part) => ({ model: 'sim/image', prompt: QUESTION, input_references: [part] }),
    path: 'input_references[0]',
    file: FILE_PART,
    unreadFile: 'refused',
    fileModel: null,
  },
  tools: null,
  streams: {
    last: '[DONE]',
    output: (events) =>
      joined('b64_json')(events.filter(({ kind }) => kind === 'image_generation.completed')),
    usage: usageAt(),
    firstUsage: null,
    hasTotalTimeout: true,
    failures: [
      {
        fault: {},
        event: (error) => ({ type: 'error', ...openAiError(error) }),
        carriesUsage: false,
      },
    ],
  },
}
