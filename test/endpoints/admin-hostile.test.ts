import { beforeAll, describe, expect, test } from 'vitest'
import { writeCursor } from '../../src/operations/fields.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { errorOf, Management, refusal, textOf } from './management.ts'

for (const { engine, create } of MADE_DATABASES) {
  describe(engine, () => {
    const admin = Management.ofFile({ database: create })
    let accountId: string

    beforeAll(async () => {
      accountId = await admin.account(1_000_000)
    })

    test.each([
      ['GET', 'accounts/%00', undefined],
      ['GET', 'accounts/acct_%00/entries', undefined],
      ['GET', 'keys/%00', undefined],
      ['GET', 'codes/%00', undefined],
      ['GET', 'requests/%00', undefined],
      ['PATCH', 'keys/%00', { disabled: true }],
      ['DELETE', 'keys/%00', undefined],
      ['POST', 'accounts/%00/credit', { kind: 'backed', amount: 1, reference: 'r' }],
      ['POST', 'accounts/%00/keys', { name: 'k' }],
      ['POST', 'accounts/%00/redeem', { code: 'c' }],
      ['POST', 'requests/%00/settle', { cost: 1 }],
    ] as const)(
      '%s %s is 404, because no ID has a character that a store cannot keep',
      async (...call) => {
        const [method, path, body] = call
        const { httpStatus, json } = await admin.call({
          method,
          path: `/v1/admin/${path}`,
          ...(body === undefined ? {} : { body }),
        })
        expect([httpStatus, json]).toEqual([404, errorOf('not_found')])
      },
    )

    test.each([
      ['requests?model=%00', 'model'],
      ['requests?account=%00', 'account'],
      ['requests?key=%00', 'key'],
      [`requests?cursor=${writeCursor('requests', '\0')}`, 'cursor'],
      [`accounts?cursor=${writeCursor('accounts', '\0')}`, 'cursor'],
    ])('a list refuses %s', async (path, param) => {
      expect(await admin.get(`/v1/admin/${path}`)).toEqual(refusal(400, 'invalid_parameter', param))
    })

    test.each(['\ud800', 'a\udc00b'])(
      'a name or reference with half of a character, which a store would change, is refused: %j',
      async (half) => {
        const named = await admin.post('/v1/admin/accounts', { name: half })
        expect(named).toEqual(refusal(400, 'invalid_parameter', 'name'))
        const credit = { amountMicros: 1, reference: half }
        const added = await admin.credit(accountId, credit)
        expect(added).toEqual(refusal(400, 'invalid_parameter', 'reference'))
      },
    )

    test.each(['9999-12-31T23:59:59-00:01', '0000-01-01T00:00:00+00:01'])(
      'an expiry that an answer could not show as RFC 3339 is refused: %s',
      async (expires_at) => {
        const body = { name: 'k', expires_at }
        const { httpStatus, json } = await admin.post(`/v1/admin/accounts/${accountId}/keys`, body)
        expect([httpStatus, json]).toEqual([400, errorOf('invalid_parameter', 'expires_at')])
      },
    )

    test('a cost of many decimals leaves a ledger that the audit can read', async () => {
      const { text: apiKey } = await admin.apiKey(accountId)
      const { headers } = await admin.chat(apiKey)
      const path = `/v1/admin/requests/${String(headers['x-request-id'])}/settle`
      const refused = await admin.post(path, { cost: '1e-61' })
      expect(refused).toEqual(refusal(400, 'invalid_parameter', 'cost'))
      const settled = await admin.post(path, { cost: '1e-60' })
      expect([settled.httpStatus, textOf(settled.json, 'state')]).toEqual([200, 'final'])
      expect(await admin.world.audit()).toMatchObject({ ok: true, differences: [] })
    })
  })
}
