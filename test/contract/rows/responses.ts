import type { FailureWords, FormatRow } from '../format-row.ts'
import { at, textAt } from '../json-reading.ts'
import {
  joined,
  namedCounts,
  OPENAI_STYLE,
  PDF_URL,
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
  max_output_tokens: 64,
  input: [{ role: 'user', content: TOOL_QUESTION }],
  tools: [{ type: 'function', ...WEATHER_TOOL, parameters: WEATHER_SCHEMA }],
}

/** Responses. */
export const responses: FormatRow = {
  ...OPENAI_STYLE,
  endpoint: 'responses',
  path: '/v1/responses',
  replacesUser: false,
  body: { model: 'sim/text', max_output_tokens: 64, input: QUESTION, user: USER },
  unfitModels: TEXT_UNFIT,
  output: (answer) => textAt(answer, 'output', 0, 'content', 0, 'text'),
  counts: namedCounts,
  hold: { capParam: 'max_output_tokens', isLowered: false, runsOnPartOfFreeCredit: false },
  parts: {
    body: (part) => ({
      model: 'sim/text',
      max_output_tokens: 64,
      input: [{ role: 'user', content: [{ type: 'input_text', text: QUESTION }, part] }],
    }),
    path: 'input[0].content[1]',
    file: { type: 'input_file', filename: 'a.pdf', file_data: PDF_URL },
    unreadFile: 'refused',
    fileModel: 'sim/files',
  },
  tools: {
    asking: { ...ASKING, tool_choice: 'required' },
    stopped: { word: (answer) => textAt(answer, 'output', 0, 'type'), forTool: 'function_call' },
    call: (answer) => ({
      name: textAt(answer, 'output', 0, 'name'),
      argumentText: textAt(answer, 'output', 0, 'arguments'),
    }),
    answering: (answer, result) => {
      const item = at(answer, 'output', 0) ?? null
      const callId = textAt(item, 'call_id')
      const toolResult = { type: 'function_call_output', call_id: callId, output: result }
      return { ...ASKING, input: [...ASKING.input, item, toolResult] }
    },
    streamedArguments: (events) =>
      joined('delta')(events.filter(({ kind }) => kind.endsWith('_call_arguments.delta'))),
  },
  streams: {
    last: 'response.completed',
    output: joined('delta'),
    usage: usageAt('response'),
    firstUsage: null,
    hasTotalTimeout: false,
    failures: [
      { fault: {}, event: responsesErrorEvent, carriesUsage: false },
      { fault: { shape: 'nested' }, event: responsesErrorEvent, carriesUsage: false },
      {
        fault: { shape: 'failed' },
        event: ({ code, message }) => ({
          type: 'response.failed',
          response: { object: 'response', status: 'failed', error: { code, message }, output: [] },
        }),
        carriesUsage: true,
      },
    ],
  },
}

function responsesErrorEvent({ code, message }: FailureWords): object {
  return { type: 'error', code, message, param: null }
}
