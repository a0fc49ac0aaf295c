import Anthropic from '@anthropic-ai/sdk'
import { OpenRouter } from '@openrouter/sdk'
import { OpenRouterError } from '@openrouter/sdk/models/errors'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { startWorld, type World } from '../world.ts'
import { failureOf } from './failure.ts'

/** The error that people see in their client when a PDF or a tool is refused: each client shows the gateway's text. */

const MODEL = 'sim/text'
const PDF = 'JVBERi0xLjQK'
const TOOLS = Array.from({ length: 40 }, (_, place) => `tool_${place}`)

interface Client {
  /** The vendor of a model that this client can ask and that has no parser of files. */
  readonly vendor: VendorName
  sendPdf(world: World, apiKey: string): Promise<string>
  sendTools(world: World, apiKey: string): Promise<string>
  /** A tool of a type that the gateway has no price for, behind one that it takes. */
  sendForeignTool(world: World, apiKey: string): Promise<string>
}

const openai: Client = {
  vendor: 'openai-compatible',
  sendPdf: (world, apiKey) => {
    const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }
    return openaiText(world, apiKey, {
      messages: [{ role: 'user', content: [{ type: 'file', file }] }],
    })
  },
  sendTools: (world, apiKey) =>
    openaiText(world, apiKey, {
      tools: TOOLS.map((name) => ({ type: 'function', function: { name } })),
    }),
  sendForeignTool: (world, apiKey) => {
    const tools = [{ type: 'function', function: { name: 'mine' } }, { type: 'code_interpreter' }]
    return openaiText(world, apiKey, { tools })
  },
}

async function openaiText(world: World, apiKey: string, fields: object): Promise<string> {
  const client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
  const body = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }], ...fields }
  const { message } = await failureOf(OpenAI.APIError, client.post('/chat/completions', { body }))
  return message
}

const anthropic: Client = {
  vendor: 'anthropic',
  sendPdf: (world, apiKey) => {
    const source = { type: 'base64', media_type: 'application/pdf', data: PDF }
    return anthropicText(world, apiKey, {
      messages: [{ role: 'user', content: [{ type: 'document', source }] }],
    })
  },
  sendTools: (world, apiKey) =>
    anthropicText(world, apiKey, {
      tools: TOOLS.map((name) => ({ name, input_schema: { type: 'object' } })),
    }),
  sendForeignTool: (world, apiKey) => {
    const mine = { name: 'mine', input_schema: { type: 'object' } }
    return anthropicText(world, apiKey, { tools: [mine, { type: 'code_execution_20250825' }] })
  },
}

async function anthropicText(world: World, apiKey: string, fields: object): Promise<string> {
  const client = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
  const messages = [{ role: 'user', content: 'Hi' }]
  const body = { model: MODEL, max_tokens: 50, messages, ...fields }
  const { message } = await failureOf(Anthropic.APIError, client.post('/v1/messages', { body }))
  return message
}

const openrouter: Client = {
  vendor: 'openai-compatible',
  sendPdf: (world, apiKey) => {
    const file = { filename: 'a.pdf', fileData: `data:application/pdf;base64,${PDF}` }
    const messages = [{ role: 'user' as const, content: [{ type: 'file' as const, file }] }]
    return openrouterText(chatOf(world, apiKey).send({ chatRequest: { model: MODEL, messages } }))
  },
  sendTools: (world, apiKey) => {
    const tools = TOOLS.map((name) => ({ type: 'function' as const, function: { name } }))
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    const chatRequest = { model: MODEL, messages, tools }
    return openrouterText(chatOf(world, apiKey).send({ chatRequest }))
  },
  sendForeignTool: (world, apiKey) => {
    const mine = { type: 'function' as const, function: { name: 'mine' } }
    const tools = [mine, { type: 'openrouter:datetime' as const }]
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    const chatRequest = { model: MODEL, messages, tools }
    return openrouterText(chatOf(world, apiKey).send({ chatRequest }))
  },
}

function chatOf({ url }: World, apiKey: string): OpenRouter['chat'] {
  return new OpenRouter({ apiKey, serverURL: url('/v1') }).chat
}

