import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { type OtlpCollector, startOtlpCollector } from './otlp-collector.ts'
import { startWorld, type World } from './world.ts'

const PROMPT = 'the-secret-of-the-prompt'
const DURATION = 'gen_ai.client.operation.duration'
const TOKENS = 'gen_ai.client.token.usage'

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
  readonly fault?: Fault
}

async function send(to: World, { path = '/v1/chat/completions', body, fault }: Sent = {}) {
  if (fault !== undefined) to.simulator.script(fault)
  const chat = { model: 'sim/text', messages: [{ role: 'user', content: PROMPT }] }
  const answer = await to.send(apiKey, { ...chat, ...body }, path)
  return { httpStatus: answer.status, text: await answer.text() }
}

/** Stops the gateway, which sends what it has, and returns the points of a histogram. */
async function pointsOf(to: World, name: string) {
  await to.gateway.close()
  return collector.points.filter((point) => point.name === name)
}

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

test('metrics go out by their interval, and an export that was refused is in the next one', async () => {
  const to = await open({ OTEL_METRIC_EXPORT_INTERVAL: '20', OTEL_TRACES_SAMPLER: 'always_off' })
  collector.answerWith(400)
  expect((await send(to)).httpStatus).toBe(200)
  const said = (words: string) => to.log.filter((line) => line.includes(words))
  await expect.poll(() => said('refuses metrics')).toHaveLength(1)
  collector.answerWith(200)
  await expect.poll(() => said('accepts metrics again')).toHaveLength(1)
  expect(collector.points.find(({ name }) => name === DURATION)?.count).toBe(1)
})

test('a collector of traces alone gets no metrics', async () => {
  const to = await open({ OTEL_METRICS_EXPORTER: 'none' })
  await send(to)
  await to.gateway.close()
  expect(collector.batches.map(({ path }) => path)).toEqual(['/v1/traces'])
})
