import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { type AskedModel, bodyOf, type SpokenFormat } from './formats.ts'
import { CODE_LANGUAGES } from './request-code.ts'

const MODEL = { id: 'acme/sage', capField: 'max_tokens', usualCapTokens: null } as const
const SAID = { role: 'user', content: 'It\'s $5 & `x`\n"done" \\ 1 é' }

function requestIn(format: SpokenFormat) {
  const model: AskedModel = { ...MODEL, format }
  const settings = { model, system: 'Say "no".', capTokens: 100, temperature: 0.5 }
  return {
    body: bodyOf([SAID], { ...settings, isStreamed: true }),
    format,
    baseUrl: 'http://gate',
  }
}

const codeOf = (value: string, format: SpokenFormat) =>
  CODE_LANGUAGES.find((language) => language.value === value)?.code(requestIn(format)) ?? ''

describe.each(['chat', 'messages', 'responses'] as const)(
  'the code of a request in %s',
  (format) => {
    const { body } = requestIn(format)

    test('in a shell hands curl exactly the body that the Playground sends', () => {
      const shown = codeOf('curl', format).replace(/^curl/, 'show')
      const script = `show() { for last; do :; done; printf %s "$last"; }\n${shown}`
      const sent = execFileSync('bash', ['-c', script], { encoding: 'utf8' })
      expect(JSON.parse(sent)).toEqual(body)
    })

    test('in TypeScript passes the same fields', async () => {
      const lines = codeOf('js', format).split('\n').slice(2).join('\n')
      let sent: unknown
      const create = async (fields: unknown) => {
        sent = fields
        return []
      }
      class Client {
        chat = { completions: { create } }
        messages = { create }
        responses = { create }
      }
      const run = new Function(
        'OpenAI',
        'Anthropic',
        'process',
        `return (async () => { ${lines} })()`,
      )
      await run(Client, Client, { env: {} })
      expect(sent).toEqual(body)
    })

    test('in Python passes the same fields, and reads the key from the environment', () => {
      const lines = codeOf('python', format)
      expect(lines).toContain('api_key=os.environ["TOLLGATE_API_KEY"]')
      const fields = lines.split('create(\n')[1]?.split('\n)\n')[0] ?? ''
      const json = fields
        .replace(/^ {4}(\w+)=/gm, '"$1": ')
        .replaceAll(': True', ': true')
        .replaceAll(': False', ': false')
        .replace(/,$/, '')
      expect(JSON.parse(`{${json}}`)).toEqual(body)
    })
  },
)