/** Its error schemas require numeric codes, so only the body has the text. */
async function openrouterText(asking: PromiseLike<unknown>): Promise<string> {
  const { body } = await failureOf(OpenRouterError, asking)
  const { error }: { readonly error: { readonly message: string } } = JSON.parse(body)
  return error.message
}

describe.each([
  ['openai', openai],
  ['@anthropic-ai/sdk', anthropic],
  ['@openrouter/sdk', openrouter],
])('%s shows', (_, client) => {
  let world: World
  let apiKey: string
  beforeAll(async () => {
    world = await startWorld({ vendor: client.vendor })
    apiKey = (await world.account()).apiKey
  })
  afterAll(() => world.close())

  test('the text to send in place of a PDF, if no parser runs before the model', async () => {
    expect(await client.sendPdf(world, apiKey)).toContain(
      'This model does not read files, and no file parser can be put in front of it. Send their text, or use a model with',
    )
  })

  test('which of forty tools the provider refused, by its place and name', async () => {
    const error = { message: 'Invalid value for tools[17]: no such type.', type: 'invalid_request' }
    world.simulator.script({ status: 400, rawBody: JSON.stringify({ error }) })
    expect(await client.sendTools(world, apiKey)).toContain(
      'The provider refused the tool `tools[17]`, `tool_17`. Change it or leave it out.',
    )
  })

  test('which tool the gateway refuses, and the types that it takes', async () => {
    expect(await client.sendForeignTool(world, apiKey)).toMatch(
      /`tools\[1\]` has the type `[^`]+`\. The supported tool types are `function`, `custom` and `web_search`\./,
    )
  })
})

test("@anthropic-ai/sdk shows the replacement of a vendor's tool that the client runs", async () => {
  const world = await startWorld({ vendor: 'anthropic' })
  try {
    const { apiKey } = await world.account()
    const tools = [{ type: 'bash_20250124', name: 'bash' }]
    expect(await anthropicText(world, apiKey, { tools })).toContain(
      'define a tool of your own, with a `name` and an `input_schema`, and run that.',
    )
  } finally {
    await world.close()
  }
})

test.each([
  [{ speed: 'fast' }, 'Leave `speed` out.'],
  [{ service_tier: 'priority' }, 'Leave `service_tier` out.'],
  [{ modalities: ['audio', 'text'] }, 'does not write audio. Leave `audio` out of `modalities`.'],
  [{ container: 'container_1' }, 'Leave `container` out.'],
])('@anthropic-ai/sdk shows which field of %j has no price', async (fields, advice) => {
  const world = await startWorld({ vendor: 'openai-compatible' })
  try {
    const { apiKey } = await world.account()
    expect(await anthropicText(world, apiKey, fields)).toContain(advice)
  } finally {
    await world.close()
  }
})

test('@anthropic-ai/sdk shows that `max_tokens` is missing, not that it can be left out', async () => {
  const world = await startWorld({ vendor: 'anthropic' })
  try {
    const { apiKey } = await world.account()
    expect(await anthropicText(world, apiKey, { max_tokens: undefined })).toContain(
      '`max_tokens` is missing, and the provider requires it.',
    )
  } finally {
    await world.close()
  }
})

describe('openai shows, of a model at OpenAI,', () => {
  let world: World
  let apiKey: string
  beforeAll(async () => {
    world = await startWorld({ vendor: 'openai' })
    apiKey = (await world.account()).apiKey
  })
  afterAll(() => world.close())

  test('which field has no price, so that it is left out', async () => {
    expect(await openaiText(world, apiKey, { service_tier: 'flex' })).toContain(
      'This model has one price, and no price for tiers. Leave `service_tier` out.',
    )
  })

  test('which roles a message can have, and no advice to leave its role out', async () => {
    const messages = [{ role: 'robot', content: 'Hi' }]
    const text = await openaiText(world, apiKey, { messages })
    expect(text).toContain(
      '`messages[0].role` can only be `system` or `developer` or `user` or `assistant` or `tool` or `function` for this model.',
    )
    expect(text).not.toContain('Leave it out')
  })
})
