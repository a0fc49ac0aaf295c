import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { chatAt, type ServeProcess } from '../tollgate-process.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench } from './crash-bench.ts'
import { startFedUpstream } from './fed-upstream.ts'
import { watchStore } from './watch-store.ts'

const LOST = 4
const LOST_COST_USD = 0.002
const LOOKED_UP_MICROS = 2_100
const LIVE_COST_USD = 0.004
const LIVE_CHARGE_MICROS = 4_200

let bench: CrashBench

beforeEach(async () => {
  bench = await openCrashBench({ createDatabase: createPostgresDatabase, apiKeys: 2 })
})

afterEach(() => bench.close())

// The 30 seconds after which a heartbeat counts as stopped are not a setting, so the test waits for them.
test('of three gateways on one store, one that is killed is abandoned and looked up by another, and the stream of the third runs on, to its exact charge', async () => {
  const [liveKey, lostKey] = bench.apiKeys
  const upstream = await startFedUpstream(bench.simulator.baseUrl)
  bench.closing.defer(() => upstream.close())
  const [streaming, abandoning, dying] = await Promise.all([
    bench.serveHere({ UPSTREAM_BASE_URL: upstream.baseUrl }),
    bench.serveHere(),
    bench.serve(),
  ])
  const live = await send(streaming, { apiKey: liveKey.text, stream: true, modelId: 'sim/text' })
  const stream = await upstream.stream()
  const liveId = live.headers.get('x-request-id') ?? ''
  const heard = live.text()

  // An event with each heartbeat of those who live: the stream is busy for as long as it takes.
  let events = 0
  const watch = await watchStore(bench.url, () => stream.write(deltaEvent(`word ${events++} `)))
  bench.closing.defer(() => watch.close())

  await loseRequests(dying, lostKey?.text ?? '')
  await watch.abandoned(LOST)
  expect(events).toBeGreaterThan(6)
  const abandoned = await bench.requests()
  expect(abandoned.find(({ id }) => id === liveId)).toMatchObject({ state: 'open', swept: false })
  expect(abandoned.filter(({ state }) => state === 'open')).toHaveLength(1)
  expect(abandoned).toHaveLength(1 + LOST)
  // No process restarts for it, and it takes less than the minutes between two looks at the whole store.
  await bench.until((rows) =>
    rows.some((row) => row.state === 'final' && row.backedChargeMicros === LOOKED_UP_MICROS),
  )
  await bench.audit()

  stream.write(lastEvent())
  stream.write('data: [DONE]\n\n')
  stream.end()
  expect(await heard).toBe(stream.written)
  const rows = await bench.until((found) =>
    found.some(({ id, state }) => id === liveId && state !== 'open'),
  )
  expect(rows.find(({ id }) => id === liveId)).toMatchObject({
    state: 'final',
    backedChargeMicros: LIVE_CHARGE_MICROS,
    swept: false,
  })
  bench.simulator.gate().release()
  await streaming.close()
  await abandoning.close()

  await theLedgerIsExact()
})

/** Has requests in flight at a gateway, one of them a stream whose generation id is known, and kills it. */
async function loseRequests(dying: ServeProcess, apiKey: string): Promise<void> {
  bench.simulator.script([
    { model: 'sim/text', hold: 'beforeHeaders', times: 'always' },
    { model: 'sim/open', hold: { afterEvents: 3 }, lookupCostUsd: LOST_COST_USD },
  ])
  const lost = Array.from({ length: LOST }, async (_, place) => {
    const asked = { apiKey, stream: place === 0 }
    const answer = send(dying, { ...asked, modelId: place === 0 ? 'sim/open' : 'sim/text' })
    return answer.then((begun) => begun.text()).catch(() => 'lost')
  })
  await bench.simulator.gate().arrived(LOST)
  await bench.until((rows) => rows.some(({ generationId }) => generationId !== null))
  expect(await dying.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  expect(await Promise.all(lost)).toEqual(Array(LOST).fill('lost'))
}

async function theLedgerIsExact(): Promise<void> {
  const inTheEnd = await bench.requests()
  expect(inTheEnd.map(({ state }) => state).toSorted()).toEqual([
    'final',
    'final',
    ...Array(LOST - 1).fill('unresolved'),
  ])
  const entries = await bench.entries()
  expect(entries.map(({ amountMicros }) => amountMicros)).toEqual([
    CREDIT_MICROS,
    -LOOKED_UP_MICROS,
    -LIVE_CHARGE_MICROS,
  ])
  await bench.audit()
}

interface Sent {
  readonly apiKey: string
  readonly stream: boolean
  readonly modelId: string
}

function send(
  gateway: Pick<ServeProcess, 'address'>,
  { apiKey, stream, modelId }: Sent,
): Promise<Response> {
  return chatAt(gateway, apiKey, { model: modelId, max_tokens: 4_096, stream })
}

function deltaEvent(content: string): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }]
  return event({ choices })
}

/** It names no generation, so that its charge is final. */
function lastEvent(): string {
  const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46, cost: LIVE_COST_USD }
  return event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })
}

function event(fields: object): string {
  const chunk = { object: 'chat.completion.chunk', created: 1, model: 'sim/text', ...fields }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
