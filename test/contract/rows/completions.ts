import type { FormatRow } from '../format-row.ts'
import { textAt } from '../json-reading.ts'
import {
  chatCounts,
  FILE_PART,
  joined,
  OPENAI_STYLE,
  openAiError,
  QUESTION,
  TEXT_UNFIT,
  USER,
  usageAt,
} from './row-parts.ts'

/** Legacy text completions. */
export const completions: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'completions',
  path: '/v1/completions',
  body: { model: 'sim/text', max_tokens: 64, prompt: QUESTION, user: USER },
  unfitModels: TEXT_UNFIT,
  output: (answer) => textAt(answer, 'choices', 0, 'text'),
  counts: chatCounts,
  hold: { capParam: 'max_tokens', isLowered: true, runsOnPartOfFreeCredit: false },
  parts: {
    // Its prompt is text: a part fits only in a field outside the format.
    body: (part) => ({ model: 'sim/text', max_tokens: 64, prompt: QUESTION, attachments: [part] }),
    path: 'attachments[0]',
    file: FILE_PART,
    unreadFile: 'refused',
    fileModel: 'sim/files',
  },
  tools: null,
  streams: {
    last: '[DONE]',
    output: joined('choices', 0, 'text'),
    usage: usageAt(),
    firstUsage: null,
    hasTotalTimeout: false,
    failures: [
      {
        fault: {},
        event: (error) => ({
          object: 'text_completion',
          ...openAiError(error),
          choices: [{ index: 0, text: '', finish_reason: 'error' }],
        }),
        carriesUsage: true,
      },
    ],
  },
}
