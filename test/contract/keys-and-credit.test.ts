import { describe, expect, test } from 'vitest'
import { createApiKey, listApiKeys } from '../../src/ledger/api-keys.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type Answer, Bench } from './bench.ts'
import { type ExpectedError, expectError } from './expect-error.ts'
import type { FormatRow } from './format-row.ts'
import { ROWS } from './rows.ts'

const bench = Bench.ofFile()

async function expectRefusal(row: FormatRow, answer: Answer, expected: ExpectedError) {
  expectError({ bench, row, answer }, expected)
  // No key, in no shape that a key has: not even back to who sent it.
  expect(answer.text + JSON.stringify(answer.headers)).not.toContain('sk-')
  expect(await bench.activity(answer)).toBeNull()
}

/** A new key of an account with credit, changed before it is first used. */
async function changedKey(
  change: {
    readonly disabled?: true
    readonly expiresAtMs?: number
    readonly limitMicros?: number
  } = {},
): Promise<string> {
  const { db } = bench.world.gateway.store
  const { id: accountId, apiKey } = await bench.payer()
  const { rows: apiKeys } = await listApiKeys(db, { accountId, limit: 1 })
  const { limitMicros, ...rest } = change
  await bench.world.gateway.ledger.updateApiKey({
    id: apiKeys[0]?.id ?? '',
    ...rest,
    ...(limitMicros === undefined ? {} : { creditLimitMicros: micros(limitMicros) }),
  })
  return apiKey
}

describe.each(ROWS)('$endpoint', (row) => {
  test('without a key it is missing', async () => {
    const expected = { httpStatus: 401, code: 'missing_api_key' }
    await expectRefusal(row, await bench.send(row, { apiKey: '' }), expected)
  })

  test.each(['sk-tollgate-unknown', 'sk-other-AAAA', 'Bearer', '\u00e9'])(
    'the key %j is invalid',
    async (apiKey) => {
      const expected = { httpStatus: 401, code: 'invalid_api_key' }
      await expectRefusal(row, await bench.send(row, { apiKey }), expected)
    },
  )

  test.each([
    ['disabled', { disabled: true }, 'api_key_disabled'],
    ['expired', { expiresAtMs: 1 }, 'api_key_expired'],
  ] as const)('a key that is %s says so, in either header', async (_, change, code) => {
    const apiKey = await changedKey(change)
    await expectRefusal(row, await bench.send(row, { apiKey }), { httpStatus: 401, code })
    const inOther = await bench.send(row, { apiKey: '', headers: { 'x-api-key': apiKey } })
    await expectRefusal(row, inOther, { httpStatus: 401, code })
  })

  test('a key of a suspended account says so, a deleted one is unknown', async () => {
    const { ledger } = bench.world.gateway
    const suspended = await bench.payer()
    await ledger.updateAccount({ id: suspended.id, disabled: true })
    await expectRefusal(row, await bench.send(row, { apiKey: suspended.apiKey }), {
      httpStatus: 403,
      code: 'account_suspended',
    })
    const { id: accountId } = await bench.payer()
    const made = await createApiKey(ledger, {
      id: bench.world.gateway.ids.next('key'),
      accountId,
      name: 'deleted',
      keyTag: 'tollgate',
    })
    await ledger.deleteApiKey(made?.apiKey.id ?? '')
    await expectRefusal(row, await bench.send(row, { apiKey: made?.text ?? '' }), {
      httpStatus: 401,
      code: 'invalid_api_key',
    })
  })

  test('either header will do', async () => {
    const { apiKey } = await bench.payer()
    const answer = await bench.send(row, { apiKey: '', headers: { 'x-api-key': apiKey } })
    expect(answer.httpStatus, answer.text).toBe(200)
  })

  test('without credit, no request runs', async () => {
    const { apiKey } = await bench.world.account({ creditMicros: 0 })
    const expected = { httpStatus: 402, code: 'insufficient_credit' }
    await expectRefusal(row, await bench.send(row, { apiKey }), expected)
  })

  test('a key with less left of its limit than the hold is refused with that reason', async () => {
    const apiKey = await changedKey({ limitMicros: 1 })
    const expected = { httpStatus: 402, code: 'key_limit_reached' }
    await expectRefusal(row, await bench.send(row, { apiKey }), expected)
  })

  test('free credit alone does not pay for a model with closed weights', async () => {
    const { id: accountId, apiKey } = await bench.world.account({ creditMicros: 0 })
    await bench.world.gateway.ledger.addCredit({
      accountId,
      purse: 'free',
      amountMicros: micros(5_000_000),
      expiresAtMs: Date.now() + 3_600_000,
      reference: 'gift',
    })
    const expected = { httpStatus: 402, code: 'free_credit_not_eligible' }
    await expectRefusal(row, await bench.send(row, { apiKey }), expected)
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
