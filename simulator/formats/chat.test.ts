import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import {
  at,
  eventsOf,
  jsonEventsOf,
  jsonOf,
  openaiOf,
  post,
  question,
  simulatorOfFile,
  WEATHER,
} from '../test/client.ts'

const simulator = simulatorOfFile()

describe('chat completions', () => {
  test('an answer repeats the question, and costs its tokens at the listed prices, exactly', async () => {
    const response = await post(simulator, '/chat/completions', question('Say hello.'))
    const body = await jsonOf(response)
    expect(response.headers.get('x-generation-id')).toBe(body['id'])
    expect(body['id']).toMatch(/^gen-\d{10}-[0-9a-z]{20}$/)
    expect(at(body, 'choices', 0, 'message', 'content')).toContain('Say hello.')
    expect(at(body, 'choices', 0, 'finish_reason')).toBe('stop')
    const prompt = Number(at(body, 'usage', 'prompt_tokens'))
    const completion = Number(at(body, 'usage', 'completion_tokens'))
    // sim/text: one micro-dollar a prompt token, four a completion token.
    expect(at(body, 'usage', 'cost')).toBe(Number(`${prompt + 4 * completion}e-6`))
  })

  test('the same request has the same answer', async () => {
    const texts = await Promise.all(
      [1, 2].map(async () => {
        const body = await jsonOf(await post(simulator, '/chat/completions', question('Again?')))
        return at(body, 'choices', 0, 'message', 'content')
      }),
    )
    expect(texts[0]).toBe(texts[1])
  })

  test.each(['max_tokens', 'max_completion_tokens'])(
    '%s cuts the answer at that many tokens',
    async (cap) => {
      const answer = await jsonOf(
        await post(simulator, '/chat/completions', question('Hi', { [cap]: 5 })),
      )
      expect(at(answer, 'choices', 0, 'finish_reason')).toBe('length')
      expect(at(answer, 'usage', 'completion_tokens')).toBe(5)
    },
  )

  test('an answer is as long as the question asks', async () => {
    const asked = question('Write 500 words', { max_tokens: 1000 })
    const answer = await jsonOf(await post(simulator, '/chat/completions', asked))
    expect(at(answer, 'choices', 0, 'finish_reason')).toBe('stop')
    expect(at(answer, 'usage', 'completion_tokens')).toBe(500)
  })

  test('the openai client reads a stream whose text and usage are those of the plain answer', async () => {
    const plain = await openaiOf(simulator).chat.completions.create({
      model: 'sim/text',
      messages: [{ role: 'user', content: 'Stream this.' }],
    })
    const stream = await openaiOf(simulator).chat.completions.create({
      model: 'sim/text',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Stream this.' }],
    })
    let text = ''
    const chunks = []
    for await (const chunk of stream) {
      chunks.push(chunk)
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(plain.choices[0]?.message.content)
    expect(chunks.at(-1)?.choices).toEqual([])
    expect(chunks.at(-1)?.usage).toEqual(plain.usage)
  })

  test('a stream starts with a comment, ends with [DONE], and its usage chunk keeps an empty choice unless asked', async () => {
    const asked = question('Hi', { stream: true })
    const response = await post(simulator, '/chat/completions', asked)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const text = await response.text()
    expect(text.startsWith(': OPENROUTER PROCESSING\n\n')).toBe(true)
    expect(eventsOf(text).at(-1)?.text).toBe('[DONE]')
    const chunks = jsonEventsOf(text)
    expect(at(chunks, 0, 'choices', 0, 'delta')).toEqual({ role: 'assistant', content: '' })
    expect(at(chunks, -1, 'choices')).toHaveLength(1)
    expect(at(chunks, -1, 'choices', 0, 'delta', 'content')).toBe('')
    expect(at(chunks, -1, 'choices', 0, 'finish_reason')).toBe(null)
    expect(at(chunks, -2, 'choices', 0, 'finish_reason')).toBe('stop')
    expect(at(chunks, -1, 'usage', 'completion_tokens')).toBeGreaterThan(0)
  })

  test('a tool is called when the question names it, and its result is answered in words', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Please use get_weather for Oslo' },
    ]
    const first = await openaiOf(simulator).chat.completions.create({
      model: 'sim/text',
      messages,
      tools: [WEATHER],
    })
    const [choice] = first.choices
    const call = choice?.message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no tool was called')
    expect(choice?.finish_reason).toBe('tool_calls')
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toEqual({
      city: 'Please use get_weather for Oslo',
      days: 3,
    })
    const second = await openaiOf(simulator).chat.completions.create({
      model: 'sim/text',
      tools: [WEATHER],
      messages: [
        ...messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'Rain, 4 degrees' },
      ],
    })
    expect(second.choices[0]?.message.content).toBe('The tool answered: Rain, 4 degrees')
  })

  test('a streamed tool call adds up to the plain one', async () => {
    const stream = openaiOf(simulator).chat.completions.stream({
      model: 'sim/text',
      messages: [{ role: 'user', content: 'Weather?' }],
      tools: [WEATHER],
      tool_choice: 'required',
    })
    const final = await stream.finalChatCompletion()
    const call = final.choices[0]?.message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no tool was called')
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Weather?', days: 3 })
    expect(final.choices[0]?.finish_reason).toBe('tool_calls')
  })

  test('an answer fits the JSON Schema that was asked for', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        tags: { type: 'array', items: { enum: ['red', 'blue'] }, minItems: 2 },
        inner: { $ref: '#/$defs/inner' },
      },
      $defs: { inner: { type: 'object', properties: { ok: { type: 'boolean' } } } },
    }
    const answer = await openaiOf(simulator).chat.completions.create({
      model: 'sim/text',
      messages: [{ role: 'user', content: 'Fill it' }],
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    })
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({
      name: 'Fill it',
      tags: ['red', 'red'],
      inner: { ok: true },
    })
  })

  test('reasoning is thought in deltas and counted within the completion', async () => {
    const asked = question('Think', { stream: true, reasoning: { effort: 'high' } })
    const chunks = jsonEventsOf(await (await post(simulator, '/chat/completions', asked)).text())
    const thoughts = chunks.flatMap((chunk) => at(chunk, 'choices', 0, 'delta', 'reasoning') ?? [])
    expect(thoughts).toHaveLength(32)
    expect(at(chunks, -1, 'usage', 'completion_tokens_details', 'reasoning_tokens')).toBe(32)
  })

  test('n answers are billed n times', async () => {
    const body = await jsonOf(
      await post(simulator, '/chat/completions', question('Hi', { n: 3, max_tokens: 4 })),
    )
    expect(at(body, 'choices')).toHaveLength(3)
    expect(at(body, 'usage', 'completion_tokens')).toBe(12)
  })

  test('a chat model draws when images are asked for, at the image price', async () => {
    const asked = question('Draw', { model: 'sim/image-chat', modalities: ['image', 'text'] })
    const body = await jsonOf(await post(simulator, '/chat/completions', asked))
    const url = String(at(body, 'choices', 0, 'message', 'images', 0, 'image_url', 'url'))
    expect(url).toMatch(/^data:image\/png;base64,iVBORw0KGgo/)
    const prompt = Number(at(body, 'usage', 'prompt_tokens'))
    const words = Number(at(body, 'usage', 'completion_tokens')) - 1290
    // 0.3, 2.5 and 30 micro-dollars a token, in tenths of a micro-dollar.
    expect(at(body, 'usage', 'cost')).toBe(Number(`${3 * prompt + 25 * words + 300 * 1290}e-7`))
  })
})
