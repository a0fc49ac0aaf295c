import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { type CommandLine, openCommandLine } from '../../src/cli/testing/command-line.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { CREDIT_MICROS } from '../crash/crash-bench.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import {
  chargeOf,
  type FourUpstreams,
  openFourUpstreams,
  UPSTREAM_NAMES,
  type UpstreamName,
} from './four-upstreams.ts'
import {
  type Asked,
  chat,
  fetchUnlessBusy,
  leaveAfterText,
  messages,
  modelOf,
  SPEAK,
  WAYS,
} from './official-clients.ts'

/*
 * One gateway on four upstreams at once, each of another dialect, and the official clients, unmodified: each charge
 * against the books of the simulator that ran the request.
 */

const ENDED_UNCHARGED = { backedChargeMicros: 0, backedHeldMicros: 0 }

describe.each(TEST_DATABASES)('four upstreams at once, on $engine', ({ create }) => {
  let four: FourUpstreams
  let gateway: ServeProcess
  let line: CommandLine
  let marks = 0

  beforeAll(async () => {
    four = await openFourUpstreams(create)
    line = openCommandLine({ storeUrl: four.bench.url })
    four.bench.closing.defer(() => line.close())
    gateway = await four.serve()
  })
  afterAll(() => four.close())

  /** A request to be sent, with a mark of its own and the next key. */
  const next = (upstream: UpstreamName): Asked => ({
    upstream,
    mark: `mark-${String(++marks).padStart(4, '0')}.`,
    address: gateway.address,
    apiKey: four.nextKey(),
  })
  /** The row of a request that has its last charge. */
  const finalRow = (requestId: string): Promise<RequestRow> => four.settledRow(requestId, ['final'])

  test('charge every format of each, at the same time, the cost that its upstream counts or reports', async () => {
    const all = Object.entries(WAYS).flatMap(([format, ways]) =>
      (SPEAK[format] ?? []).flatMap((upstream) =>
        ways.map(([way, ask]) => ({ format, way, ask, ...next(upstream) })),
      ),
    )
    const done = await Promise.all(
      all.map(async (each) => ({ ...each, answer: await each.ask(each) })),
    )
    const ids = new Set(done.map(({ answer }) => answer.requestId))
    const isCharged = ({ id, state }: RequestRow) => ids.has(id) && state === 'final'
    const rows = await four.bench.until((all) => all.filter(isCharged).length === done.length)
    for (const { format, way, upstream, mark, answer } of done) {
      const of = `${format} ${way} at ${upstream}`
      const due = four.chargeDue(upstream, mark)
      expect(due, of).toBeGreaterThan(0)
      const row = rows.find(({ id }) => id === answer.requestId)
      expect(row, of).toMatchObject({
        endpoint: format,
        upstream,
        backedChargeMicros: due,
        backedHeldMicros: 0,
      })
      expect(due, of).toBeLessThanOrEqual(row?.backedGrantedMicros ?? 0)
      if (answer.costMicros !== null) expect(answer.costMicros, of).toBe(due)
      if (answer.emptyChunks !== undefined) {
        expect(answer.emptyChunks, of).toBe(way.endsWith('with usage') ? 1 : 0)
      }
      if (way === 'with reasoning') expect(row?.usage?.reasoningTokens, of).toBeGreaterThan(0)
      if (way === 'with a cached prompt' || way === 'with a prompt written to the cache') {
        expect(row?.usage?.cacheWriteTokens, of).toBeGreaterThan(100)
      }
      if (way === 'with one written for an hour') {
        expect(row?.usage?.cacheWriteLongTokens, of).toBeGreaterThan(100)
      }
    }
    await four.bench.audit()
  })

  test('a prompt that was cached before is charged as read', async () => {
    for (const upstream of SPEAK['messages'] ?? []) {
      const asked = next(upstream)
      await messages(asked, 'cached')
      const wroteMicros = four.chargeDue(upstream, asked.mark)
      const { requestId, costMicros } = await messages(asked, 'cached')
      const row = await finalRow(requestId)
      expect(row.usage?.cacheReadTokens, upstream).toBeGreaterThan(100)
      expect(row.backedChargeMicros, upstream).toBe(four.chargeDue(upstream, asked.mark))
      expect(costMicros, upstream).toBe(row.backedChargeMicros)
      expect(row.backedChargeMicros, upstream).toBeLessThan(wroteMicros)
    }
  })

  test('an alias of the file runs where its model is', async () => {
    const { address, apiKey, mark } = next('openai')
    const client = new OpenAI({ apiKey, baseURL: `${address}/v1`, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: mark }]
    const { response } = await client.chat.completions
      .create({ model: 'mini', messages })
      .withResponse()
    const row = await finalRow(response.headers.get('x-request-id') ?? '')
    expect(row.upstream).toBe('openai')
  })

  test('a client that leaves is charged the cost that its upstream counts or records', async () => {
    const left = await Promise.all(
      UPSTREAM_NAMES.map(async (upstream) => {
        const asked = next(upstream)
        return { ...asked, requestId: await leaveAfterText(asked) }
      }),
    )
    for (const { upstream, mark, requestId } of left) {
      const row = await finalRow(requestId)
      expect(row, upstream).toMatchObject({ errorCode: 'client_gone', backedHeldMicros: 0 })
      expect(row.backedChargeMicros, upstream).toBeGreaterThan(0)
      expect(row.backedChargeMicros, upstream).toBe(four.chargeDue(upstream, mark))
    }
    await four.bench.audit()
  })

  /** Sends the smallest chat or message that an upstream answers with this fault. Resolves with the request's id. */
  async function askWith(upstream: UpstreamName, fault: Fault): Promise<string> {
    four.simulators[upstream].script(fault)
    const asked = next(upstream)
    const { requestId, costMicros } =
      upstream === 'anthropic' ? await messages(asked, 'text') : await chat(asked, {})
    expect(costMicros).toBe(0)
    return requestId
  }

  /** Settles a request at a cost of $0.000123, with the command, while the server runs. */
  async function settleByHand(requestId: string): Promise<void> {
    const { exitCode, notes } = await line.run('request', 'settle', requestId, '0.000123')
    expect(exitCode, notes).toBe(0)
  }

  test('an answer without counts and cost is unresolved, until an admin settles it at the cost that the vendor shows', async () => {
    const omit = ['usage', 'cost', 'id', 'generationHeader'] as const
    for (const upstream of UPSTREAM_NAMES) {
      const requestId = await askWith(upstream, { omit })
      const { backedHeldMicros, backedGrantedMicros } = await four.settledRow(requestId, [
        'unresolved',
      ])
      expect(backedHeldMicros, upstream).toBe(backedGrantedMicros)
      await settleByHand(requestId)
      expect(await finalRow(requestId), upstream).toMatchObject({
        backedChargeMicros: chargeOf(0.000123),
        backedHeldMicros: 0,
      })
    }
    await four.bench.audit()
  })

  test('kill -9 with requests at all four: each hold ends exactly once, by the rule of its dialect; those of an upstream that is taken out of the file wait for an admin, or until it is back', async () => {
    const { bench, simulators } = four
    const before = new Set((await bench.requests()).map(({ id }) => id))
    for (const simulator of Object.values(simulators)) {
      simulator.script({ hold: 'beforeHeaders', times: 'always' })
    }
    const lost = UPSTREAM_NAMES.flatMap((upstream) =>
      [true, false].map((stream) => sendRaw(next(upstream), stream).catch(() => 'lost')),
    )
    for (const simulator of Object.values(simulators)) await simulator.gate().arrived(2)
    await gateway.stop('SIGKILL')
    expect(new Set(await Promise.all(lost))).toEqual(new Set(['lost']))
    for (const simulator of Object.values(simulators)) {
      simulator.gate().release()
      simulator.reset()
    }
    await bench.bury()
    /** The requests that were cut off at these upstreams. */
    const killedAt = async (...upstreams: readonly UpstreamName[]): Promise<RequestRow[]> => {
      const rows = (await bench.requests()).filter(
        ({ id, upstream }) => killedIds.has(id) && upstreams.some((name) => name === upstream),
      )
      expect(rows).toHaveLength(2 * upstreams.length)
      return rows
    }
    const cut = (await bench.requests()).filter(({ id }) => !before.has(id))
    const killedIds = new Set(cut.map(({ id }) => id))
    expect(cut).toHaveLength(2 * UPSTREAM_NAMES.length)

    // The next process finds them: nothing is charged, and all of it stays held.
    gateway = await four.serve()
    for (const row of await killedAt(...UPSTREAM_NAMES)) {
      expect(row, row.upstream).toMatchObject({ state: 'unresolved', backedChargeMicros: 0 })
      expect(row.backedHeldMicros, row.upstream).toBe(row.backedGrantedMicros)
    }
    await bench.audit()
    const omit = ['usage', 'cost', 'id', 'generationHeader'] as const
    const ofLocal = await askWith('local', { omit })
    expect((await gateway.stop('SIGTERM')).code).toBe(0)

    // After their time, requests of a vendor without look-ups are released; OpenRouter's are looked up until tomorrow.
    gateway = await four.serveWithout('local', { TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS: '1' })
    const said: unknown = JSON.parse(await gateway.logged('no longer in the settings'))
    expect(said).toMatchObject({ level: 40, upstream: 'local', requests: 3 })
    for (const { id } of await killedAt('openai', 'anthropic')) {
      expect(await four.settledRow(id, ['released'])).toMatchObject(ENDED_UNCHARGED)
    }
    const waiting = await four.settledRow(ofLocal, ['unresolved'])
    expect(waiting.backedHeldMicros).toBe(waiting.backedGrantedMicros)
    await settleByHand(ofLocal)
    expect(await finalRow(ofLocal)).toMatchObject({ upstream: 'local', backedHeldMicros: 0 })
    const { requestId } = await chat(next('openai'), {})
    expect(await finalRow(requestId)).toMatchObject({ upstream: 'openai' })
    const gone = await sendRaw(next('local'), false)
    expect(JSON.parse(gone)).toMatchObject({ error: { code: 'model_not_found' } })
    expect((await gateway.stop('SIGTERM')).code).toBe(0)
    const ended = await killedAt('openai', 'anthropic')
    const entries = await bench.entries()

    // Put back, those of the third end by its own rule again; the next process settles none of the others once more.
    gateway = await four.serve({ TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS: '1' })
    for (const { id } of await killedAt('local')) {
      expect(await four.settledRow(id, ['released'])).toMatchObject(ENDED_UNCHARGED)
    }
    expect(await killedAt('openai', 'anthropic')).toEqual(ended)
    expect(await bench.entries()).toEqual(entries)
    for (const row of await killedAt('openrouter')) {
      expect(row).toMatchObject({ state: 'unresolved', backedChargeMicros: 0 })
    }
  })

  /** By position: the prompt, and whether the answer is a stream. */
  async function sendRaw(
    { upstream, mark, address, apiKey }: Asked,
    stream: boolean,
  ): Promise<string> {
    const isMessages = upstream === 'anthropic'
    const path = isMessages ? 'messages' : 'chat/completions'
    const answer = await fetchUnlessBusy(`${address}/v1/${path}`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: modelOf(upstream, 'text'),
        max_tokens: 64,
        stream,
        messages: [{ role: 'user', content: mark }],
      }),
    })
    return answer.text()
  }

  test('after all of it, the account has paid the charges and nothing else', async () => {
    const { bench } = four
    const charged = (await bench.requests()).reduce((sum, row) => sum + row.backedChargeMicros, 0)
    const entries = await bench.entries()
    const balance = entries.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
    expect(balance).toBe(CREDIT_MICROS - charged)
    await bench.audit()
  })
})
