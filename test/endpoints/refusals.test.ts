import { describe, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { PROBLEMS } from '../../src/vocabulary/problem.ts'
import { inviteGuest, setUpOperator } from '../page/page-client.ts'
import { Management, refusal, textOf } from './management.ts'

/** Requests that are refused before their holds open: counted, and nothing else is kept of them. */

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const admin = Management.ofEach({ database: create })

  const chat = (apiKey: string, body: object | string) =>
    admin.call({ method: 'POST', path: '/v1/chat/completions', body, token: apiKey })

  /** The counts of an account, by code and key. */
  async function counts(accountId: string) {
    await admin.world.gateway.settled()
    await admin.world.gateway.refusals.write()
    const { json } = await admin.get(`/v1/admin/accounts/${accountId}/refusals`)
    const keys = (json['keys'] as readonly Record<string, unknown>[]).map((row) => [
      row['key_id'],
      row['code'],
      row['requests'],
    ])
    return { json, keys }
  }

  test('each refusal is counted once by code and key, and forwarded requests are not', async () => {
    const accountId = await admin.account()
    const poor = await admin.apiKey(accountId)
    expect(await counts(accountId)).toMatchObject({ json: { requests: 0, codes: [] }, keys: [] })
    for (const _ of [1, 2, 3]) {
      expect(await admin.chat(poor.text)).toEqual(refusal(402, 'insufficient_credit'))
    }
    expect(await chat(poor.text, '{')).toEqual(refusal(400, 'invalid_json'))
    await admin.credit(accountId, { amountMicros: 1_000_000, reference: 'first' })
    expect((await admin.chat(poor.text)).httpStatus).toBe(200)
    admin.world.simulator.script({ path: '/chat/completions', status: 500 })
    expect(await admin.chat(poor.text)).toEqual(refusal(502, 'upstream_error'))
    const { json, keys } = await counts(accountId)
    expect(keys).toEqual([
      [poor.id, 'insufficient_credit', 3],
      [poor.id, 'invalid_json', 1],
    ])
    expect(json).toMatchObject({ object: 'refusals', account_id: accountId, requests: 4 })
    const { meaning, remedy } = PROBLEMS.insufficient_credit
    const latest_at = expect.stringMatching(/^\d{4}-/)
    const [first] = json['codes'] as readonly unknown[]
    expect(first).toEqual({ code: 'insufficient_credit', requests: 3, latest_at, meaning, remedy })
    const [ofKey] = json['keys'] as readonly unknown[]
    expect(ofKey).toMatchObject({ key_name: 'test', key_deleted: false })
  })

  test('a refused known key counts for its account, and an unknown key for no account', async () => {
    const accountId = await admin.account(1_000_000)
    const disabled = await admin.apiKey(accountId)
    const path = `/v1/admin/keys/${disabled.id}`
    await admin.patch(path, { disabled: true })
    expect(await admin.chat(disabled.text)).toEqual(refusal(401, 'api_key_disabled'))
    await admin.patch(path, { disabled: false })
    await admin.patch(`/v1/admin/accounts/${accountId}`, { disabled: true })
    expect(await admin.chat(disabled.text)).toEqual(refusal(403, 'account_suspended'))
    const unknown = `${disabled.text.slice(0, -1)}${disabled.text.endsWith('a') ? 'b' : 'a'}`
    expect(await admin.chat(unknown)).toEqual(refusal(401, 'invalid_api_key'))
    expect((await counts(accountId)).keys).toEqual([
      [disabled.id, 'account_suspended', 1],
      [disabled.id, 'api_key_disabled', 1],
    ])
    const line = await admin.world.logged('"errorCode":"api_key_disabled"')
    expect(JSON.parse(line)).toMatchObject({ accountId, apiKeyId: disabled.id })
  })

  test('counts can be limited to some API keys', async () => {
    const accountId = await admin.account()
    const [one, other] = [await admin.apiKey(accountId), await admin.apiKey(accountId)]
    for (const { text } of [one, one, other]) {
      expect(await admin.chat(text)).toEqual(refusal(402, 'insufficient_credit'))
    }
    await counts(accountId)
    const of = async (query: string) =>
      (await admin.get(`/v1/admin/accounts/${accountId}/refusals?key=${query}`)).json
    expect(await of(one.id)).toMatchObject({
      requests: 2,
      codes: [{ code: 'insufficient_credit', requests: 2 }],
      keys: [{ key_id: one.id }],
    })
    expect(await of(`${one.id},${other.id}`)).toMatchObject({ requests: 3 })
    expect(await of('key_unknown')).toMatchObject({ requests: 0, codes: [], keys: [] })
  })

  test('an account of which many requests were refused or failed is in the list of failing accounts, with the most frequent code', async () => {
    const [refused, failed, served] = [
      await admin.account(),
      await admin.account(1_000_000),
      await admin.account(1_000_000),
    ]
    const keyOf = async (accountId: string) => (await admin.apiKey(accountId)).text
    const [poor, unlucky, lucky] = [await keyOf(refused), await keyOf(failed), await keyOf(served)]
    for (const _ of Array(10)) await chat(poor, '{}')
    for (const _ of Array(2)) await admin.chat(poor)
    const path = '/chat/completions'
    for (const _ of Array(12)) {
      admin.world.simulator.script({ path, status: 500 })
      await admin.chat(unlucky)
    }
    expect((await admin.chat(lucky)).httpStatus).toBe(200)
    const listed = async (more = '') => {
      await counts(refused)
      const { json } = await admin.get(`/v1/admin/accounts?state=failing&sort=created${more}`)
      const rows = json['data'] as readonly Record<string, unknown>[]
      return rows.map(({ id, failing }) => [id, failing])
    }
    const invalid = { requests: 12, refused: 12, failed: 0, code: 'missing_model' }
    const broken = { requests: 12, refused: 0, failed: 12, code: 'upstream_error' }
    expect(await listed()).toEqual([
      [refused, invalid],
      [failed, broken],
    ])
    expect(await listed(`&search=${failed}`)).toEqual([[failed, broken]])
    await admin.patch(`/v1/admin/accounts/${refused}`, { disabled: true })
    expect(await listed()).toEqual([[failed, broken]])
    await admin.patch(`/v1/admin/accounts/${failed}`, { disabled: true })
    expect(await listed()).toEqual([])
  })

  test('a flood of refusals is a few rows', async () => {
    const accountId = await admin.account()
    const { text } = await admin.apiKey(accountId)
    await Promise.all(Array.from({ length: 50 }, () => chat(text, '{')))
    const { db } = admin.world.gateway.store
    await counts(accountId)
    const rows = await db.selectFrom('refusals').select(['code', 'requests']).execute()
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(50)
    // A few codes, in two hours if one has just ended.
    expect(rows.length).toBeLessThan(10)
  })

  test('members of the account and operators read them, members of another account do not', async () => {
    const operator = await setUpOperator(admin.world)
    const [accountId, otherId] = [await admin.account(), await admin.account()]
    const { text, id } = await admin.apiKey(accountId)
    await admin.chat(text)
    await counts(accountId)
    const guest = (email: string, account: string) =>
      inviteGuest(admin.world, { email, accountId: account, role: 'member' })
    const member = await guest('mira@example.org', accountId)
    const stranger = await guest('lin@example.org', otherId)
    const path = `accounts/${accountId}/refusals`
    expect((await member.get(path)).json).toMatchObject({ requests: 1, keys: [{ key_id: id }] })
    expect((await operator.get(`operator/${path}`)).json).toMatchObject({ requests: 1 })
    expect((await stranger.get(path)).httpStatus).toBe(404)
    expect((await stranger.get(`accounts/${otherId}/refusals`)).json).toMatchObject({ requests: 0 })
    expect((await stranger.get(`operator/${path}`)).httpStatus).not.toBe(200)
    const unknown = await admin.get('/v1/admin/accounts/acct_1/refusals')
    expect(unknown).toEqual(refusal(404, 'not_found'))
  })

  test('a range has whole hours, and is the last seven days by default', async () => {
    const accountId = await admin.account()
    const at = (query: string) => admin.get(`/v1/admin/accounts/${accountId}/refusals?${query}`)
    const { json } = await at('from=2027-01-01T10:59:59Z&to=2027-01-01T11:00:01Z')
    expect(json).toMatchObject({ from: '2027-01-01T10:00:00.000Z', to: '2027-01-01T12:00:00.000Z' })
    const { json: usual } = await at('')
    const days = (Date.parse(textOf(usual, 'to')) - Date.parse(textOf(usual, 'from'))) / 86_400_000
    expect(days).toBeGreaterThan(6)
    expect(days).toBeLessThanOrEqual(7)
    const wrong = await at('from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z')
    expect(wrong).toEqual(refusal(400, 'invalid_parameter', 'from'))
  })
})
