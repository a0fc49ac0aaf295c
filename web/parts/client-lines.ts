/** What each client needs, by the name of its tab. */
export const CLIENTS = [
  { value: 'curl', text: 'curl' },
  { value: 'python', text: 'Python' },
  { value: 'typescript', text: 'TypeScript' },
  { value: 'agents', text: 'Agents' },
] as const

/** One of {@link CLIENTS}. */
export type Client = (typeof CLIENTS)[number]['value']

interface ClientLinesInput {
  readonly baseUrl: string
  readonly model: string
  /** The text of a key that was just made; null: the reader has one. */
  readonly apiKey: string | null
}

/** Lines that send one request, or start an agent, through this gateway. */
export function clientLines(client: Client, { baseUrl, model, apiKey }: ClientLinesInput): string {
  const given = apiKey === null ? [] : [`export TOLLGATE_KEY=${apiKey}`]
  switch (client) {
    case 'curl':
      return [
        ...given,
        `curl ${baseUrl}/v1/chat/completions \\`,
        '  -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \\',
        `  -d '{"model":"${model}","messages":[{"role":"user","content":"Say hello."}]}'`,
      ].join('\n')
    case 'python':
      return `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["TOLLGATE_KEY"])
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello."}],
)
print(answer.choices[0].message.content)`
    case 'typescript':
      return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}/v1', apiKey: process.env.TOLLGATE_KEY })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello.' }],
})
console.log(answer.choices[0]?.message.content)`
    case 'agents':
      return [
        ...given,
        `export ANTHROPIC_BASE_URL=${baseUrl}`,
        'export ANTHROPIC_AUTH_TOKEN=$TOLLGATE_KEY',
        `export ANTHROPIC_MODEL=${model}`,
        `export ANTHROPIC_DEFAULT_OPUS_MODEL=${model}`,
        `export ANTHROPIC_DEFAULT_SONNET_MODEL=${model}`,
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
        'export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1',
        'claude',
      ].join('\n')
  }
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
