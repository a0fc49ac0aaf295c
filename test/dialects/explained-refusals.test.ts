import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { startWorld, type World } from '../world.ts'

/* Refusals as the official SDKs show them: the refused field, the party who set it, and the remedy. */

let world: World
afterEach(() => world.close())

async function start(vendor?: 'openai-compatible' | 'anthropic') {
  world = await startWorld(vendor === undefined ? {} : { vendor })
  const { apiKey } = await world.account()
  return {
    openai: new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 }),
  }
}

const messages = [{ role: 'user' as const, content: 'Hi' }]
const ASKED = { model: 'sim/text', max_tokens: 64, messages }

function refuseNext(message: string): void {
  const error = { message, type: 'invalid_request_error' }
  world.simulator.script({ status: 400, rawBody: JSON.stringify({ error }) })
}

describe('a refusal', () => {
  test('of a cap that the gateway set says so, and the log tells the operator once', async () => {
    const { openai } = await start('openai-compatible')
    const tooLarge = 'max_tokens is too large: 8192. This model supports at most 4096 tokens.'
    for (const _ of [1, 2]) {
      refuseNext(tooLarge)
      const asking = openai.chat.completions.create({ model: 'sim/text', messages })
      await expect(asking).rejects.toMatchObject({
        status: 400,
        code: 'invalid_parameter',
        param: 'max_tokens',
        message: expect.stringContaining('The gateway set `max_tokens` to '),
      })
    }
    expect(await world.logged('refused the output cap')).toContain('max_output')
    expect(world.log.filter((line) => line.includes('refused the output cap'))).toHaveLength(1)
    refuseNext(tooLarge)
    await expect(openai.chat.completions.create(ASKED)).rejects.toMatchObject({
      message: '400 The provider refused the value of `max_tokens`. Change it or leave it out.',
    })
  })

  test("of a field of the client's own names it", async () => {
    const { openai } = await start()
    refuseNext("Unknown parameter: 'foo_bar'.")
    const body = { ...ASKED, foo_bar: 1 }
    await expect(openai.chat.completions.create(body)).rejects.toMatchObject({
      param: 'foo_bar',
      message: '400 Unknown parameter: `foo_bar`. Leave it out or use another model.',
    })
  })

  test.each(['openai-compatible', 'anthropic'] as const)(
    'of a PDF for a model of %s that reads none leads to no further refusal',
    async (vendor) => {
      const { anthropic } = await start(vendor)
      const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } as const
      const content = [{ type: 'document' as const, source }]
      const asked = { ...ASKED, messages: [{ role: 'user' as const, content }] }
      for (const plugins of [undefined, [{ id: 'file-parser', pdf: { engine: 'hosted-ai' } }]]) {
        const body = plugins === undefined ? asked : { ...asked, plugins }
        await expect(anthropic.messages.create(body)).rejects.toMatchObject({
          status: 400,
          message: expect.stringMatching(
            /no file parser can be put in front of it. Send their text/,
          ),
        })
      }
    },
  )

  test('of one tool of forty says which, by its place and name', async () => {
    const { anthropic } = await start('anthropic')
    const input_schema = { type: 'object' as const }
    const tools: Anthropic.Messages.ToolUnion[] = Array.from({ length: 40 }, (_, at) => ({
      name: `tool_${at}`,
      input_schema,
    }))
    tools[33] = { type: 'bash_20250124', name: 'bash' }
    await expect(anthropic.messages.create({ ...ASKED, tools })).rejects.toMatchObject({
      message: expect.stringMatching(
        /`tools\[33\]` \(`bash`\) has the type `bash_20250124`.*the client runs itself are not supported: define a tool of your own/,
      ),
    })
    tools[33] = { name: 'odd', input_schema }
    world.simulator.script({
      status: 400,
      rawBody: JSON.stringify({
        type: 'error',
        error: { type: 'invalid_request_error', message: 'tools.33.custom.input_schema: invalid' },
      }),
    })
    await expect(anthropic.messages.create({ ...ASKED, tools })).rejects.toMatchObject({
      message: expect.stringContaining('refused the tool `tools[33]`, `odd`'),
    })
  })
})
