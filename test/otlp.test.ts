import { request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from './otlp-collector.ts'
import { startRawServer } from './raw-server.ts'
import { startWorld, type World } from './world.ts'

const PROMPT = 'the-secret-of-the-prompt'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const DURATION = 'gen_ai.client.operation.duration'
const TOKENS = 'gen_ai.client.token.usage'
/** A collector that takes traces alone. */
const TRACES_ONLY = { OTEL_METRICS_EXPORTER: 'none' }

let collector: OtlpCollector
let world: World | null
let apiKey: string

beforeEach(async () => {
  collector = await startOtlpCollector()
  world = null
})

afterEach(async () => {
  await world?.close()
  await collector.close()
})

async function open(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  world = await startWorld({
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, ...settings },
  })
  ;({ apiKey } = await world.account())
  return world
}

interface Sent {
  readonly path?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly fault?: Fault
}

async function send(to: World, { path = '/v1/chat/completions', ...sent }: Sent = {}) {
  if (sent.fault !== undefined) to.simulator.script(sent.fault)
  const answer = await request(to.url(path), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...sent.headers },
    body: JSON.stringify({
      model: 'sim/text',
      messages: [{ role: 'user', content: PROMPT }],
      ...sent.body,
    }),
  })
  return { statusCode: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

/** Stops the gateway, which sends what it has, and returns the points of a histogram. */
async function pointsOf(to: World, name: string) {
  await to.gateway.close()
  return collector.points.filter((point) => point.name === name)
}

/** Stops the gateway, which sends what it has, and returns the spans of requests and their steps. */
async function spansOf(to: World) {
  await to.gateway.close()
  const requests = collector.spans.filter(({ kind }) => kind === 2)
  const steps = (parent: CollectedSpan | undefined) =>
    collector.spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
  return { requests, steps }
}

test('a request is one span by the conventions of HTTP and GenAI, with its steps as children', async () => {
  const to = await open({
    ...TRACES_ONLY,
    OTEL_SERVICE_NAME: 'gate',
    OTEL_RESOURCE_ATTRIBUTES: 'team=one',
  })
  const answer = await send(to)
  const { requests, steps } = await spansOf(to)
  expect(requests).toHaveLength(1)
  const [span] = requests
  expect(span).toMatchObject({ name: 'chat sim/text', parentSpanId: '', statusCode: 0 })
  expect(span?.resource).toMatchObject({ 'service.name': 'gate', team: 'one' })
  expect(span?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': '127.0.0.1',
    'gen_ai.request.model': 'sim/text',
    'gen_ai.request.stream': false,
    'gen_ai.response.id': expect.stringMatching(/^gen-/),
    'gen_ai.usage.input_tokens': expect.any(Number),
    'gen_ai.usage.output_tokens': expect.any(Number),
    'gen_ai.usage.cache_read.input_tokens': 0,
    'gen_ai.usage.cache_write.input_tokens': 0,
    'gen_ai.usage.reasoning.output_tokens': 0,
    'tollgate.request.id': answer.headers['x-request-id'],
    'tollgate.account.id': expect.stringMatching(/^acct_/),
    'tollgate.api_key.id': expect.stringMatching(/^key_/),
    'tollgate.charge.state': 'provisional',
    'tollgate.charge.micros': Number(answer.headers['x-service-cost']),
    'tollgate.hold.micros': expect.any(Number),
  })
  const children = steps(span)
  expect(children.map(({ name, kind }) => [name, kind])).toEqual([
    ['hold', 1],
    ['upstream', 3],
    ['settle', 1],
  ])
  const port = Number(new URL(to.simulator.baseUrl).port)
  expect(children[1]?.attributes).toEqual({ 'server.address': '127.0.0.1', 'server.port': port })
  for (const child of children) {
    expect(child.traceId).toBe(span?.traceId)
    expect(child.startMs).toBeGreaterThanOrEqual(span?.startMs ?? 0)
    expect(child.endMs).toBeLessThanOrEqual(span?.endMs ?? 0)
  }
  expect(collector.batches[0]?.path).toBe('/v1/traces')
  expect(collector.batches[0]?.headers['content-type']).toBe('application/x-protobuf')
})

