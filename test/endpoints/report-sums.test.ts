import { randomFillSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { type CommandLine, openCommandLine } from '../../src/cli/testing/command-line.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { ActivityPruner } from '../../src/ledger/activity/activity-pruner.ts'
import { FACTS, holdInput } from '../../src/ledger/testing/script.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { MADE_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { upstreamSettings } from '../../src/upstreams/testing/upstream-settings.ts'
import { addedUp } from '../../src/usage/testing/added-up.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import type { Clock } from '../../src/vocabulary/clock.ts'
import { createIdSource, timeOfId } from '../../src/vocabulary/ids.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type Browser, microsOf, setUpOperator } from '../page/page-client.ts'
import { ADMIN_TOKEN, Management } from './management.ts'

const FROM = '2040-10-30'
const TO = '2040-11-02'
// The end of a month is between the last two. They have not come: nothing is rolled up yet.
const MOMENTS = ['2040-10-30T09:00:00.000Z', '2040-10-31T23:59:59.999Z', '2040-11-01T00:00:00.000Z']
// Where the requests are moved to, so that their days are over: a database has a clock too.
const PAST = { from: '2025-10-30', to: '2025-11-02' }
// When they can be rolled up and pruned, without a year of empty days after them.
const LATER: Clock = { nowMs: () => Date.parse('2025-11-08') }
const SENT = [
  { path: 'chat/completions', model: 'sim/text', tags: 'nightly, team-two' },
  { path: 'messages', model: 'sim/text', tags: 'nightly' },
  { path: 'chat/completions', model: 'sim/open', tags: '' },
]

/** The source of ids that are made at a moment. */
const idsAt = (moment: string) =>
  createIdSource({ clock: { nowMs: () => Date.parse(moment) }, fillRandom: randomFillSync })

const dateOf = ({ id }: RequestRow) => new Date(timeOfId(id) ?? 0).toISOString()
const GROUPS: Readonly<Record<string, (row: RequestRow) => readonly (string | null)[]>> = {
  day: (row) => [dateOf(row).slice(0, 10)],
  month: (row) => [dateOf(row).slice(0, 7)],
  account: (row) => [row.accountId],
  key: (row) => [row.apiKeyId],
  model: (row) => [row.modelId],
  endpoint: (row) => [row.endpoint],
  upstream: (row) => [row.upstream],
  tag: ({ tags }) => tags ?? [null],
}

/** The figures of a report, of requests that were added up one by one. By position: they, and one without a known cost. */
function figuresOf(rows: readonly RequestRow[], uncostedId: string | null = null) {
  const { requests, failed, chargeMicros, money, usage } = addedUp(rows)
  const costed = rows.filter(({ id }) => id !== uncostedId)
  const uncosted = rows.length - costed.length
  return {
    requests,
    failed,
    charge: chargeMicros,
    backed_charge: money.backedChargeMicros,
    free_charge: money.freeChargeMicros,
    written_off: money.writtenOffMicros,
    cost: addedUp(costed).money.costMicros,
    uncharged_cost: money.unchargedCostMicros,
    uncosted,
    margin: uncosted === 0 ? money.marginMicros : null,
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
  }
}

type Figures = ReturnType<typeof figuresOf>
type Sums = Readonly<Record<string, Figures>>

const COUNTS = /^(requests|failed|uncosted|.*_tokens)$/

/** The figures of each group, and of all, in CSV. */
function sumsOfCsv(text: string): Sums {
  const [head = [], ...lines] = text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(/,(?! )/))
  const first = head.indexOf('requests')
  return Object.fromEntries(
    lines.map((cells) => {
      const figures = head.slice(first).map((name, place) => {
        const cell = cells[first + place] ?? ''
        const isUnknown = name === 'margin' && cell === ''
        return [name, isUnknown ? null : COUNTS.test(name) ? Number(cell) : microsOf(cell)]
      })
      return [/^"\(/.test(cells[0] ?? '') ? null : cells[0], Object.fromEntries(figures)]
    }),
  )
}

/** The figures of each group, and of all, in JSON. */
function sumsOf(report: Readonly<Record<string, unknown>>): Sums {
  const { data, totals } = Object(report)
  const rows: readonly { readonly id: string | null; readonly figures: Figures }[] = data
  return { ...Object.fromEntries(rows.map(({ id, figures }) => [id, figures])), total: totals }
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let database: TestDatabase
  let second: Simulator
  let admin: Management
  let operator: Browser
  let rows: readonly RequestRow[]
  /** A charged request whose cost is not known; null: there is none. */
  let uncostedId: string | null
  let look = 0

  async function start(nowMs: number): Promise<void> {
    admin = await Management.start({
      settings: { DATABASE_URL: database.url },
      clock: { nowMs: () => nowMs },
      configured: (usual) => ({
        ...usual,
        upstreams: [
          { ...usual.upstreams[0], only: ['sim/text'] },
          upstreamSettings({ name: 'second', baseUrl: second.baseUrl }),
        ],
      }),
    })
    // A look-up would write a request over what a test has changed in it.
    for (const { generations } of [admin.world.simulator, second]) {
      generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
    }
  }

  async function readRows(): Promise<void> {
    const { requests } = await listRequests(admin.world.gateway.store.db, { limit: 100 })
    rows = requests
  }

  /** Gives requests that began by the clock of a database their place among the moments. */
  async function moveTo(moment: string): Promise<void> {
    const { db } = admin.world.gateway.store
    const { requests } = await listRequests(db, { limit: 100 })
    const ids = idsAt(moment)
    for (const { id } of requests.filter((row) => dateOf(row) < FROM)) {
      const moved = ids.next('req')
      await db.updateTable('requests').set({ id: moved }).where('id', '=', id).execute()
      await db
        .updateTable('entries')
        .set({ request_id: moved })
        .where('request_id', '=', id)
        .execute()
    }
  }

  async function send(apiKey: string): Promise<void> {
    for (const { path, model, tags } of SENT) {
      const messages = [{ role: 'user', content: 'Say hello.' }]
      const answer = await fetch(admin.world.url(`/v1/${path}`), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          ...(tags === '' ? {} : { 'x-service-tags': tags }),
        },
        body: JSON.stringify({ model, max_tokens: 16, messages }),
      })
      expect([model, answer.status, await answer.text()]).toEqual([model, 200, expect.anything()])
    }
    await admin.world.gateway.settled()
  }

  beforeEach(async () => {
    database = await create()
    uncostedId = null
    second = await startSimulator()
    const keys: string[] = []
    for (const moment of MOMENTS) {
      await start(Date.parse(moment))
      if (keys.length === 0) {
        const [one, other] = [await admin.account(10_000_000), await admin.account()]
        const free = { kind: 'free', amount: 1_000_000, expires_at: `${TO}T00:00:00Z` }
        await admin.post(`/v1/admin/accounts/${one}/credit`, { ...free, reference: 'gift' })
        await admin.credit(other, { amountMicros: 5_000_000, reference: 'paid' })
        for (const account of [one, one, other]) keys.push((await admin.apiKey(account)).text)
      }
      for (const key of keys) await send(key)
      await moveTo(moment)
      await admin.close()
    }
    await start(Date.now())
    // A gateway whose clock was on the last day may have rolled the first one up. Where that day is to come, no gateway does.
    const { db } = admin.world.gateway.store
    for (const table of ['usage_rolled', 'usage_hours', 'usage_days', 'usage_errors'] as const) {
      await db.deleteFrom(table).execute()
    }
    operator = await setUpOperator(admin.world)
    await readRows()
  })
  afterEach(async () => {
    await admin.close()
    await second.close()
    await database.remove()
  })

  /** Makes a request of the first moment that fails, so that it is released. */
  async function releaseOne(): Promise<void> {
    const { ledger } = admin.world.gateway
    const [like] = rows
    if (like === undefined) throw new Error('there is no request')
    const { accountId, apiKeyId, modelId, endpoint, upstream } = like
    const requestId = idsAt(MOMENTS[0] ?? '').next('req')
    await ledger.openHold({
      ...holdInput(requestId),
      ...{ accountId, apiKeyId, modelId, endpoint, upstream: upstream ?? '', instanceId: 'I' },
      ...{ neededMicros: micros(30), leastMicros: micros(5) },
      ...{ freeCreditQualifies: false, freeCreditAloneRunsOnLess: false },
    })
    const facts = { ...FACTS, errorCode: 'upstream_error' as const }
    await ledger.settle({ requestId, resolution: { kind: 'released' }, facts })
  }

  /** Gives requests on free credit the figures that the simulator's answers have none of. */
  async function fillFigures(): Promise<void> {
    const { db } = admin.world.gateway.store
    const tokens = { cache_read_tokens: 3, cache_write_tokens: 5, cache_write_long_tokens: 7 }
    const figures = { ...tokens, reasoning_tokens: 2, written_off_micros: 1 }
    await db.updateTable('requests').set(figures).where('free_charge_micros', '>', 0).execute()
  }

  /** Moves all requests to the past, with final charges: others are not rolled up. */
  async function moveToPast(): Promise<void> {
    const { db } = admin.world.gateway.store
    for (const row of rows) {
      const moment = dateOf(row).replace(FROM.slice(0, 4), PAST.from.slice(0, 4))
      const id = idsAt(moment).next('req')
      const state = row.state === 'released' ? row.state : 'final'
      const moved = { id, state, settled_at_ms: Date.parse(moment) }
      await db.updateTable('requests').set(moved).where('id', '=', row.id).execute()
    }
    await readRows()
  }

  const background = () => ({
    store: admin.world.gateway.store,
    clock: LATER,
    onFailure() {},
  })

  async function rollUp(): Promise<void> {
    await new UsageRoller({ ...background(), onRolled() {}, onLate() {} }).pass()
    const { db } = admin.world.gateway.store
    const days = await db.selectFrom('usage_days').select('day').distinct().execute()
    expect(days).toHaveLength(MOMENTS.length)
  }

  async function prune(): Promise<void> {
    const pruner = new ActivityPruner({ ...background(), keepDays: 1, onPruned() {} })
    expect(await pruner.pass()).toBe(rows.length)
    await pruner.stop()
  }

  /** The report of these days by a group, in each form that it has. */
  function reportsOf(
    line: CommandLine,
    { by, from, to }: { by: string; from: string; to: string },
  ) {
    const query = `usage?by=${by}&from=${from}&to=${to}`
    const ofPage = `operator/${query.replace('?', '/report?')}`
    const words = ['usage', '--by', by, '--since', from, '--until', to]
    const others = [
      async function csv() {
        const answer = await fetch(admin.world.url(`/v1/admin/${query}&format=csv`), {
          headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
        })
        return sumsOfCsv(await answer.text())
      },
      async function page() {
        return sumsOf((await operator.get(ofPage)).json)
      },
      async function pageCsv() {
        return sumsOfCsv((await operator.get(`${ofPage}&format=csv`)).text)
      },
      async function command() {
        return sumsOf(await line.json(...words))
      },
      async function commandCsv() {
        return sumsOfCsv((await line.run(...words, '--csv')).out)
      },
    ]
    return { json: async () => sumsOf((await admin.get(`/v1/admin/${query}`)).json), others }
  }

  /**
   * Each report of these days has the sums of the requests, in these groups: as JSON and in one other form. Over five
   * looks each report is seen in each form, and each form at each look.
   */
  async function expectSums({ from, to } = { from: FROM, to: TO }, groupings = GROUPS) {
    const line = openCommandLine({ storeUrl: database.url })
    for (const [place, [by, groupsOf]] of Object.entries(groupings).entries()) {
      const groups = new Set(rows.flatMap(groupsOf))
      const sums = Object.fromEntries(
        [...groups].map((id) => [
          id,
          figuresOf(
            rows.filter((row) => groupsOf(row).includes(id)),
            uncostedId,
          ),
        ]),
      )
      const expected = { ...sums, total: figuresOf(rows, uncostedId) }
      const { json, others } = reportsOf(line, { by, from, to })
      expect(await json(), by).toEqual(expected)
      const other = others[(look + place) % others.length]
      expect(await other?.(), `${by}, ${other?.name}`).toEqual(expected)
    }
    look += 1
    line.close()
  }

  test('the report by each group has the sums of its requests, the same for admins, on the page and on the command line, before and after roll-up, without a cost, with a late one and after pruning', async () => {
    await releaseOne()
    await fillFigures()
    await readRows()
    expect(rows).toHaveLength(MOMENTS.length * 3 * SENT.length + 1)
    await expectSums()

    await moveToPast()
    const { db } = admin.world.gateway.store
    const charged = rows.find(({ backedChargeMicros }) => backedChargeMicros > 0)
    const { id, cost_usd, cost_micros, cost_rest_pico } = await db
      .selectFrom('requests')
      .selectAll()
      .where('id', '=', charged?.id ?? '')
      .executeTakeFirstOrThrow()
    const setCost = (cost: object) =>
      db.updateTable('requests').set(cost).where('id', '=', id).execute()
    await setCost({ cost_usd: null, cost_micros: null, cost_rest_pico: null })
    uncostedId = id
    await expectSums(PAST)
    await rollUp()
    await expectSums(PAST)
    const line = openCommandLine({ storeUrl: database.url })
    const words = ['usage', '--by', 'account', '--since', PAST.from, '--until', PAST.to]
    const { out } = await line.run(...words)
    line.close()
    expect(out).toMatch(/^total .* not known$/m)
    expect(out).not.toMatch(/NaN|null|undefined/)

    await setCost({ cost_usd, cost_micros, cost_rest_pico })
    uncostedId = null
    await db.deleteFrom('usage_rolled').execute()
    await rollUp()
    const requestId = rows.find(({ state }) => state === 'released')?.id ?? ''
    const costUsd = { digits: 2n, exponent: -5 }
    const resolution = { kind: 'final', chargeMicros: micros(21), costUsd } as const
    await admin.world.gateway.ledger.settle({ requestId, resolution, facts: FACTS })
    await readRows()
    const { uncosted: _, ...figures } = figuresOf(rows)
    expect(figures.uncharged_cost).toBe(20)
    expect(Object.values(figures)).not.toContain(0)
    await expectSums(PAST)

    await rollUp()
    await prune()
    // Roll-ups do not distinguish tags.
    await expectSums(PAST, { ...GROUPS, tag: () => [null] })
  })
})
