import type { FormatRow } from '../format-row.ts'
import { at, textAt } from '../json-reading.ts'
import {
  chatCounts,
  FILE_PART,
  joined,
  OPENAI_STYLE,
  openAiError,
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
  tools: [{ type: 'function', function: { ...WEATHER_TOOL, parameters: WEATHER_SCHEMA } }],
}

/** Chat completions. */
export const chat: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'chat',
  path: '/v1/chat/completions',
  body: {
    model: 'sim/text',
    max_tokens: 64,
    messages: [{ role: 'user', content: QUESTION }],
    user: USER,
  },
  unfitModels: TEXT_UNFIT,
  output: (answer) => textAt(answer, 'choices', 0, 'message', 'content'),
  counts: chatCounts,
  hold: { capParam: 'max_tokens', isLowered: true, runsOnPartOfFreeCredit: false },
  parts: {
    body: (part) => ({
      model: 'sim/text',
      max_tokens: 64,
      messages: [{ role: 'user', content: [{ type: 'text', text: QUESTION }, part] }],
    }),
    path: 'messages[0].content[1]',
    file: FILE_PART,
    unreadFile: 'parsed',
    fileModel: 'sim/files',
  },
  tools: {
    asking: { ...ASKING, tool_choice: 'required' },
    stopped: {
      word: (answer) => textAt(answer, 'choices', 0, 'finish_reason'),
      forTool: 'tool_calls',
    },
    call: (answer) => {
      const called = at(answer, 'choices', 0, 'message', 'tool_calls', 0, 'function')
      return { name: textAt(called, 'name'), argumentText: textAt(called, 'arguments') }
    },
    answering: (answer, result) => {
      const message = at(answer, 'choices', 0, 'message')
      const callId = textAt(message, 'tool_calls', 0, 'id')
      const toolResult = { role: 'tool', tool_call_id: callId, content: result }
      return { ...ASKING, messages: [...ASKING.messages, message ?? null, toolResult] }
    },
    streamedArguments: joined('choices', 0, 'delta', 'tool_calls', 0, 'function', 'arguments'),
  },
  streams: {
    last: '[DONE]',
    output: joined('choices', 0, 'delta', 'content'),
    usage: usageAt(),
    firstUsage: null,
    hasTotalTimeout: false,
    failures: [
      {
        fault: {},
        event: (error) => ({
          object: 'chat.completion.chunk',
          ...openAiError(error),
          choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        }),
        carriesUsage: true,
      },
    ],
  },
}
