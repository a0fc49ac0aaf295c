import { type Dispatcher, request } from 'undici'
import { describe, expect, test } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/json/walk.ts'
import { listOperatorActions } from '../../src/ledger/operator-actions.ts'
import { createAdminToken } from '../../src/people/admin-tokens.ts'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { HOUR_MS, systemClock } from '../../src/vocabulary/clock.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { ADMIN_SCOPES, type AdminScope } from '../../src/vocabulary/role.ts'
import { startWorld } from '../world.ts'
import { ADMIN_TOKEN, column, errorOf, Management, refusal, textOf } from './management.ts'
import { operationsOf } from './openapi-reading.ts'
import { WITH_TOY } from './toy-operation.ts'

const START_MS = Date.parse('2027-01-01T00:00:00Z')

let nowMs = START_MS

const admin = Management.ofFile({
  operations: WITH_TOY,
  clock: { nowMs: () => nowMs },
  settings: { TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: '100000' },
})

interface NewToken {
  readonly scopes: readonly AdminScope[]
  readonly seconds?: number
  /** The caller; default: the token of the settings. */
  readonly token?: string
}

async function create({ scopes, seconds, token = ADMIN_TOKEN }: NewToken) {
  const body = { name: scopes.join(), scopes, expires_in_seconds: seconds ?? null }
  return admin.call({ method: 'POST', path: '/v1/admin/tokens', body, token })
}

async function newToken(input: NewToken): Promise<{ readonly id: string; readonly text: string }> {
  const { httpStatus, json } = await create(input)
  expect(httpStatus, JSON.stringify(json)).toBe(201)
  return { id: textOf(json, 'id'), text: textOf(json, 'token') }
}

function revoke(id: string, token = ADMIN_TOKEN) {
  return admin.call({ method: 'DELETE', path: `/v1/admin/tokens/${id}`, token })
}

async function statusWith(token: string): Promise<number> {
  return (await admin.get('/v1/admin/maintenance', token)).httpStatus
}

