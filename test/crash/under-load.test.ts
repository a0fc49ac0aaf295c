import { describe, expect, test } from 'vitest'
import type { RecordedRequest } from '../../simulator/recorder.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { MADE_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { chatAt, type ServeProcess } from '../tollgate-process.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench } from './crash-bench.ts'
import { withRandomKills } from './random-kills.ts'

const KILLS = 3
const KEYS = 6
const LANES_A_KEY = 4
const CHARGE_MICROS = 1_050

describe.each(MADE_DATABASES)('kill -9 under load on $engine', ({ create }) => {
  test(`${KILLS} times at any moment: every answered request is in the ledger, and nothing else is charged`, () =>
    withRandomKills({ kills: KILLS, answersMax: 60 }, (killedAfter) =>
      surviveKills({ createDatabase: create, killedAfter }),
    ))
})

interface Kills {
  readonly createDatabase: () => Promise<TestDatabase>
  readonly killedAfter: readonly number[]
}

async function surviveKills({ createDatabase, killedAfter }: Kills): Promise<void> {
  const bench = await openCrashBench({ createDatabase, apiKeys: KEYS })
  try {
    bench.simulator.script({ costUsd: 0.001, lookupCostUsd: 0.001, times: 'always' })
    const received: ClientAnswer[] = []
    for (const [place, answers] of killedAfter.entries()) {
      await bench.bury()
      const gateway = await bench.serve()
      const keysWithWhole = place === killedAfter.length - 1 ? KEYS : 0
      received.push(...(await loadUntilKilled(bench, { gateway, answers, keysWithWhole })))
    }
    await bench.bury()
    const last = await bench.serveHere()
    const rows = await bench.until((found) => found.every(isKnown))
    await last.close()
    await bench.audit()
    await ledgerAgrees(bench, { rows, received })
  } finally {
    await bench.close()
  }
}

/** Whether nothing more can be learned of it. */
function isKnown({ state, generationId }: RequestRow): boolean {
  return (
    state === 'final' || state === 'released' || (state === 'unresolved' && generationId === null)
  )
}

/** A whole answer, as its client had it. */
interface ClientAnswer {
  readonly requestId: string
  /** 503: on a machine with much other work the store may not answer for seconds. */
  readonly httpStatus: 200 | 503
  /** Null: a stream, which names no cost, or a refusal. */
  readonly costMicros: number | null
}

interface Load {
  readonly gateway: ServeProcess
  /** Kills the gateway once so many answers were heard. */
  readonly answers: number
  /** Also until this many keys had a call that is not a stream: the last gateway leaves something to compare of each. */
  readonly keysWithWhole: number
}

/** Every lane sends one request after another, until its connection is lost. */
async function loadUntilKilled(
  bench: CrashBench,
  { gateway, answers, keysWithWhole }: Load,
): Promise<ClientAnswer[]> {
  const received: ClientAnswer[] = []
  const withWhole = new Set<string>()
  let answered = 0
  const enough = Promise.withResolvers<void>()
  const runLane = async (lane: number): Promise<void> => {
    const apiKey = bench.apiKeys[lane % KEYS]?.text ?? ''
    for (let place = lane; ; place++) {
      const heard = await ask(gateway, { apiKey, lane, stream: place % 2 === 0 })
      if (heard === null) return
      received.push(heard)
      if (heard.httpStatus !== 200) continue
      answered++
      if (heard.costMicros !== null) withWhole.add(apiKey)
      if (answered >= answers && withWhole.size >= keysWithWhole) enough.resolve()
    }
  }
  const lanes = Promise.all(Array.from({ length: KEYS * LANES_A_KEY }, (_, lane) => runLane(lane)))
  await Promise.race([enough.promise, lanes])
  expect(await gateway.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  await lanes
  return received
}

interface Asked {
  readonly apiKey: string
  readonly lane: number
  readonly stream: boolean
}

/** Null where the gateway was killed before the answer was whole. */
async function ask(
  gateway: ServeProcess,
  { apiKey, lane, stream }: Asked,
): Promise<ClientAnswer | null> {
  let answer: Response
  let text: string
  try {
    const messages = [{ role: 'user', content: `lane ${lane}` }]
    answer = await chatAt(gateway, apiKey, { max_tokens: 16, stream, messages })
    text = await answer.text()
  } catch {
    return null
  }
  const requestId = answer.headers.get('x-request-id') ?? ''
  if (answer.status === 503) return { requestId, httpStatus: 503, costMicros: null }
  expect(answer.status, text).toBe(200)
  if (stream && !text.endsWith('data: [DONE]\n\n')) return null
  const cost = answer.headers.get('x-service-cost')
  return { requestId, httpStatus: 200, costMicros: cost === null ? null : Number(cost) }
}

interface LoadRecord {
  readonly rows: readonly RequestRow[]
  readonly received: readonly ClientAnswer[]
}

async function ledgerAgrees(bench: CrashBench, { rows, received }: LoadRecord): Promise<void> {
  const charged = rows.filter(({ state }) => state === 'final')
  for (const { backedChargeMicros } of charged) expect(backedChargeMicros).toBe(CHARGE_MICROS)
  const chargedIds = new Set(charged.map(({ id }) => id))
  const openedIds = new Set(rows.map(({ id }) => id))
  const costs = received.filter(({ costMicros }) => costMicros !== null)
  expect(costs.length).toBeGreaterThan(0)
  for (const { requestId, costMicros } of costs) {
    expect(costMicros).toBe(CHARGE_MICROS)
    expect(chargedIds).toContain(requestId)
  }
  const releasedIds = new Set(rows.filter(({ state }) => state === 'released').map(({ id }) => id))
  for (const { requestId, httpStatus } of received) {
    if (httpStatus === 503) expect(chargedIds).not.toContain(requestId)
    else expect(openedIds.difference(releasedIds)).toContain(requestId)
  }

  let balanceMicros = 0
  for (const { amountMicros } of await bench.entries()) balanceMicros += amountMicros
  expect(balanceMicros).toBe(CREDIT_MICROS - CHARGE_MICROS * charged.length)

  // Every call to the provider had a hold first, and every charge has a call.
  const forwarded = countBy(bench.simulator.requests.filter(isInference), keyPlaceOf)
  const held = countBy(rows, ({ apiKeyId }) => apiKeyId)
  const paid = countBy(charged, ({ apiKeyId }) => apiKeyId)
  for (const [place, { id }] of bench.apiKeys.entries()) {
    const asked = forwarded.get(place) ?? 0
    expect(asked).toBeGreaterThan(0)
    expect(asked).toBeLessThanOrEqual(held.get(id) ?? 0)
    expect(asked).toBeGreaterThanOrEqual(paid.get(id) ?? 0)
  }
}

function isInference({ isInference: inference }: RecordedRequest): boolean {
  return inference
}

/** Which of the bench's keys a call came from: the provider knows it only from the prompt. */
function keyPlaceOf({ body }: RecordedRequest): number {
  return Number(/lane (\d+)/.exec(body.toString())?.[1]) % KEYS
}

function countBy<Row, Name>(rows: readonly Row[], nameOf: (row: Row) => Name) {
  const groups = Map.groupBy(rows, nameOf)
  return new Map([...groups].map(([name, group]) => [name, group.length]))
}
