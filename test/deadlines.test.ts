import { afterEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { type Browser, inviteGuest, setUpOperator } from './page/page-client.ts'
import { startWorld, type World, type WorldInput } from './world.ts'

/** The provider took the request, and its answer is lost. */
const LOST: Fault = { cut: { at: { afterBytes: 40 }, how: 'reset' } }

let world: World | null = null

afterEach(async () => {
  await world?.close()
  world = null
})

async function loseOne(to: World, apiKey: string): Promise<void> {
  to.simulator.script(LOST)
  const answer = await to.chat(apiKey)
  await answer.text()
  await to.gateway.settled()
}

/** When the lost request of an account is released, as each place says it. */
async function saidDeadlines(to: World, { operator, member, account }: Lost) {
  const unsettled = Object((await operator.get('operator/unsettled')).json['data'])
  const own = await fetch(to.url('/v1/balance'), {
    headers: { authorization: `Bearer ${account.apiKey}` },
  })
  const balance = (await member.get(`accounts/${account.id}/balance`)).json
  const overview = (await member.get(`accounts/${account.id}/overview`)).json
  const attention: readonly object[] = Object(overview['attention'])
  return {
    ended: unsettled[0]?.ended_at,
    list: unsettled[0]?.stands_at,
    balanceByKey: Object(await own.json()).unresolved.next_release_at,
    balance: Object(balance['unresolved']).next_release_at,
    overview: Object(overview['credit']).held_unresolved.next_release_at,
    attention: attention.map((each) => Object(each).next_release_at).find(Boolean),
  }
}

interface Lost {
  readonly operator: Browser
  readonly member: Browser
  readonly account: { readonly id: string; readonly apiKey: string }
}

test.each<{ kind: string; input: WorldInput; hours: number }>([
  { kind: 'with look-ups', input: {}, hours: 24 },
  { kind: 'without look-ups', input: { vendor: 'openai-compatible' }, hours: 1 },
])(
  'the list, both balances, the overview and what needs attention release at the same moment, at an upstream $kind',
  async ({ input, hours }) => {
    const to = await startWorld(input)
    world = to
    const account = await to.account()
    const operator = await setUpOperator(to)
    const guest = { email: 'lin@example.org', accountId: account.id, role: 'owner' } as const
    const member = await inviteGuest(to, guest)
    await loseOne(to, account.apiKey)
    const { ended, ...said } = await saidDeadlines(to, { operator, member, account })
    const at = new Date(Date.parse(ended) + hours * 3_600_000).toISOString()
    expect(said).toEqual({ list: at, balanceByKey: at, balance: at, overview: at, attention: at })
  },
)
