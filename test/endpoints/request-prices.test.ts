import { beforeEach, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { inviteGuest, setUpOperator } from '../page/page-client.ts'
import { Management, refusal, textOf } from './management.ts'

/** The explanation of a charge: tokens times prices, if that is the charge. */

interface Line {
  readonly kind: string
  readonly quantity: number
  readonly price: string
  readonly charge: string
  readonly provider_price: string
  readonly provider_cost: string
}

// More places than any cost has.
const PLACES = 24

function unitsOf(dollars: string): bigint {
  const [whole = '', fraction = ''] = dollars.split('.')
  return BigInt(whole + fraction.padEnd(PLACES, '0'))
}

function sumOf(lines: readonly Line[], name: 'charge' | 'provider_cost'): bigint {
  return lines.reduce((sum, line) => sum + unitsOf(line[name]), 0n)
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const admin = Management.ofEach({ database: create })
  let accountId: string
  let apiKey: string

  beforeEach(async () => {
    accountId = await admin.account(10_000_000)
    await admin.patch(`/v1/admin/accounts/${accountId}`, { fee_basis_points: 1_234 })
    apiKey = (await admin.apiKey(accountId)).text
  })

  /** A chat, its record and its prices. */
  async function chat(fault: Fault | null = null) {
    if (fault !== null) admin.world.simulator.script(fault)
    const { headers } = await admin.chat(apiKey)
    await admin.world.gateway.settled()
    const path = `/v1/admin/requests/${String(headers['x-request-id'])}`
    const { json } = await admin.get(`${path}/prices`)
    const lines: readonly Line[] = Object(json['lines'])
    return { id: textOf(json, 'request_id'), request: (await admin.get(path)).json, json, lines }
  }

  test('the tokens times the prices with the fee are the charge, and without it the cost', async () => {
    const { request, json, lines } = await chat()
    const { charge, fee_basis_points, provider_cost } = request
    expect(json).toMatchObject({ basis: 'prices', charge, fee_basis_points })
    expect(lines.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['input', 'output']))
    expect(sumOf(lines, 'provider_cost')).toBe(unitsOf(String(provider_cost)))
    const microUnits = 10n ** BigInt(PLACES - 6)
    const rounded = (sumOf(lines, 'charge') + microUnits / 2n) / microUnits
    expect(Number(rounded)).toBe(charge)
    for (const { quantity, price, charge: product, provider_price } of lines) {
      expect(unitsOf(price) * BigInt(quantity)).toBe(unitsOf(product))
      expect(unitsOf(provider_price) * 11_234n).toBe(unitsOf(price) * 10_000n)
    }
  })

  test('a reported cost that is not tokens times prices has no lines', async () => {
    const { request, json } = await chat({ costUsd: 0.123 })
    expect(json).toMatchObject({ basis: 'reported', charge: request['charge'], lines: [] })
    const failed = await chat({ status: 500 })
    expect(failed.json).toMatchObject({ basis: 'none', charge: 0, lines: [] })
  })

  test('a request that an operator settled says so', async () => {
    const { id } = await chat({ cut: { at: { afterBytes: 40 }, how: 'reset' } })
    const path = `/v1/admin/requests/${id}`
    await admin.post(`${path}/settle`, { cost: '0.0321' })
    const { json } = await admin.get(`${path}/prices`)
    expect(json).toMatchObject({ basis: 'settled', charge: 36_061, lines: [] })
  })

  test('a member reads only the charged prices of their own account', async () => {
    const operator = await setUpOperator(admin.world)
    const { id, lines, json: whole } = await chat()
    const otherId = await admin.account()
    const guest = (email: string, account: string) =>
      inviteGuest(admin.world, { email, accountId: account, role: 'member' })
    const member = await guest('mira@example.org', accountId)
    const stranger = await guest('lin@example.org', otherId)
    const { json } = await member.get(`accounts/${accountId}/requests/${id}/prices`)
    expect(json).toEqual({
      object: 'request_prices',
      request_id: id,
      basis: 'prices',
      charge: whole['charge'],
      lines: lines.map(({ kind, quantity, price, charge }) => ({ kind, quantity, price, charge })),
    })
    expect((await operator.get(`operator/requests/${id}/prices`)).json).toEqual(whole)
    const foreign = await stranger.get(`accounts/${otherId}/requests/${id}/prices`)
    expect(foreign.httpStatus).toBe(404)
    const unknown = await admin.get('/v1/admin/requests/req_1/prices')
    expect(unknown).toEqual(refusal(404, 'not_found'))
  })
})
