import { describe, expect, test } from 'vitest'
import {
  at,
  eventsOf,
  jsonEventsOf,
  jsonOf,
  post,
  question,
  simulatorOfFile,
  WEATHER,
} from '../test/client.ts'

const simulator = simulatorOfFile()

describe('messages', () => {
  test('a plain message has blocks, a stop reason, and a usage whose input is without the cache', async () => {
    const asked = question('Hi', {
      model: 'sim/cached',
      max_tokens: 500,
      system: [
        { type: 'text', text: 'c'.repeat(400), cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
    })
    const body = await jsonOf(await post(simulator, '/messages', asked))
    expect(body).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    expect(at(body, 'content', 0, 'text')).toContain('"Hi"')
    expect(at(body, 'usage')).toMatchObject({
      input_tokens: 4,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 100 },
    })
    const output = Number(at(body, 'usage', 'output_tokens'))
    expect(at(body, 'usage', 'cost')).toBe(Number(`${3 * 4 + 6 * 100 + 15 * output}e-6`))
  })

  test('a marked beginning is read, and the rest is written up to each mark at the time that it names', async () => {
    const marked = (name: string, ttl: '5m' | '1h') => ({
      type: 'text',
      text: name.repeat(400),
      cache_control: { type: 'ephemeral', ttl },
    })
    const countsOf = async (system: readonly ReturnType<typeof marked>[]) => {
      const asked = question('Hi', { model: 'sim/cached', max_tokens: 1, system })
      return at(await jsonOf(await post(simulator, '/messages', asked)), 'usage')
    }
    const [first, second, third] = [marked('d', '1h'), marked('e', '5m'), marked('f', '5m')]
    expect(await countsOf([first, second])).toMatchObject({
      input_tokens: 4,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 100 },
    })
    expect(await countsOf([first, third])).toMatchObject({
      cache_read_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 },
    })
    expect(await countsOf([first, second, third])).toMatchObject({
      cache_read_input_tokens: 200,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 },
    })
  })

  test('a stream has its events in order, each under its own name', async () => {
    const asked = question('Hi', { max_tokens: 40, stream: true, thinking: { type: 'adaptive' } })
    const text = await (await post(simulator, '/messages', asked)).text()
    const events = eventsOf(text)
    for (const event of events) expect(at(JSON.parse(event.text), 'type')).toBe(event.name)
    const order = events.map((event) => event.name).filter((name, i, all) => name !== all[i - 1])
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop']
    expect(order).toEqual([
      'message_start',
      'ping',
      ...block,
      ...block,
      'message_delta',
      'message_stop',
    ])
    const bodies = jsonEventsOf(text)
    expect(at(bodies, 0, 'message', 'usage', 'input_tokens')).toBe(4)
    expect(at(bodies, -2)).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { output_tokens: 40 },
    })
    const kinds = events
      .filter((event) => event.name === 'content_block_delta')
      .map((event) => at(JSON.parse(event.text), 'delta', 'type'))
    expect(new Set(kinds)).toEqual(new Set(['thinking_delta', 'signature_delta', 'text_delta']))
  })

  test('a tool is used when asked for, whole and streamed, and its result is answered', async () => {
    const tools = [{ name: 'get_weather', input_schema: WEATHER.function.parameters }]
    const asked = question('Weather?', { max_tokens: 500, tools, tool_choice: { type: 'any' } })
    const whole = await jsonOf(await post(simulator, '/messages', asked))
    expect(whole['stop_reason']).toBe('tool_use')
    expect(at(whole, 'content', 0)).toMatchObject({
      type: 'tool_use',
      name: 'get_weather',
      input: { days: 3 },
    })
    const streamed = await (await post(simulator, '/messages', { ...asked, stream: true })).text()
    const json = jsonEventsOf(streamed)
      .filter((event) => event['type'] === 'content_block_delta')
      .map((event) => at(event, 'delta', 'partial_json'))
      .join('')
    expect(JSON.parse(json)).toEqual(at(whole, 'content', 0, 'input'))
    const result = {
      type: 'tool_result',
      tool_use_id: 'x',
      content: [{ type: 'text', text: 'Sun' }],
    }
    const second = { ...asked, messages: [{ role: 'user', content: [result] }] }
    const answered = await jsonOf(await post(simulator, '/messages', second))
    expect(at(answered, 'content', 0, 'text')).toBe('The tool answered: Sun')
  })

  test('searches are counted, billed and bounded by max_uses', async () => {
    const tool = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 }
    const asked = question('Please search 5 times', { max_tokens: 1, tools: [tool] })
    const body = await jsonOf(await post(simulator, '/messages', asked))
    expect(at(body, 'usage', 'server_tool_use', 'web_search_requests')).toBe(2)
    const input = Number(at(body, 'usage', 'input_tokens'))
    expect(at(body, 'usage', 'cost')).toBe(Number(`${input + 4 + 2 * 10_000}e-6`))
  })

  test('a model with its own IDs names the generation only in the header', async () => {
    const response = await post(
      simulator,
      '/messages',
      question('Hi', { model: 'sim/dated', max_tokens: 9 }),
    )
    const body = await jsonOf(response)
    expect(body['id']).toMatch(/^msg_/)
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-/)
  })
})
