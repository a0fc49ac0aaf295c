import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { startSimulator } from '../simulator/simulator.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import {
  createMadeSqliteFile,
  MADE_DATABASES,
  type TestDatabase,
} from '../src/store/testing/test-databases.ts'
import { upstreamSettings } from '../src/upstreams/testing/upstream-settings.ts'
import { vendorSettings } from './dialects/vendor-settings.ts'
import { type Browser, inviteGuest, setUpOperator } from './page/page-client.ts'
import { startWorld, type World, type WorldInput } from './world.ts'

/** The provider took the request, and its answer is lost. */
const LOST: Fault = { cut: { at: { afterBytes: 40 }, how: 'reset' } }

let database: TestDatabase
let world: World | null = null
let nowMs: number

beforeEach(async () => {
  database = await createMadeSqliteFile()
  nowMs = Date.now()
})

afterEach(async () => {
  await world?.close()
  world = null
  await database.remove()
})

/** Starts a gateway on the store of the test, whose clock stands still. */
async function start(input: WorldInput): Promise<World> {
  await world?.close()
  world = null
  const settings = { DATABASE_URL: database.url }
  world = await startWorld({ ...input, settings, clock: { nowMs: () => nowMs } })
  return world
}

async function loseOne(to: World, { apiKey, path }: { apiKey: string; path: string }) {
  to.simulator.script(LOST)
  const messages = [{ role: 'user', content: 'Hi' }]
  const answer = await to.send(apiKey, { model: 'sim/text', max_tokens: 64, messages }, path)
  await answer.text()
  await to.gateway.settled()
}

/** When the lost request of an account is released that is the first, as each place says it. */
async function saidDeadlines(to: World, { operator, member, account }: Lost) {
  const unsettled = Object((await operator.get('operator/unsettled')).json['data'])
  const balance = (await member.get(`accounts/${account.id}/balance`)).json
  const overview = (await member.get(`accounts/${account.id}/overview`)).json
  const attention: readonly object[] = Object(overview['attention'])
  return {
    ended: unsettled[0]?.ended_at,
    list: unsettled.map(({ stands_at: at }: { stands_at: string }) => at).toSorted()[0],
    balanceByKey: await nextReleaseByKey(to, account.apiKey),
    balance: Object(balance['unresolved']).next_release_at,
    overview: Object(overview['credit']).held_unresolved.next_release_at,
    attention: attention.map((each) => Object(each).next_release_at).find(Boolean),
  }
}

/** By position: the gateway, and a key of the account. */
async function nextReleaseByKey(to: Pick<World, 'url'>, apiKey: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const own = await fetch(to.url('/v1/balance'), { headers })
  return Object(await own.json()).unresolved.next_release_at
}

interface Lost {
  readonly operator: Browser
  readonly member: Browser
  readonly account: { readonly id: string; readonly apiKey: string }
}

const CHAT = '/v1/chat/completions'

test.each<{ kind: string; input: WorldInput; path: string; hours: number }>([
  { kind: 'with look-ups', input: {}, path: CHAT, hours: 24 },
  { kind: 'of OpenAI', input: { vendor: 'openai' }, path: CHAT, hours: 1 },
  { kind: 'of Anthropic', input: { vendor: 'anthropic' }, path: '/v1/messages', hours: 1 },
  { kind: 'like OpenAI', input: { vendor: 'openai-compatible' }, path: CHAT, hours: 1 },
])(
  'a lost request at an upstream $kind is released at the moment that the list, both balances, the overview and what needs attention say',
  async ({ input, path, hours }) => {
    const to = await start(input)
    const account = await to.account()
    const operator = await setUpOperator(to)
    const guest = { email: 'lin@example.org', accountId: account.id, role: 'owner' } as const
    const member = await inviteGuest(to, guest)
    const { apiKey } = account
    await loseOne(to, { apiKey, path })
    nowMs++
    await loseOne(to, { apiKey, path })
    const { ended, ...said } = await saidDeadlines(to, { operator, member, account })
    const deadlineMs = Date.parse(ended) + hours * 3_600_000
    const at = new Date(deadlineMs).toISOString()
    expect(said).toEqual({ list: at, balanceByKey: at, balance: at, overview: at, attention: at })
    for (const released of [1, 2]) {
      nowMs = deadlineMs + released - 1
      const { store } = (await start(input)).gateway
      const settledMs = async () => {
        const { requests } = await listRequests(store.db, { limit: 2, state: 'released' })
        return requests.map(({ settledAtMs }) => settledAtMs)
      }
      // The other ended a millisecond later, and is released then.
      const expected = [deadlineMs, deadlineMs + 1].slice(0, released)
      await expect.poll(settledMs).toEqual(expected.toReversed())
    }
  },
)

