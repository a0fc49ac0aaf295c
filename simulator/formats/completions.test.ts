import { describe, expect, test } from 'vitest'
import { at, jsonOf, openaiOf, post, simulatorOfFile } from '../test/client.ts'

const simulator = simulatorOfFile()

describe('legacy completions', () => {
  test('each prompt of a list is answered n times, and best_of is billed', async () => {
    const asked = { model: 'sim/text', prompt: ['One', 'Two'], n: 2, best_of: 3, max_tokens: 4 }
    const body = await jsonOf(await post(simulator, '/completions', asked))
    expect(body['object']).toBe('text_completion')
    expect(at(body, 'choices')).toHaveLength(4)
    expect(at(body, 'usage', 'completion_tokens')).toBe(2 * 3 * 4)
  })

  test('the openai client reads a stream that adds up to the plain answer', async () => {
    const plain = await openaiOf(simulator).completions.create({
      model: 'sim/text',
      prompt: 'Once',
    })
    let text = ''
    const stream = await openaiOf(simulator).completions.create({
      model: 'sim/text',
      prompt: 'Once',
      stream: true,
    })
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? ''
    expect(text).toBe(plain.choices[0]?.text)
  })

  test('a request without a prompt, and a model without legacy completions, are refused', async () => {
    expect((await post(simulator, '/completions', { model: 'sim/text' })).status).toBe(400)
    const asked = { model: 'sim/image-chat', prompt: 'x' }
    expect((await post(simulator, '/completions', asked)).status).toBe(400)
  })
})
