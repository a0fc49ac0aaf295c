import { describe, expect, test } from 'vitest'
import {
  at,
  eventsOf,
  jsonEventsOf,
  openaiOf,
  post,
  simulatorOfFile,
  WEATHER,
} from '../test/client.ts'

const simulator = simulatorOfFile()

describe('responses', () => {
  test('the openai client reads a plain response', async () => {
    const body = await openaiOf(simulator).responses.create({
      model: 'sim/text',
      input: 'Hi there',
    })
    expect(body.status).toBe('completed')
    expect(body.output_text).toContain('Hi there')
  })

  test('a stream numbers its events from 0 without a gap and ends in one terminal event', async () => {
    const asked = { model: 'sim/text', input: 'Hi', stream: true, reasoning: { effort: 'low' } }
    const text = await (await post(simulator, '/responses', asked)).text()
    const events = eventsOf(text)
    const bodies = jsonEventsOf(text)
    expect(bodies.map((body) => body['sequence_number'])).toEqual(bodies.map((_, index) => index))
    expect(bodies.map((body) => body['type'])).toEqual(events.map((event) => event.name))
    expect(
      bodies.filter((body) => /\.(completed|incomplete|failed)$/.test(String(body['type']))),
    ).toHaveLength(1)
    const final = bodies.at(-1)
    expect(final?.['type']).toBe('response.completed')
    const deltas = bodies.filter((body) => body['type'] === 'response.output_text.delta')
    const said = deltas.map((body) => body['delta']).join('')
    expect(at(final, 'response', 'output', 1, 'content', 0, 'text')).toBe(said)
    expect(at(final, 'response', 'usage', 'output_tokens')).toBe(deltas.length + 8)
  })

  test('a capped stream ends incomplete, with its reason', async () => {
    const asked = { model: 'sim/text', input: 'Hi', stream: true, max_output_tokens: 3 }
    const final = jsonEventsOf(await (await post(simulator, '/responses', asked)).text()).at(-1)
    expect(final?.['type']).toBe('response.incomplete')
    expect(at(final, 'response', 'incomplete_details', 'reason')).toBe('max_output_tokens')
    expect(at(final, 'response', 'usage', 'output_tokens')).toBe(3)
  })

  test('a function is called in a stream, and its output is answered', async () => {
    const tool = { ...WEATHER.function, type: 'function' as const, strict: false }
    const stream = await openaiOf(simulator).responses.create({
      model: 'sim/text',
      input: 'Weather?',
      tools: [tool],
      tool_choice: { type: 'function', name: 'get_weather' },
      stream: true,
    })
    let pieces = ''
    let finalArguments = ''
    for await (const event of stream) {
      if (event.type === 'response.function_call_arguments.delta') pieces += event.delta
      if (event.type === 'response.completed') {
        const [item] = event.response.output
        if (item?.type === 'function_call') finalArguments = item.arguments
      }
    }
    expect(JSON.parse(pieces)).toEqual({ city: 'Weather?', days: 3 })
    expect(finalArguments).toBe(pieces)
    const second = await openaiOf(simulator).responses.create({
      model: 'sim/text',
      tools: [tool],
      input: [{ type: 'function_call_output', call_id: 'x', output: 'Snow' }],
    })
    expect(second.output_text).toBe('The tool answered: Snow')
  })

  test('thoughts are sealed on request, so that they can be sent back', async () => {
    const asked = { model: 'sim/text', input: 'Hi', reasoning: { effort: 'low' as const } }
    const plain = await openaiOf(simulator).responses.create(asked)
    const sealed = await openaiOf(simulator).responses.create({
      ...asked,
      include: ['reasoning.encrypted_content'],
    })
    expect(plain.output[0]).toMatchObject({ type: 'reasoning', encrypted_content: null })
    expect(at(sealed.output, 0, 'encrypted_content')).toMatch(/^[0-9a-zA-Z+/]+=*$/)
  })

  test('stored conversations are refused', async () => {
    const base = { model: 'sim/text', input: 'Hi' }
    expect((await post(simulator, '/responses', { ...base, store: true })).status).toBe(400)
    const later = { ...base, previous_response_id: 'resp_1' }
    expect((await post(simulator, '/responses', later)).status).toBe(400)
  })

  // `required` of ResponseResource in the schema of Open Responses, read 2026-11-25.
  const REQUIRED = [
    ...['id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model'],
    ...['previous_response_id', 'instructions', 'output', 'error', 'tools', 'tool_choice'],
    ...['truncation', 'parallel_tool_calls', 'text', 'top_p', 'presence_penalty'],
    ...['frequency_penalty', 'top_logprobs', 'temperature', 'reasoning', 'user', 'usage'],
    ...['max_output_tokens', 'max_tool_calls', 'store', 'background', 'service_tier', 'metadata'],
    ...['safety_identifier', 'prompt_cache_key'],
  ]

  test('whole and streamed answers have every field that Open Responses requires', async () => {
    const asked = { model: 'sim/text', input: 'Hi', tools: [{ type: 'function', name: 'now' }] }
    const whole: unknown = await (await post(simulator, '/responses', asked)).json()
    const streamed = await (await post(simulator, '/responses', { ...asked, stream: true })).text()
    const inside = jsonEventsOf(streamed).flatMap((event) => {
      const response = at(event, 'response')
      return response === undefined ? [] : [response]
    })
    expect(inside).toHaveLength(3)
    for (const body of [whole, ...inside]) {
      expect(Object.keys(Object(body))).toEqual(expect.arrayContaining(REQUIRED))
      expect(at(body, 'tools', 0)).toMatchObject({
        ...{ description: null, parameters: null, strict: null },
      })
    }
  })
})