test.each(MADE_DATABASES)(
  'on $engine, requests at an upstream with look-ups and at one without are released at the moments that each place says, the shorter one first',
  async ({ create }) => {
    await database.remove()
    database = await create()
    const without = await startSimulator({ vendor: 'openai' })
    const { baseUrl, catalog } = without
    const second = vendorSettings(upstreamSettings({ baseUrl }), {
      vendor: 'openai',
      rows: catalog.rows.filter(({ id }) => id === 'sim/text'),
    })
    const input: WorldInput = {
      configured: (usual) => ({
        ...usual,
        upstreams: [{ ...usual.upstreams[0], except: ['sim/text'] }, second],
      }),
    }
    const to = await start(input)
    const account = await to.account()
    const operator = await setUpOperator(to)
    const guest = { email: 'lin@example.org', accountId: account.id, role: 'owner' } as const
    const member = await inviteGuest(to, guest)
    for (const { model, simulator } of [
      { model: 'sim/cached', simulator: to.simulator },
      { model: 'sim/text', simulator: without },
    ]) {
      simulator.script(LOST)
      const messages = [{ role: 'user', content: 'Hi' }]
      const body = { model, max_tokens: 64, messages }
      await (await to.send(account.apiKey, body)).text()
      await to.gateway.settled()
      nowMs++
    }
    const listed: readonly { upstream: string; ended_at: string; stands_at: string }[] = Object(
      (await operator.get('operator/unsettled')).json['data'],
    )
    const hours = (each: { ended_at: string; stands_at: string }) =>
      (Date.parse(each.stands_at) - Date.parse(each.ended_at)) / 3_600_000
    expect(listed.map((each) => [each.upstream, hours(each)])).toEqual([
      ['openrouter', 24],
      ['openai', 1],
    ])
    const [at = '', later = ''] = listed.map((each) => each.stands_at).toSorted()
    const { ended: _, ...said } = await saidDeadlines(to, { operator, member, account })
    expect(said).toEqual({ list: at, balanceByKey: at, balance: at, overview: at, attention: at })
    let again = to
    for (const [hours, states] of [
      [1, ['openai released', 'openrouter unresolved']],
      [23, ['openai released', 'openrouter released']],
    ] as const) {
      // The clock of PostgreSQL can't be moved: the requests end earlier instead.
      await again.gateway.store.db
        .updateTable('requests')
        .set(({ eb }) => ({ ended_at_ms: eb('ended_at_ms', '-', hours * 3_600_000) }))
        .execute()
      again = await start(input)
      const { db } = again.gateway.store
      const ended = async () => {
        // A scan that fails on a busy database is repeated when the clock has moved on.
        nowMs += 100
        const { requests } = await listRequests(db, { limit: 2 })
        return requests.map(({ upstream, state }) => `${upstream} ${state}`)
      }
      await expect.poll(ended).toEqual(states)
      const next = hours === 1 ? new Date(Date.parse(later) - 3_600_000).toISOString() : null
      expect(await nextReleaseByKey(again, account.apiKey)).toBe(next)
    }
    await without.close()
  },
)
