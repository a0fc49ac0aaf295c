/** The values in the lines of a client. */
interface LinesInput {
  /** The address of the gateway, without `/v1`. */
  readonly baseUrl: string
  readonly model: string
  /** For the small tasks of an agent. Default: the same model. */
  readonly smallModel?: string
  /** The context window of the model. Default: not known; agents then assume one. */
  readonly contextTokens?: number | null
}

/** A client of the gateway, and what it is set to. */
export interface ClientSettings {
  /** Its name in the address of Connect. */
  readonly id: string
  readonly name: string
  readonly group: 'Commands' | 'SDKs' | 'Agents'
  readonly language: 'sh' | 'js' | 'python' | 'toml'
  /** The file or shell that the lines go into. */
  readonly place: string
  /** The format that it sends, by the name that models list it under. */
  readonly speaks: 'chat' | 'messages' | 'responses' | 'images'
  readonly lines: (input: LinesInput) => string
  /** Notes about the lines. */
  readonly notes: readonly string[]
}

/** The variable that a client's lines read the key from. */
export const KEY_VARIABLE = 'TOLLGATE_API_KEY'

/** Each client with its lines, in the order of docs/clients.md, whose blocks are these. */
export const CLIENTS: readonly ClientSettings[] = [
  {
    id: 'curl',
    name: 'curl',
    group: 'Commands',
    language: 'sh',
    place: 'Run it in a terminal.',
    speaks: 'chat',
    lines: ({ baseUrl, model }) => `curl ${baseUrl}/v1/chat/completions \\
  -H "authorization: Bearer $${KEY_VARIABLE}" -H "content-type: application/json" \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Say hello."}]}'`,
    notes: ['With -i, curl also prints the headers; x-service-cost is the charge.'],
  },
  {
    id: 'curl-images',
    name: 'curl: images',
    group: 'Commands',
    language: 'sh',
    place: 'Run it in a terminal.',
    speaks: 'images',
    lines: ({ baseUrl, model }) => `curl -s --max-time 180 ${baseUrl}/v1/images \\
  -H "authorization: Bearer $${KEY_VARIABLE}" -H "content-type: application/json" \\
  -d '{"model":"${model}","prompt":"A fjord"}'`,
    notes: ['An image takes up to 180 seconds. Its bytes are base64.'],
  },
  {
    id: 'openai-js',
    name: 'OpenAI, TypeScript',
    group: 'SDKs',
    language: 'js',
    place: 'npm install openai',
    speaks: 'chat',
    lines: ({ baseUrl, model }) => `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: process.env.${KEY_VARIABLE} })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello.' }],
})
console.log(answer.choices[0]?.message.content)`,
    notes: ['Responses are stateless: leave `store` out, and send the whole conversation.'],
  },
  {
    id: 'openai-python',
    name: 'OpenAI, Python',
    group: 'SDKs',
    language: 'python',
    place: 'pip install openai',
    speaks: 'chat',
    lines: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["${KEY_VARIABLE}"])
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(answer.choices[0].message.content)`,
    notes: ['Responses are stateless: leave `store` out, and send the whole conversation.'],
  },
  {
    id: 'anthropic-js',
    name: 'Anthropic, TypeScript',
    group: 'SDKs',
    language: 'js',
    place: 'npm install @anthropic-ai/sdk',
    speaks: 'messages',
    lines: ({ baseUrl, model }) => `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${baseUrl}', apiKey: process.env.${KEY_VARIABLE} })
const message = await client.messages
  .stream({ model: '${model}', max_tokens: 1000, messages: [{ role: 'user', content: 'Say hello.' }] })
  .on('text', (text) => process.stdout.write(text))
  .finalMessage()`,
    notes: ['The address has no /v1. Counting tokens is not supported: it returns 404.'],
  },
  {
    id: 'anthropic-python',
    name: 'Anthropic, Python',
    group: 'SDKs',
    language: 'python',
    place: 'pip install anthropic',
    speaks: 'messages',
    lines: ({ baseUrl, model }) => `import os
from anthropic import Anthropic

client = Anthropic(base_url="${baseUrl}", api_key=os.environ["${KEY_VARIABLE}"])
message = client.messages.create(
    model="${model}",
    max_tokens=1000,
    messages=[{"role": "user", "content": "Say hello."}],
)
print(message.content[0].text)`,
    notes: ['The address has no /v1. Counting tokens is not supported: it returns 404.'],
  },
  {
    id: 'ai-sdk',
    name: 'AI SDK',
    group: 'SDKs',
    language: 'js',
    place: 'npm install ai @ai-sdk/openai',
    speaks: 'responses',
    lines: ({ baseUrl, model }) => `import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'

const tollgate = createOpenAI({ baseURL: '${baseUrl}/v1', apiKey: process.env.${KEY_VARIABLE} })
const { text } = await generateText({
  model: tollgate('${model}'),
  prompt: 'Say hello.',
  providerOptions: { openai: { store: false } },
})
process.stdout.write(text)`,
    notes: ['Responses need `store: false`, as above; chat, `tollgate.chat(model)`, does not.'],
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    group: 'Agents',
    language: 'sh',
    place: 'Run these lines in a terminal: the last one starts it.',
    speaks: 'messages',
    lines: ({
      baseUrl,
      model,
      smallModel = model,
      contextTokens = null,
    }) => `export ANTHROPIC_BASE_URL=${baseUrl}
export ANTHROPIC_AUTH_TOKEN=$${KEY_VARIABLE}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_OPUS_MODEL=${model}
export ANTHROPIC_DEFAULT_SONNET_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${smallModel}
${contextTokens === null ? '' : `export CLAUDE_CODE_MAX_CONTEXT_TOKENS=${contextTokens}\n`}export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
claude`,
    notes: [
      'Its helpers use the haiku model: a cheaper model there saves credit.',
      'It assumes 1,000,000 tokens of context for a model that it does not know.',
    ],
  },
  {
    id: 'codex',
    name: 'Codex',
    group: 'Agents',
    language: 'toml',
    place: 'Put it into ~/.codex/config.toml.',
    speaks: 'responses',
    lines: ({ baseUrl, model }) => `model = "${model}"
model_provider = "tollgate"
web_search = "disabled"

[model_providers.tollgate]
name = "tollgate"
base_url = "${baseUrl}/v1"
env_key = "${KEY_VARIABLE}"
wire_api = "responses"

[agents]
enabled = false

[features]
plugins = false

[analytics]
enabled = false`,
    notes: [
      'Its agents and MCP servers are refused with a 400 that names the tool.',
      'Web search works; each request with it holds credit for 30 searches.',
      'It assumes 272,000 tokens of context; `model_context_window` sets a smaller window.',
    ],
  },
]

/** The clients that a model is answered to. */
export function clientsOf(endpoints: readonly string[]): readonly ClientSettings[] {
  return CLIENTS.filter(({ speaks }) => endpoints.includes(speaks))
}

/** The client of this id; the first one where there is none. */
export function clientOf(id: string): ClientSettings {
  const found = CLIENTS.find((client) => client.id === id) ?? CLIENTS[0]
  if (found === undefined) throw new TypeError('the table has a client')
  return found
}

/** The line that puts a key into the variable that clients read. */
export function keyLine(apiKey: string): string {
  return `export ${KEY_VARIABLE}=${apiKey}`
}

/** The text in pieces: those in quotes are drawn in another colour. */
export function quotedPieces(
  text: string,
): readonly { readonly text: string; readonly isQuoted: boolean }[] {
  return text
    .split(/('[^']*'|"[^"]*")/)
    .map((piece, index) => ({ text: piece, isQuoted: index % 2 === 1 }))
    .filter((piece) => piece.text !== '')
}
