import type { FormatRow } from '../format-row.ts'
import { at, textAt } from '../json-reading.ts'
import {
  joined,
  namedCounts,
  OPENAI_STYLE,
  QUESTION,
  TEXT_UNFIT,
  TOOL_QUESTION,
  USER,
  usageAt,
  WEATHER_SCHEMA,
  WEATHER_TOOL,
} from './row-parts.ts'

const ASKING = {
  model: 'sim/text',
  max_tokens: 64,
  messages: [{ role: 'user', content: TOOL_QUESTION }],
  tools: [{ ...WEATHER_TOOL, input_schema: WEATHER_SCHEMA }],
}

/** Messages. */
export const messages: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'messages',
  path: '/v1/messages',
  family: 'messages',
  replacesUser: false,
  hasOwnHeaders: true,
  body: {
    model: 'sim/text',
    max_tokens: 64,
    messages: [{ role: 'user', content: QUESTION }],
    user: USER,
  },
  unfitModels: TEXT_UNFIT,
  output: (answer) => textAt(answer, 'content', 0, 'text'),
  counts: namedCounts,
  hold: { capParam: 'max_tokens', isLowered: false, runsOnPartOfFreeCredit: true },
  parts: {
    body: (part) => ({
      model: 'sim/text',
      max_tokens: 64,
      messages: [{ role: 'user', content: [{ type: 'text', text: QUESTION }, part] }],
    }),
    path: 'messages[0].content[1]',
    file: {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' },
    },
    unreadFile: 'refused',
    fileModel: 'sim/files',
  },
  tools: {
    asking: { ...ASKING, tool_choice: { type: 'any' } },
    stopped: { word: (answer) => textAt(answer, 'stop_reason'), forTool: 'tool_use' },
    call: (answer) => ({
      name: textAt(answer, 'content', 0, 'name'),
      argumentText: JSON.stringify(at(answer, 'content', 0, 'input')),
    }),
    answering: (answer, result) => {
      const content = at(answer, 'content') ?? null
      const callId = textAt(content, 0, 'id')
      const toolResult = { type: 'tool_result', tool_use_id: callId, content: result }
      return {
        ...ASKING,
        messages: [
          ...ASKING.messages,
          { role: 'assistant', content },
          { role: 'user', content: [toolResult] },
        ],
      }
    },
    streamedArguments: joined('delta', 'partial_json'),
  },
  streams: {
    last: 'message_stop',
    output: joined('delta', 'text'),
    usage: usageAt(),
    firstUsage: usageAt('message'),
    hasTotalTimeout: false,
    failures: [
      {
        fault: {},
        event: ({ type, message, requestId }) => ({
          type: 'error',
          error: { type, message },
          request_id: requestId,
        }),
        carriesUsage: false,
      },
    ],
  },
}
