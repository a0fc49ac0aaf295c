import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { FORMATS } from '../../src/formats/formats.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { type TestAccount, worldOfFile } from '../world.ts'
import { seed } from './hold-search.ts'
import { type RandomBody, ROWS, randomBody } from './random-bodies.ts'

/** Searches for holds that are too small over real sockets: the gateway, its ledger, and a provider that bills the most it may. */

const BODIES = 150

const world = worldOfFile({ settings: { TOLLGATE_REQUESTS_PER_MINUTE: '1000000' } })
beforeAll(async () => {
  world.simulator.catalog.replace(ROWS)
  await world.gateway.refresher.refreshNow()
})

/** Status and text of the answer. */
async function send({ endpoint, body }: RandomBody, { apiKey }: TestAccount) {
  const path = FORMATS.find((format) => format.endpoint === endpoint)?.path ?? '/'
  const answer = await world.send(apiKey, body, path)
  return { httpStatus: answer.status, text: await answer.text() }
}

test('no request is charged above its hold, even if the provider bills the most that it can', async () => {
  const account = await world.account({ creditMicros: 1_000_000_000_000 })
  world.simulator.script({ bills: 'most', times: 'always' })
  await fc.assert(
    fc.asyncProperty(randomBody, async (sent) => {
      await send(sent, account)
    }),
    { seed, numRuns: BODIES },
  )
  world.simulator.reset()
  await world.gateway.settled()
  const { requests } = await listRequests(world.gateway.store.db, {
    accountId: account.id,
    limit: 10_000,
  })
  console.log(`HOLD_SEARCH_SEED=${seed}: ${BODIES} sent over a socket, ${requests.length} held`)
  expect(requests.length).toBeGreaterThan(BODIES / 2)
  expect(requests.filter((row) => row.backedChargeMicros > row.backedGrantedMicros)).toEqual([])
  expect(requests.filter((row) => row.backedChargeMicros > 0).length).toBeGreaterThan(BODIES / 2)
})

describe('a refusal for too little credit', () => {
  const question = { role: 'user', content: 'Hi' }
  const bodies: readonly RandomBody[] = [
    { endpoint: 'chat', body: { messages: [question], max_tokens: 40_000 } },
    { endpoint: 'completions', body: { prompt: 'Hi', max_completion_tokens: 40_000 } },
    { endpoint: 'responses', body: { input: 'Hi', max_output_tokens: 40_000 } },
  ]
  const MESSAGE =
    /hold of \$(?<held>[\d.]+);.* The model lists a maximum of 16,384 output tokens: with that as the cap, the hold would be \$(?<listed>[\d.]+)\./

  test.each(bodies)(
    "on $endpoint names the model's maximum and its hold if the cap is above it",
    async ({ endpoint, body }) => {
      const poor = await world.account({ creditMicros: 1_000 })
      const capped = { endpoint, body: { ...body, model: 'sim/text' } }
      const refused = await send(capped, poor)
      expect(refused.httpStatus).toBe(402)
      const { held, listed } = MESSAGE.exec(refused.text)?.groups ?? {}
      // (40,000 − 16,384) × 4 micro-dollars × 1.05 = 99,187.2
      const lessMicros = Math.round((Number(held) - Number(listed)) * 1e6)
      expect([99_187, 99_188]).toContain(lessMicros)

      const name = Object.keys(body).find((member) => member.startsWith('max_')) ?? ''
      const atMaximum = { endpoint, body: { ...capped.body, [name]: 16_384 } }
      const without = await send(atMaximum, poor)
      expect(without.text).toContain(`hold of $${listed};`)
      expect(without.text).not.toContain('lists a maximum')
    },
  )

  test('on messages names none, because the hold is already at the maximum', async () => {
    const poor = await world.account({ creditMicros: 1_000 })
    const body = { model: 'sim/text', max_tokens: 40_000, messages: [question] }
    const refused = await send({ endpoint: 'messages', body }, poor)
    expect(refused.httpStatus).toBe(402)
    expect(refused.text).toContain('hold of $0.069')
    expect(refused.text).not.toContain('lists a maximum')
  })
})