describe('every operation of admins', () => {
  test('answers tokens with its scope, and refuses others with the name of the scope', async () => {
    const document: JsonObject = (await admin.get('/openapi.json', null)).json
    const operations = operationsOf(document).filter(({ path }) => path.startsWith('/v1/admin/'))
    expect(operations.length).toBeGreaterThan(33)
    const tokens = new Map<AdminScope, string>()
    for (const scope of ADMIN_SCOPES) {
      tokens.set(scope, (await newToken({ scopes: [scope] })).text)
    }
    for (const { name, method, path, json } of operations) {
      const needed = json['x-admin-scope']
      expect(ADMIN_SCOPES, name).toContain(needed)
      expect(needed === 'read', `${name} has the scope ${needed}`).toBe(
        // The address of a webhook may be a secret of its receiver.
        (method === 'GET' && name !== 'listWebhooks') || name === 'checkSale',
      )
      for (const [scope, token] of tokens) {
        const place = path.replace(/\{(\w+)\}/g, 'none_0')
        const sent = method === 'GET' ? {} : { body: {} }
        const answer = await admin.call({ method: method as 'GET', path: place, token, ...sent })
        const isAllowed = scope === needed || scope === 'everything'
        const seen = `${name} with ${scope}: ${JSON.stringify(answer.json)}`
        if (isAllowed) expect([401, 403], seen).not.toContain(answer.httpStatus)
        else {
          expect(answer.httpStatus, seen).toBe(403)
          expect(answer.json, seen).toEqual(errorOf('admin_scope_missing'))
          expect(JSON.stringify(answer.json)).toContain(`lacks the required scope: ${needed}.`)
        }
      }
    }
  })

  test('that changes something is recorded once with the token that asked for it', async () => {
    const { id, text } = await newToken({ scopes: ['everything'] })
    const document: JsonObject = (await admin.get('/openapi.json', null)).json
    const accountId = await admin.account(1_000)
    const made = await Promise.all([admin.apiKey(accountId), admin.apiKey(accountId)])
    const codes = [
      (await admin.post('/v1/admin/codes', { amount: 5 })).json,
      (await admin.post('/v1/admin/codes', { amount: 5 })).json,
    ] as const
    const doomed = await newToken({ scopes: ['read'] })
    await admin.post('/v1/admin/invitations', { email: 'a@b.example', operator: true })
    const purchase = (): Promise<string> =>
      admin.world.purchase(accountId, {
        kind: 'hold',
        reason: 'paid in another currency',
        worthMicros: micros(25_000_000),
      })
    const webhook = await admin.post('/v1/admin/webhooks', { url: 'https://example.org/' })
    const params: Record<string, string> = {
      webhook_id: textOf(webhook.json, 'id'),
      invitation_id: Object((await admin.get('/v1/admin/invitations')).json['data'])[0].id,
      account_id: accountId,
      key_id: made[0].id,
      code_id: textOf(codes[0], 'id'),
      token_id: doomed.id,
      purchase_id: await purchase(),
    }
    const bodies: Readonly<Record<string, object>> = {
      createAccount: { name: 'Ada' },
      changeAccount: { name: 'Ada L.' },
      addCredit: { kind: 'backed', amount: 7, reference: 'recorded' },
      createKey: { name: 'laptop' },
      changeKey: { name: 'desk' },
      rotateKey: { grace_seconds: 60 },
      createCode: { amount: 5 },
      redeemCode: { code: textOf(codes[1], 'code') },
      setMaintenance: { enabled: false },
      dismissPurchase: { note: 'paid back' },
      createInvitation: { email: 'eve@example.org', account_id: accountId },
      removeUser: { email: 'eve@example.org' },
      createAdminToken: { name: 'made', scopes: ['read'] },
      createWebhook: { url: 'https://example.org/' },
      changeWebhook: { disabled: true },
    }
    // Asked elsewhere: these need a request, a payment or a user that is there.
    const elsewhere = ['settleRequest', 'creditPurchase', 'createResetLink', 'changeMember']
    const changing = operationsOf(document).filter(
      ({ name, method, path }) =>
        path.startsWith('/v1/admin/') &&
        !path.endsWith('/toys') &&
        method !== 'GET' &&
        name !== 'checkSale' &&
        !elsewhere.includes(name),
    )
    expect(changing.length).toBeGreaterThan(13)
    // Other operations change the things that these end.
    const ends = (name: string) => Number(/^(delete|revoke)/.test(name))
    changing.sort((one, other) => ends(one.name) - ends(other.name))
    for (const { name, method, path } of changing) {
      const before = await recorded()
      const place = path.replace(/\{(\w+)\}/g, (_, param: string) => params[param] ?? '')
      const body = bodies[name]
      const sent = { method: method as Dispatcher.HttpMethod, path: place, token: text }
      const answer = await admin.call({ ...sent, ...(body && { body }) })
      expect(answer.httpStatus, `${name}: ${JSON.stringify(answer.json)}`).toBeLessThan(300)
      const news = (await recorded()).filter((row) => !before.some((old) => old.id === row.id))
      const asked = name === 'refreshCatalog' ? [name, name] : [name]
      expect(
        news.map(({ action, tokenId, tokenName, userId }) => [action, tokenId, tokenName, userId]),
        name,
      ).toEqual(asked.map((action) => [action, id, 'everything', null]))
    }
    const all = JSON.stringify(await recorded())
    const hookSecret = textOf(webhook.json, 'secret')
    for (const secret of [text, hookSecret, doomed.text, made[0].text, textOf(codes[1], 'code')]) {
      expect(all).not.toContain(secret)
    }
  })
})

async function recorded() {
  const page = { limit: 1_000 }
  return (await listOperatorActions(admin.world.gateway.store.db, page)).rows
}

