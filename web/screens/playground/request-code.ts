import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import type { SpokenFormat } from './formats.ts'

/** A request as the Playground sends it. */
export interface ShownRequest {
  readonly body: object
  readonly format: SpokenFormat
  /** The address of the gateway, without `/v1`. */
  readonly baseUrl: string
}

/** A language in which a request is shown. */
interface CodeLanguage {
  readonly value: 'curl' | 'python' | 'js'
  readonly text: string
  readonly code: (request: ShownRequest) => string
}

/** The languages of Connect. */
export const CODE_LANGUAGES: readonly CodeLanguage[] = [
  { value: 'curl', text: 'curl', code: curlCode },
  { value: 'python', text: 'Python', code: pythonCode },
  { value: 'js', text: 'TypeScript', code: jsCode },
]

interface FormatCode {
  readonly path: string
  readonly call: string
  /** The text of a whole answer, by language. */
  readonly text: { readonly python: string; readonly js: string }
  /** Prints the text of one event of a stream. */
  readonly event: { readonly python: string; readonly js: string }
}

const FORMATS: Readonly<Record<SpokenFormat, FormatCode>> = {
  chat: {
    path: 'chat/completions',
    call: 'chat.completions.create',
    text: { python: 'answer.choices[0].message.content', js: 'answer.choices[0]?.message.content' },
    event: {
      python: `if event.choices:
        print(event.choices[0].delta.content or "", end="", flush=True)`,
      js: "process.stdout.write(event.choices[0]?.delta.content ?? '')",
    },
  },
  messages: {
    path: 'messages',
    call: 'messages.create',
    text: { python: 'answer.content[0].text', js: 'answer.content[0]' },
    event: {
      python: `if event.type == "content_block_delta" and event.delta.type == "text_delta":
        print(event.delta.text, end="", flush=True)`,
      js: `{
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
    process.stdout.write(event.delta.text)
  }
}`,
    },
  },
  responses: {
    path: 'responses',
    call: 'responses.create',
    text: { python: 'answer.output_text', js: 'answer.output_text' },
    event: {
      python: `if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`,
      js: `{
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
}`,
    },
  },
}

function curlCode({ body, format, baseUrl }: ShownRequest): string {
  // A quote ends the quoted text, is escaped, and begins the quoted text again.
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return `curl ${isStreamed(body) ? '-N ' : ''}${baseUrl}/v1/${FORMATS[format].path} \\
  -H "authorization: Bearer $${KEY_VARIABLE}" -H "content-type: application/json" \\
  -d '${json}'`
}

function pythonCode({ body, format, baseUrl }: ShownRequest): string {
  const { call, text, event } = FORMATS[format]
  const [module, url] = format === 'messages' ? ['Anthropic', ''] : ['OpenAI', '/v1']
  const fields = Object.entries(body).map(([name, value]) => {
    const json = JSON.stringify(value, null, 4).replaceAll('\n', '\n    ')
    return `    ${name}=${PYTHON_WORDS[json] ?? json},\n`
  })
  const end = isStreamed(body)
    ? `for event in answer:\n    ${event.python}`
    : `print(${text.python})`
  return `import os
from ${module.toLowerCase()} import ${module}

client = ${module}(base_url="${baseUrl}${url}", api_key=os.environ["${KEY_VARIABLE}"])
answer = client.${call}(
${fields.join('')})
${end}`
}

// The texts, numbers and lists of JSON are Python as well.
const PYTHON_WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False' }

function jsCode({ body, format, baseUrl }: ShownRequest): string {
  const { call, text, event } = FORMATS[format]
  const [module, from, url] =
    format === 'messages' ? ['Anthropic', '@anthropic-ai/sdk', ''] : ['OpenAI', 'openai', '/v1']
  const fields = Object.entries(body).map(
    ([name, value]) => `  ${name}: ${JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')},\n`,
  )
  const end = isStreamed(body)
    ? `for await (const event of answer) ${event.js}`
    : `console.log(${text.js})`
  return `import ${module} from '${from}'

const client = new ${module}({ baseURL: '${baseUrl}${url}', apiKey: process.env.${KEY_VARIABLE} })
const answer = await client.${call}({
${fields.join('')}})
${end}`
}

function isStreamed(body: object): boolean {
  return 'stream' in body && body.stream === true
}
