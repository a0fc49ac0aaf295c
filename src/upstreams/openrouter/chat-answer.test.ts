import { describe, expect, test } from 'vitest'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { chat, completions, embeddings, images } from './chat.ts'
import { answerFixture, answerOf, plainReport, reportOf } from './testing/exchange.ts'

describe('the report of a whole answer', () => {
  test.each([
    ['chat-basic.json', chat, '21 in, 9 out', '0.000198', '001-aB3dE5fG7hJ9kL1mN2pQ'],
    ['chat-cache.json', chat, '500 in, 20,000 read, 10,000 written, 120 out', '0.0468', '007-cc'],
    ['chat-web-search.json', chat, '5,200 in, 350 out, 3 searches', '0.05085', '009-ws'],
    ['chat-image-in-reply.json', chat, '900 in, 1,300 out, 1,290 images', '0.038995', '010-im'],
    ['completions-basic.json', completions, '6 in, 8 out', '0.000025', '101'],
    ['completions-chat-shaped.json', completions, '2 in, 1 out', '0.000005', '110'],
    ['embeddings-basic.json', embeddings, '2 in', '0.00000004', '401'],
    ['embeddings-base64.json', embeddings, '2 in', '0.00000004', '403'],
    ['embeddings-no-cost.json', embeddings, '2 in', null, '405'],
    ['embeddings-no-cost-no-id.json', embeddings, '2 in', null, null],
    ['embeddings-no-id.json', embeddings, '2 in', '0.00000004', null],
    ['images-basic.json', images, '4,175 out, 4,175 images', '0.0399965', null],
  ])('%s', (fileName, format, counts, cost, generation) => {
    const reading = format.readAnswer(answerFixture(fileName))
    expect(reading.kind).toBe('success')
    expect(plainReport(reading.reported)).toEqual(reportOf({ counts, cost, generation }))
  })

  test('an image never has a generation id, even if its answer has one', () => {
    expect(
      images.readAnswer(answerOf({ id: 'gen-1', created: 1 })).reported.generationId,
    ).toBeNull()
    expect(images.readAnswer(answerOf({ id: 'gen-1', error: {} })).reported.generationId).toBeNull()
  })

  test('a cost is read from its digits, and the cost on own provider keys is added', () => {
    const costOf = (usage: string) =>
      plainReport(chat.readAnswer(answerOf(`{"usage":${usage}}`)).reported).cost
    expect(costOf('{"cost":0.1000000000000000055511151231257827}')).toBe(
      '0.1000000000000000055511151231257827',
    )
    expect(costOf('{"cost":4e-8}')).toBe('0.00000004')
    expect(costOf('{"cost":0}')).toBe('0')
    expect(
      costOf('{"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.2}}'),
    ).toBe('0.21')
    expect(
      costOf('{"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":null}}'),
    ).toBe('0.01')
    expect(
      costOf('{"cost":0.01,"is_byok":false,"cost_details":{"upstream_inference_cost":0.2}}'),
    ).toBe('0.01')
    for (const none of ['-0.5', 'null', '"0.5"', '{}', 'true'])
      expect(costOf(`{"cost":${none}}`)).toBeNull()
  })

  test.each([
    [
      { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 30 } },
      usageOf('0 in, 10 read, 2 out'),
    ],
    [{ prompt_tokens: 10 }, usageOf('10 in')],
    [
      { completion_tokens: 2, server_tool_use: { web_search_requests: 1 } },
      usageOf('2 out, 1 search'),
    ],
    [{ prompt_tokens: -1, completion_tokens: 1.5 }, null],
    [{ prompt_tokens: '10' }, null],
    [{ total_tokens: 10 }, null],
    [[], null],
    [null, null],
  ])('usage %j', (usage, expected) => {
    expect(chat.readAnswer(answerOf({ usage })).reported.usage).toEqual(expected)
  })

  test.each([
    ['chat-error-body.json', { usage: null, cost: null, generationId: null }],
    [
      'chat-choice-error.json',
      {
        usage: usageOf('40 in, 15 out'),
        cost: '0',
        generationId: 'gen-1795000015-pe',
      },
    ],
  ])('%s is an error with status 200', (fileName, expected) => {
    const reading = chat.readAnswer(answerFixture(fileName))
    expect(reading).toMatchObject({ kind: 'error', error: { httpStatus: 502 } })
    expect(plainReport(reading.reported)).toEqual(expected)
  })

  test.each([
    [{ choices: [{ finish_reason: 'stop' }, { finish_reason: 'stop', error: { message: 'x' } }] }],
    [{ error: 'overloaded' }],
    [{ error: {} }],
    [{ type: 'error' }],
    [{ object: 'error', message: 'x', code: 400 }],
    [{ choices: [{ finish_reason: 'error' }] }],
    [{ choices: [{ text: '', finish_reason: 'error' }] }],
    [
      {
        choices: [
          { message: { content: '', reasoning: 'Hm', tool_calls: [] }, finish_reason: 'error' },
        ],
      },
    ],
  ])('%j is an error', (answer) => {
    expect(chat.readAnswer(answerOf(answer)).kind).toBe('error')
  })

  test.each([
    [{}],
    [{ error: null, choices: [{ error: null, finish_reason: 'stop' }] }],
    [{ choices: null }],
    [{ choices: ['error'] }],
    [{ choices: [{ message: { content: 'Half' }, finish_reason: 'error' }] }],
    [{ choices: [{ text: 'Half', finish_reason: 'error' }] }],
    [{ choices: [{ message: { tool_calls: [{ id: 'call_1' }] }, finish_reason: 'error' }] }],
    [{ choices: [{ finish_reason: 'error' }, { message: { content: 'Whole' } }] }],
  ])('%j is not an error', (answer) => {
    expect(chat.readAnswer(answerOf(answer)).kind).toBe('success')
  })

  test.each([[''], [7], [null], ['a b'], ['gen-\u00e9'], ['g'.repeat(201)]])(
    'an ID of %j is not a generation ID',
    (id) => {
      expect(chat.readAnswer(answerOf({ id })).reported.generationId).toBeNull()
    },
  )
})
