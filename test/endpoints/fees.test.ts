import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import type { JsonObject } from '../../src/json/walk.ts'
import { Management, refusal, textOf } from './management.ts'

let admin: Management
let accountId: string
let apiKey: string

/** A gateway with these settings, an account with $10 and a key of it. */
async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  admin = await Management.start({ settings })
  admin.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  accountId = await admin.account(10_000_000)
  apiKey = (await admin.apiKey(accountId)).text
}

afterEach(async () => {
  await admin.world.expectExactLedger()
  await admin.close()
})

const LOST: Fault = { cut: { at: { afterBytes: 40 }, how: 'reset' } }

const setFee = (fee: unknown) =>
  admin.patch(`/v1/admin/accounts/${accountId}`, { fee_basis_points: fee })

/** A chat, with what Activity has of it. */
async function chat(fault: Fault | null = null): Promise<JsonObject> {
  if (fault !== null) admin.world.simulator.script(fault)
  const { headers } = await admin.chat(apiKey)
  await admin.world.gateway.settled()
  return (await admin.get(`/v1/admin/requests/${String(headers['x-request-id'])}`)).json
}

/** The cost of a request with a fee, in whole micro-dollars, half up. */
function chargeAt(request: JsonObject, feeBasisPoints: number): number {
  const [whole = '', places = ''] = textOf(request, 'provider_cost').split('.')
  const units = BigInt(whole + places.padEnd(12, '0'))
  const [withFee, micro] = [units * BigInt(10_000 + feeBasisPoints), 10_000n * 1_000_000n]
  return Number((withFee + micro / 2n) / micro)
}

describe('by default', () => {
  beforeEach(() => start())

  test.each([0, 1, 250, 500, 10_000])(
    'a request is charged a fee of %d hundredths of a percent that its account has, and shows it',
    async (fee) => {
      expect((await setFee(fee)).json).toMatchObject({ fee_basis_points: fee })
      const request = await chat()
      expect(request).toMatchObject({ fee_basis_points: fee, overrun: 0 })
      expect(request['charge']).toBe(chargeAt(request, fee))
      expect(request['charge']).toBeGreaterThan(0)
    },
  )

  test('an account without its own fee has 5%, even after its own fee was removed', async () => {
    expect(await chat()).toMatchObject({ fee_basis_points: 500 })
    await setFee(700)
    expect(await chat()).toMatchObject({ fee_basis_points: 700 })
    expect((await setFee(null)).json).toMatchObject({ fee_basis_points: null })
    const request = await chat()
    expect(request).toMatchObject({ fee_basis_points: 500, charge: chargeAt(request, 500) })
  })

  test('an account is created with a fee', async () => {
    const made = await admin.post('/v1/admin/accounts', { name: 'a', fee_basis_points: 0 })
    expect(made.json).toMatchObject({ fee_basis_points: 0 })
    const usual = await admin.post('/v1/admin/accounts', { name: 'b' })
    expect(usual.json).toMatchObject({ fee_basis_points: null })
  })

  test.each([-1, 10_001, 2.5, '500', true])('a fee of %j is refused', async (fee) => {
    expect(await setFee(fee)).toEqual(refusal(400, 'invalid_parameter', 'fee_basis_points'))
  })

  test.each([0, 10_000])(
    'a request that was held at a fee of %d is settled at that fee, although the fee has changed since',
    async (held) => {
      await setFee(held)
      const lost = await chat(LOST)
      expect(lost).toMatchObject({ state: 'unresolved', fee_basis_points: held })
      await setFee(10_000 - held)
      const path = `/v1/admin/requests/${textOf(lost, 'id')}/settle`
      const settled = await admin.post(path, { cost: 2_001 })
      expect(settled.json).toMatchObject({
        state: 'final',
        fee_basis_points: held,
        charge: held === 0 ? 2_001 : 4_002,
      })
    },
  )

  test('a fee of 100% is held, so that no account pays more than it has', async () => {
    const usual = await chat()
    await setFee(10_000)
    const expensive = await chat()
    const ratio = Number(expensive['hold']) / Number(usual['hold'])
    expect(ratio).toBeGreaterThan(2 / 1.06)
    expect(expensive).toMatchObject({ overrun: 0 })
  })
})

test('the fee of a model comes first, then the fee of its author, then the fee of the settings', async () => {
  await start({ TOLLGATE_FEE_BPS: '900', TOLLGATE_MODEL_FEES_BPS: 'acme/*=1, Sim/TEXT = 300' })
  expect(await chat()).toMatchObject({ fee_basis_points: 300 })
  await setFee(100)
  expect(await chat()).toMatchObject({ fee_basis_points: 100 })
  await admin.close()

  await start({ TOLLGATE_FEE_BPS: '900', TOLLGATE_MODEL_FEES_BPS: 'SIM/*=0' })
  expect(await chat()).toMatchObject({ fee_basis_points: 0 })
  await admin.close()

  await start({ TOLLGATE_FEE_BPS: '900' })
  const request = await chat()
  expect(request).toMatchObject({ fee_basis_points: 900, charge: chargeAt(request, 900) })
})

test('fees of models that are not in the catalog are named in the log, once', async () => {
  await start({ TOLLGATE_MODEL_FEES_BPS: 'sim/text=1, SIM/*=2, sim/txet=3, gone/*=4' })
  await admin.post('/v1/admin/catalog/refresh', {})
  await admin.post('/v1/admin/catalog/refresh', {})
  const warned = admin.world.log.filter((line) => line.includes('TOLLGATE_MODEL_FEES_BPS'))
  expect(warned.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, fees: 2, first: ['sim/txet', 'gone/*'] },
  ])
})
