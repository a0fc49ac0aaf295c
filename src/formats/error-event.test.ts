import { expect, test } from 'vitest'
import { PROBLEMS, Problem } from '../vocabulary/problem.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { images } from './images.ts'
import { responses } from './responses.ts'
import { eventOf } from './testing/exchange.ts'

test('the error event continues the stream without any text of the provider', () => {
  const problem = new Problem('upstream_error')
  const data =
    '{"id":"gen-1","object":"chat.completion.chunk","created":1795000000,"model":"acme/sage-pro","provider":"SECRET",' +
    '"error":{"code":502,"message":"SECRET","metadata":{"raw":"SECRET"}},"user_id":"SECRET","choices":[{"index":0,"delta":{"content":"SECRET"},"finish_reason":"error"}]}'
  const frame = chat.errorEvent({ problem, requestId: 'req_1', event: eventOf(data) })
  expect(frame).toBe(
    'data: {"id":"gen-1","object":"chat.completion.chunk","created":1795000000,"model":"acme/sage-pro",' +
      `"error":{"message":"${problem.message}","type":"api_error","code":"upstream_error","param":null},` +
      '"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n',
  )
})

test('the error event of a named event is named, and whole even for invalid chunks', () => {
  const frame = chat.errorEvent({
    problem: new Problem('provider_rate_limited'),
    requestId: 'req_1',
    event: eventOf('SECRET', 'error'),
  })
  expect(frame).toMatch(/^event: error\ndata: \{"error":\{.*\},"choices":\[.*\]\}\n\n$/)
  expect(frame).not.toContain('SECRET')
})

test('the error event of a legacy completion has choices', () => {
  const frame = completions.errorEvent({
    problem: new Problem('upstream_error'),
    requestId: 'req_1',
    event: eventOf(
      '{"id":"gen-1795000109","provider":"Acme","model":"acme/legacy-instruct","object":"text_completion","created":1795000000,"choices":[{"index":0,"text":"","finish_reason":"error","native_finish_reason":"error","logprobs":null}],"error":{"code":502,"message":"Provider disconnected"}}',
    ),
  })
  expect(JSON.parse(frame.slice('data: '.length))).toEqual({
    id: 'gen-1795000109',
    object: 'text_completion',
    created: 1_795_000_000,
    model: 'acme/legacy-instruct',
    error: {
      message: PROBLEMS.upstream_error.message,
      type: 'api_error',
      code: 'upstream_error',
      param: null,
    },
    choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'error' }],
  })
})

test('a failed response keeps only the numbers of its usage', () => {
  const usage = {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 3, note: 'SECRET' },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 'SECRET',
    cost: 0.0005,
    SECRET: 1,
  }
  const failed = (response: object) =>
    responses.errorEvent({
      problem: new Problem('upstream_error'),
      requestId: 'req_1',
      event: eventOf(JSON.stringify({ type: 'response.failed', response })),
    })
  const frame = failed({ id: 'resp_1', status: 'failed', usage })
  expect(frame).not.toContain('SECRET')
  expect(JSON.parse(frame.slice(frame.indexOf('{')))).toMatchObject({
    response: {
      status: 'failed',
      usage: {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 2 },
        cost: 0.0005,
      },
    },
  })
  for (const none of [{}, { usage: null }, { usage: 'SECRET' }]) {
    expect(failed(none)).toContain('"usage":null')
  }
})

test.each([
  ['images', images, '{"type":"error","error":'],
  ['embeddings', embeddings, '{"error":'],
])('the error event of %s is the envelope', (_, format, start) => {
  const problem = new Problem('content_policy_violation', { httpStatus: 400 })
  const frame = format.errorEvent({
    problem,
    requestId: 'req_1',
    event: eventOf('{"message":"SECRET"}'),
  })
  const error = {
    message: problem.message,
    type: 'invalid_request_error',
    code: problem.code,
    param: null,
  }
  expect(frame).toBe(`data: ${start}${JSON.stringify(error)}}\n\n`)
})

test('an error event does not keep an id with spaces', () => {
  const event = eventOf('{"id":"the SECRET of the provider","model":"acme/sage-pro"}')
  const frame = chat.errorEvent({
    problem: new Problem('upstream_error'),
    requestId: 'req_1',
    event,
  })
  expect(frame).not.toContain('SECRET')
  expect(frame).toContain('"model":"acme/sage-pro"')
})