describe('a token', () => {
  test('has its text in one answer only, and no hash in any', async () => {
    nowMs += 1
    const { id, text } = await newToken({ scopes: ['keys', 'read'] })
    const listed = await admin.get('/v1/admin/tokens?limit=1')
    expect(listed.json['data']).toEqual([
      {
        id,
        object: 'admin_token',
        name: 'keys,read',
        prefix: `${text.slice(0, 18)}…${text.slice(-4)}`,
        scopes: ['read', 'keys'],
        made_by: null,
        created_at: new Date(nowMs).toISOString(),
        expires_at: null,
        revoked_at: null,
        last_used_at: null,
      },
    ])
    const stored = await admin.world.gateway.store.db
      .selectFrom('admin_tokens')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(JSON.stringify(stored)).not.toContain(text.slice(20, -4))
    expect(admin.world.log.join('')).not.toContain(text)
  })

  test('that expires is refused from that moment on, and so is an unknown one', async () => {
    const { text } = await newToken({ scopes: ['read'], seconds: 3_600 })
    expect(await statusWith(text)).toBe(200)
    nowMs += HOUR_MS - 1
    expect(await statusWith(text)).toBe(200)
    nowMs += 1
    for (const refused of [text, `${text.slice(0, -1)}_`, `${text}x`, text.slice(0, -1)]) {
      const answer = await admin.get('/v1/admin/accounts', refused)
      expect(answer).toEqual(refusal(401, 'invalid_admin_token'))
    }
  })

  test('that is revoked is refused at once, with all tokens that it and they created', async () => {
    const parent = await newToken({ scopes: ['everything'] })
    const child = await newToken({ scopes: ['everything'], token: parent.text })
    const grandchild = await newToken({ scopes: ['read'], token: child.text })
    const other = await newToken({ scopes: ['read'] })
    for (const { text } of [parent, child, grandchild]) expect(await statusWith(text)).toBe(200)
    const revoked = await revoke(parent.id)
    expect(revoked.json).toMatchObject({ id: parent.id, revoked_at: new Date(nowMs).toISOString() })
    for (const { text } of [parent, child, grandchild]) expect(await statusWith(text)).toBe(401)
    expect(await statusWith(other.text)).toBe(200)
    expect((await revoke(parent.id)).json).toEqual(revoked.json)
    expect((await revoke('atok_none')).httpStatus).toBe(404)
  })

  test('creates no token that outlives it, and a token without its own expiry expires with it', async () => {
    const { text, id } = await newToken({ scopes: ['everything'], seconds: 600 })
    const longer = await create({ scopes: ['read'], seconds: 601, token: text })
    expect(longer.json).toEqual(errorOf('invalid_parameter', 'expires_in_seconds'))
    const ends = new Date(nowMs + 600_000).toISOString()
    for (const seconds of [600, undefined]) {
      const made = await create({
        scopes: ['read'],
        token: text,
        ...(seconds === undefined ? {} : { seconds }),
      })
      expect(made.json).toMatchObject({ expires_at: ends, made_by: id })
    }
  })

  test('of fewer scopes creates no token and revokes none, not even itself', async () => {
    const victim = await newToken({ scopes: ['read'] })
    for (const scope of ['read', 'keys', 'credit'] as const) {
      const { id, text } = await newToken({ scopes: [scope] })
      for (const scopes of [[scope], ['everything']] as const) {
        expect((await create({ scopes, token: text })).httpStatus).toBe(403)
      }
      expect((await revoke(victim.id, text)).httpStatus).toBe(403)
      expect((await revoke(id, text)).httpStatus).toBe(403)
    }
    expect(await statusWith(victim.text)).toBe(200)
  })

  test('with only the scope keys sets no fee, which is money', async () => {
    const keys = await newToken({ scopes: ['keys'] })
    const both = await newToken({ scopes: ['keys', 'credit'] })
    const fee = { name: 'x', fee_basis_points: 0 }
    const path = `/v1/admin/accounts/${await admin.account()}`
    const calls = [
      { method: 'POST', path: '/v1/admin/accounts', body: fee },
      { method: 'PATCH', path, body: fee },
    ] as const
    for (const call of calls) {
      const refused = await admin.call({ ...call, token: keys.text })
      expect(refused).toEqual(refusal(403, 'admin_scope_missing'))
      const named = await admin.call({ ...call, body: { name: 'y' }, token: keys.text })
      expect(named.httpStatus).toBeLessThan(300)
      expect((await admin.call({ ...call, token: both.text })).httpStatus).toBeLessThan(300)
    }
  })

  test('has its last use to the hour, written at most once an hour', async () => {
    nowMs = START_MS + 100 * HOUR_MS + 1
    const { id, text } = await newToken({ scopes: ['read'] })
    const used = async () => {
      const { json } = await admin.get('/v1/admin/tokens')
      const rows = Array.isArray(json['data']) ? json['data'].filter(isJsonObject) : []
      return rows.find((row) => row['id'] === id)?.['last_used_at']
    }
    await statusWith(text)
    const hour = (hours: number) => new Date(START_MS + hours * HOUR_MS).toISOString()
    while ((await used()) !== hour(100));
    nowMs += HOUR_MS - 2
    await statusWith(text)
    expect(await used()).toBe(hour(100))
    nowMs += 2
    await statusWith(text)
    while ((await used()) !== hour(101));
  })
})

