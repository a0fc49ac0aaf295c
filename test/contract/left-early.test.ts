import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { Bench, pathUpstream } from './bench.ts'
import type { StreamedRow } from './format-row.ts'
import { STREAMED_ROWS } from './rows.ts'

let account: { readonly id: string; readonly apiKey: string }

const bench = Bench.ofFile()
beforeAll(async () => {
  account = await bench.payer()
})

async function latest(): Promise<RequestRow | undefined> {
  const { requests } = await listRequests(bench.world.gateway.store.db, {
    accountId: account.id,
    limit: 1,
  })
  return requests[0]
}

/** A stream whose client leaves while the provider has yet to answer, which then does so like this. */
async function leaveEarly(row: StreamedRow, fault: Fault): Promise<RequestRow | undefined> {
  const { simulator, url, gateway } = bench.world
  const before = await latest()
  simulator.gate().close()
  simulator.script({ path: pathUpstream(row), hold: 'beforeHeaders', ...fault })
  const leaving = new AbortController()
  const answer = request(url(row.path), {
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}` },
    body: JSON.stringify({ ...row.body, stream: true }),
    signal: leaving.signal,
  })
  await simulator.gate().arrived()
  leaving.abort()
  await expect(answer).rejects.toThrow()
  let left = await latest()
  while (left?.id === before?.id || left?.state === 'open') left = await latest()
  expect(left).toMatchObject({ state: 'unresolved', generationId: null, errorCode: null })
  expect(left?.backedHeldMicros).toBe(left?.backedGrantedMicros)
  simulator.gate().release()
  await gateway.settled()
  return latest()
}

describe.each(STREAMED_ROWS)(
  '$endpoint: a client that leaves a stream before its headers',
  (row) => {
    const LEFT = { httpStatus: 499, errorCode: 'client_gone' } as const
    const COST = { costUsd: 0.001234 }
    const charged = { costUsd: '0.001234', backedChargeMicros: 1_296, backedHeldMicros: 0 }
    const waits = { state: 'unresolved', backedChargeMicros: 0 }

    test('is charged its looked-up cost if it has an ID', async () => {
      const left = await leaveEarly(row, COST)
      const upstream = bench.world.simulator.requests.findLast(({ isInference }) => isInference)
      const expected = row.hasGenerations
        ? { ...waits, generationId: upstream?.generationId }
        : { ...charged, state: 'final' }
      expect(left).toMatchObject({ ...LEFT, ...expected })
    })

    test('is charged by the first counts, or the cost with them, if it has no ID', async () => {
      const left = await leaveEarly(row, { ...COST, omit: ['id', 'generationHeader'] })
      const expected =
        row.streams.firstUsage === null
          ? { ...charged, state: 'final' }
          : { state: 'provisional', costUsd: null, generationId: null }
      expect(left).toMatchObject({ ...LEFT, ...expected })
      expect(left?.backedChargeMicros).toBeGreaterThan(0)
    })

    test.each<[string, Fault]>([
      ['an error status', { status: 500 }],
      ['a broken connection', { cut: { at: 'beforeHeaders', how: 'reset' } }],
    ])('is charged nothing where the provider answers with %s', async (_, fault) => {
      expect(await leaveEarly(row, fault)).toMatchObject({
        ...LEFT,
        state: 'released',
        backedChargeMicros: 0,
        backedHeldMicros: 0,
      })
    })
  },
)

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