test.each([
  ['/v1/completions', { model: 'sim/text', prompt: PROMPT }, 'text_completion sim/text'],
  ['/v1/messages', { max_tokens: 16 }, 'chat sim/text'],
  ['/v1/responses', { input: PROMPT, max_output_tokens: 16 }, 'chat sim/text'],
  ['/v1/embeddings', { model: 'sim/embed', input: PROMPT }, 'embeddings sim/embed'],
  ['/v1/images', { model: 'sim/image', prompt: PROMPT }, 'generate_content sim/image'],
])('a request of %s is named by its operation and its model', async (path, body, name) => {
  const to = await open(TRACES_ONLY)
  const answer = await send(to, { path, body })
  expect(answer.statusCode).toBe(200)
  const { requests } = await spansOf(to)
  expect(requests.map((span) => [span.name, span.attributes['http.route']])).toEqual([[name, path]])
})

test("a caller's trace continues here, is not sent to the provider, and is left out if the caller does not sample it", async () => {
  const to = await open(TRACES_ONLY)
  await send(to, { headers: { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=b' } })
  await send(to, { headers: { traceparent: `00-${TRACE}-${SPAN}-00` } })
  await send(to, { headers: { traceparent: 'nonsense' } })
  const { requests } = await spansOf(to)
  expect(requests.map(({ traceId, parentSpanId }) => [traceId === TRACE, parentSpanId])).toEqual([
    [true, SPAN],
    [false, ''],
  ])
  const headers = to.simulator.requests.flatMap((sent) => Object.keys(sent.headers))
  expect(headers).toContain('authorization')
  expect(headers).not.toContain('traceparent')
  expect(headers).not.toContain('tracestate')
})

test('a failed span says why, and a fault of the client is not an error', async () => {
  const to = await open(TRACES_ONLY)
  await send(to, { body: { model: 'no/such' } })
  await send(to, { fault: { status: 500 } })
  await send(to, {
    body: { stream: true },
    fault: { cut: { at: { afterEvents: 2 }, how: 'reset' } },
  })
  const { requests, steps } = await spansOf(to)
  expect(
    requests.map(({ name, attributes, statusCode }) => [
      name,
      attributes['http.response.status_code'],
      attributes['error.type'],
      statusCode,
    ]),
  ).toEqual([
    ['chat', 404, 'model_not_found', 0],
    ['chat sim/text', 502, 'upstream_error', 2],
    ['chat sim/text', 200, 'upstream_disconnected', 2],
  ])
  expect(steps(requests[0])).toEqual([])
  expect(steps(requests[1]).map(({ name, statusCode }) => [name, statusCode])).toEqual([
    ['hold', 0],
    ['upstream', 2],
    ['settle', 0],
  ])
  expect(requests[2]?.attributes['gen_ai.response.time_to_first_chunk']).toEqual(expect.any(Number))
})

test('no prompt, answer, key or unknown model name is in any byte that the collector gets', async () => {
  const to = await open({ ...TRACES_ONLY, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc' })
  await send(to, { fault: { act: { say: 'the-secret-of-the-answer' } } })
  await send(to, { body: { model: `no/${PROMPT}` } })
  const { requests } = await spansOf(to)
  expect(requests).toHaveLength(2)
  expect(collector.batches[0]?.headers.authorization).toBe('Basic abc')
  for (const secret of [PROMPT, 'the-secret-of-the-answer', apiKey, 'upstream-key']) {
    expect(collector.received).not.toContain(secret)
  }
  expect(to.log.join('')).not.toContain('Basic abc')
})

test('a sampler that keeps nothing sends nothing', async () => {
  const to = await open({ ...TRACES_ONLY, OTEL_TRACES_SAMPLER: 'always_off' })
  await send(to)
  const { requests } = await spansOf(to)
  expect(requests).toEqual([])
  expect(collector.batches).toEqual([])
})

test('a collector that refuses fails no request, and is logged once, and once more when it is back', async () => {
  const to = await open(TRACES_ONLY)
  collector.answerWith(400)
  const away = () => to.log.filter((line) => line.includes('refuses traces'))
  for (let batch = 1; batch <= 3; batch++) {
    expect((await send(to)).statusCode).toBe(200)
    await expect.poll(() => collector.batches.length).toBe(batch)
  }
  await expect.poll(away).toHaveLength(1)
  collector.answerWith(200)
  expect((await send(to)).statusCode).toBe(200)
  await expect
    .poll(() => to.log.filter((line) => line.includes('accepts traces again')))
    .toHaveLength(1)
  expect(away()).toHaveLength(1)
})

test('a collector that takes a batch and never answers keeps no request and no stop waiting', async () => {
  const taken = Promise.withResolvers<void>()
  const silent = await startRawServer((socket) => socket.once('data', () => taken.resolve()))
  const to = await open({
    ...TRACES_ONLY,
    OTEL_EXPORTER_OTLP_ENDPOINT: silent.baseUrl,
    OTEL_METRICS_EXPORTER: 'otlp',
  })
  expect((await send(to)).statusCode).toBe(200)
  await taken.promise
  expect((await send(to)).statusCode).toBe(200)
  // Within the time that a test has, and long before the collector's own time is over.
  await to.gateway.close()
  await silent.close()
})

test('calls of upstreams are two histograms by the GenAI conventions, with the boundaries that these name', async () => {
  const to = await open({ OTEL_SERVICE_NAME: 'gate' })
  const answers = [await send(to), await send(to)]
  const [duration, ...others] = await pointsOf(to, DURATION)
  expect(others).toEqual([])
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': '127.0.0.1',
    'gen_ai.request.model': 'sim/text',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(to.simulator.baseUrl).port),
  }
  expect(duration).toMatchObject({ unit: 's', count: 2, resource: { 'service.name': 'gate' } })
  expect(duration?.attributes).toEqual(attributes)
  expect(duration?.sum).toBeGreaterThan(0)
  expect(duration?.bounds).toEqual([
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
  ])
  const usages = answers.map(({ text }) => JSON.parse(text).usage)
  const tokens = await pointsOf(to, TOKENS)
  expect(tokens.map(({ attributes: of, count, sum }) => [of, count, sum])).toEqual(
    (['input', 'output'] as const).map((type) => [
      { ...attributes, 'gen_ai.token.type': type },
      2,
      usages.reduce(
        (sum, usage) => sum + usage[type === 'input' ? 'prompt_tokens' : 'completion_tokens'],
        0,
      ),
    ]),
  )
  expect(tokens[0]?.unit).toBe('{token}')
  expect(tokens[0]?.bounds).toEqual([
    1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
  ])
})

test('a call that failed says why, and a request that called no upstream is not counted', async () => {
  const to = await open()
  await send(to, { body: { model: `no/${PROMPT}` } })
  await send(to, { fault: { status: 500 } })
  await send(to, { path: '/v1/embeddings', body: { model: 'sim/embed', input: PROMPT } })
  const points = await pointsOf(to, DURATION)
  expect(
    points.map(({ count, attributes: of }) => [
      of['gen_ai.operation.name'],
      of['error.type'],
      count,
    ]),
  ).toEqual([
    ['chat', 'upstream_error', 1],
    ['embeddings', undefined, 1],
  ])
  const tokens = await pointsOf(to, TOKENS)
  expect(tokens.map(({ attributes: of }) => of['gen_ai.token.type'])).toEqual(['input'])
  expect(collector.received).not.toContain(PROMPT)
})

test('metrics are exported at their interval, and a refused export is part of the next one', async () => {
  const to = await open({ OTEL_METRIC_EXPORT_INTERVAL: '20', OTEL_TRACES_SAMPLER: 'always_off' })
  collector.answerWith(400)
  expect((await send(to)).statusCode).toBe(200)
  const said = (words: string) => to.log.filter((line) => line.includes(words))
  await expect.poll(() => said('refuses metrics')).toHaveLength(1)
  collector.answerWith(200)
  await expect.poll(() => said('accepts metrics again')).toHaveLength(1)
  expect(collector.points.find(({ name }) => name === DURATION)?.count).toBe(1)
})

test('a collector of traces alone gets no metrics', async () => {
  const to = await open(TRACES_ONLY)
  await send(to)
  await to.gateway.close()
  expect(collector.batches.map(({ path }) => path)).toEqual(['/v1/traces'])
})