test('the token of the settings is recorded by its name, and has no id', async () => {
  await admin.account()
  const [newest] = await recorded()
  expect(newest).toMatchObject({ tokenId: null, tokenName: 'ADMIN_API_TOKEN', userName: null })
})

test.each([
  [{ name: 'x', scopes: [] }, 'scopes'],
  [{ name: 'x', scopes: ['write'] }, 'scopes.0'],
  [{ name: 'x' }, 'scopes'],
  [{ name: '', scopes: ['read'] }, 'name'],
  [{ name: 'x', scopes: ['read'], expires_in_seconds: 0 }, 'expires_in_seconds'],
  [{ name: 'x', scopes: ['read'], expires_in_seconds: 1e12 }, 'expires_in_seconds'],
])('%j creates no token', async (body, param) => {
  const before = column(await admin.get('/v1/admin/tokens?limit=100'), 'id')
  expect((await admin.post('/v1/admin/tokens', body)).json).toEqual(
    errorOf('invalid_parameter', param),
  )
  expect(column(await admin.get('/v1/admin/tokens?limit=100'), 'id')).toEqual(before)
})

test('without a token in the settings, a stored one opens nothing', async () => {
  const without = await startWorld()
  try {
    const { store, ids } = without.gateway
    const { text } = await createAdminToken(
      { db: store.db, ids, clock: systemClock },
      { name: 'x', scopes: ['everything'], expiresAtMs: null, madeBy: null, by: null },
    )
    const seen = async (path: string) => {
      const answer = await request(without.url(path), {
        headers: { authorization: `Bearer ${text}` },
      })
      return [answer.statusCode, Object(await answer.body.json()).error.code]
    }
    expect(await seen('/v1/admin/accounts')).toEqual([404, 'not_found'])
    expect(await seen('/v1/admin/tokens')).toEqual(await seen('/v1/nothing'))
  } finally {
    await without.close()
  }
})

test('a token that another process makes or revokes is known within a second', async () => {
  const database = await createPostgresDatabase()
  const settings = { DATABASE_URL: database.url }
  const one = await Management.start({ settings })
  const two = await Management.start({ settings })
  try {
    const made = await one.post('/v1/admin/tokens', { name: 'shop', scopes: ['read'] })
    const text = textOf(made.json, 'token')
    const status = async () => (await two.get('/v1/admin/accounts', text)).httpStatus
    // With pauses: an address that asks too often with an unknown token is refused for a minute.
    await expect.poll(status, { interval: 100 }).toBe(200)
    const id = textOf(made.json, 'id')
    await one.call({ method: 'DELETE', path: `/v1/admin/tokens/${id}` })
    expect((await one.get('/v1/admin/accounts', text)).httpStatus).toBe(401)
    await expect.poll(status, { interval: 100 }).toBe(401)
  } finally {
    await two.close()
    await one.close()
    await database.remove()
  }
})
