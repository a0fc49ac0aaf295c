import { beforeAll, expect, test } from 'vitest'
import type { Operation } from '../../src/operations/operation.ts'
import { describedOperations } from '../../src/operations/operations.ts'
import { createAdminToken } from '../../src/people/admin-tokens.ts'
import { makeLink } from '../../src/people/links.ts'
import { ADMIN_SCOPES, type AdminScope } from '../../src/vocabulary/role.ts'
import { type Browser, inviteGuest, linkParts, setUpOperator } from '../page/page-client.ts'
import { type TestAccount, worldOfFile } from '../world.ts'
import { ADMIN_TOKEN } from './management.ts'

/** Every operation of the admin API, of keys and of the page, against every caller, by what docs/ says of both. */

type PathKind = 'admin' | 'key' | 'anyone' | 'member' | 'operator'

interface Route {
  readonly name: string
  readonly kind: PathKind
  readonly method: Operation['method']
  readonly path: string
  readonly takesBody: boolean
}

const PATH_KINDS = ['admin', 'key', 'anyone', 'member', 'operator'] as const

const ROUTES: readonly Route[] = describedOperations().flatMap(({ name, method, paths, body }) =>
  PATH_KINDS.flatMap((kind) => {
    const path = paths[kind]
    return path === undefined ? [] : [{ name, kind, method, path, takesBody: body !== null }]
  }),
)

/** From docs/people.md: only owners redeem codes, buy credit, set billing details, manage members and read what operators changed. */
const OWNERS_ALONE =
  /\/redeem$|\/billing$|\/actions$|^POST .*\/purchases$|\/purchases\/\{purchase_id\}(?:\/page)?$|\/members(?:\/|$)|\/invitations(?:\/|$)/

/** From the table in docs/admin-tokens.md: the first matching line. */
const SCOPES: readonly (readonly [RegExp, AdminScope])[] = [
  [/^GET .*\/webhooks$/, 'everything'],
  [/^GET |\/sale\/check$/, 'read'],
  [/\/(?:credit|redeem|settle|dismiss)$|\/codes(?:\/|$)/, 'credit'],
  [/^(?:POST|PATCH) \/v1\/admin\/accounts(?:\/\{account_id\})?$|\/keys(?:\/|$)/, 'keys'],
  [/./, 'everything'],
]

/** The credentials of a caller, and its rights by docs/. */
interface Sender {
  readonly headers: Readonly<Record<string, string>>
  readonly is: 'nobody' | 'key' | 'member' | 'owner' | 'operator' | 'stranger' | 'token'
  /** A token's scope; null: revoked or expired. For a key, why it is refused. */
  readonly scope?: AdminScope | null
  readonly refused?: readonly [httpStatus: number, code: string]
}

type Expected = 'served' | readonly [httpStatus: number, code: string]

function expectedOf({ kind, method, path }: Route, sender: Sender): Expected {
  const line = `${method} ${path}`
  switch (kind) {
    case 'anyone':
      return 'served'
    case 'key':
      if (sender.is === 'key') return sender.refused ?? 'served'
      return [401, sender.is === 'token' ? 'invalid_api_key' : 'missing_api_key']
    case 'admin': {
      if (sender.is !== 'token' || sender.scope === null) return [401, 'invalid_admin_token']
      const needed = SCOPES.find(([shape]) => shape.test(line))?.[1]
      const isAllowed = sender.scope === 'everything' || sender.scope === needed
      return isAllowed ? 'served' : [403, 'admin_scope_missing']
    }
    case 'member':
      if (sender.is === 'member')
        return OWNERS_ALONE.test(line) ? [403, 'owner_required'] : 'served'
      if (sender.is === 'owner' || sender.is === 'operator') return 'served'
      return sender.is === 'stranger' ? [404, 'not_found'] : [401, 'not_signed_in']
    case 'operator':
      if (sender.is === 'operator') return 'served'
      return 'cookie' in sender.headers ? [404, 'not_found'] : [401, 'not_signed_in']
  }
}

interface Place {
  readonly account: TestAccount
  readonly ids: Readonly<Record<string, string>>
  /** A word that only texts of this account have. */
  readonly mark: string
}

const SENDERS = [
  'nobody',
  'a key',
  'a disabled key',
  'a key of a suspended account',
  'a key of another account',
  'a revoked token',
  'an expired token',
  ...ADMIN_SCOPES.map((scope) => `a token with ${scope}` as const),
  'the token of the settings',
  'a member of another account',
  'an owner of another account',
  'the owner of a suspended account',
  'a removed member with an open session',
  'a member',
  'an owner',
  'an operator',
] as const

type SenderName = (typeof SENDERS)[number]

let own: Place
let other: Place
let suspended: Place
let senders: Readonly<Record<SenderName, Sender>>

const world = worldOfFile({
  mode: 'simulator',
  settings: { ADMIN_API_TOKEN: ADMIN_TOKEN, TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: '1000000' },
})

beforeAll(async () => {
  await world.account()
  const operator = await setUpOperator(world)
  own = await makePlace('vermilion')
  other = await makePlace('cerulean')
  suspended = await makePlace('ochre')
  const of = (place: Place, role: 'owner' | 'member') =>
    inviteGuest(world, {
      email: `${role}-of@${place.mark}.example`,
      accountId: place.account.id,
      role,
    })
  const suspendedOwner = await of(suspended, 'owner')
  await change(`accounts/${suspended.account.id}`, { disabled: true })
  const disabled = await world.account()
  const { json: keys } = await operator.get(`operator/accounts/${disabled.id}/keys`)
  await change(`keys/${Object(keys['data'])[0].id}`, { disabled: true })
  const expired = await token('everything', Date.now())
  const removed = await inviteGuest(world, {
    email: `removed-of@${own.mark}.example`,
    accountId: own.account.id,
    role: 'owner',
  })
  const removal = { email: `removed-of@${own.mark}.example`, account_id: own.account.id }
  const path = '/v1/admin/users/remove'
  const answer = await send({ method: 'POST', path, headers: SETTINGS, body: removal })
  expect(answer.httpStatus).toBe(200)
  const revoked = await token('read')
  await send({ method: 'DELETE', path: `/v1/admin/tokens/${revoked.id}`, headers: SETTINGS })
  const scoped = Object.fromEntries(
    await Promise.all(
      ADMIN_SCOPES.map(async (scope) => [
        `a token with ${scope}`,
        { headers: bearer((await token(scope)).text), is: 'token', scope },
      ]),
    ),
  ) as Record<`a token with ${AdminScope}`, Sender>
  const key = ({ apiKey }: TestAccount): Sender => ({ headers: bearer(apiKey), is: 'key' })
  senders = {
    ...scoped,
    nobody: { headers: {}, is: 'nobody' },
    'a key': key(own.account),
    'a disabled key': { ...key(disabled), refused: [401, 'api_key_disabled'] },
    'a key of a suspended account': {
      ...key(suspended.account),
      refused: [403, 'account_suspended'],
    },
    'a key of another account': key(other.account),
    'a revoked token': { headers: bearer(revoked.text), is: 'token', scope: null },
    'an expired token': { headers: bearer(expired.text), is: 'token', scope: null },
    'the token of the settings': { headers: SETTINGS, is: 'token', scope: 'everything' },
    'a member of another account': { headers: session(await of(other, 'member')), is: 'stranger' },
    'an owner of another account': { headers: session(await of(other, 'owner')), is: 'stranger' },
    'the owner of a suspended account': { headers: session(suspendedOwner), is: 'stranger' },
    'a removed member with an open session': { headers: session(removed), is: 'stranger' },
    'a member': { headers: session(await of(own, 'member')), is: 'member' },
    'an owner': { headers: session(await of(own, 'owner')), is: 'owner' },
    'an operator': { headers: session(operator), is: 'operator' },
  }
})

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
const SETTINGS = bearer(ADMIN_TOKEN)

function session({ cookies }: Browser): Readonly<Record<string, string>> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return { cookie }
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}

async function send({ method, path, headers, body }: Sent) {
  const isReading = method === 'GET'
  const answer = await fetch(world.url(path), {
    method,
    redirect: 'manual',
    // From the page's origin, so that a refusal is due to the caller.
    headers: {
      ...headers,
      origin: new URL(world.url('/')).origin,
      'content-type': 'application/json',
    },
    ...(isReading ? {} : { body: JSON.stringify(body ?? {}) }),
  })
  const text = await answer.text()
  return { httpStatus: answer.status, text, code: /"code":"(\w+)"/.exec(text)?.[1] ?? null }
}

async function change(path: string, body: object): Promise<void> {
  const sent = { method: 'PATCH', path: `/v1/admin/${path}`, headers: SETTINGS, body }
  expect((await send(sent)).httpStatus).toBe(200)
}

/** By position: the scope, and the moment at which it expires; default: never. */
async function token(
  scope: AdminScope,
  expiresAtMs: number | null = null,
): Promise<{ readonly id: string; readonly text: string }> {
  const { store, ids } = world.gateway
  const { adminToken, text } = await createAdminToken(
    { db: store.db, ids, clock: { nowMs: Date.now } },
    { name: scope, scopes: [scope], expiresAtMs, madeBy: null, by: null },
  )
  return { id: adminToken.id, text }
}

/** An account with everything that an operation can name, each with the account's mark where it has a text. */
async function makePlace(mark: string): Promise<Place> {
  const account = await world.account()
  const { db } = world.gateway.store
  const completed = await world.chat(account.apiKey)
  await completed.text()
  await change(`accounts/${account.id}`, { name: mark, email: `books@${mark}.example` })
  const keyRow = db.selectFrom('api_keys').select('id').where('account_id', '=', account.id)
  const { id: key_id } = await keyRow.executeTakeFirstOrThrow()
  await change(`keys/${key_id}`, { name: `key of ${mark}` })
  const purchase_id = await world.purchase(account.id, null)
  const membership = { accountId: account.id, role: 'member' } as const
  const email = `open@${mark}.example`
  await makeLink(linkParts(world), { kind: 'invitation', email, isOperator: false, membership })
  const { id: invitation_id } = await db
    .selectFrom('links')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  const guest = { email: `member@${mark}.example`, accountId: account.id, role: 'member' } as const
  const me = await (await inviteGuest(world, guest)).get('me')
  const request_id = completed.headers.get('x-request-id') ?? ''
  const ids = {
    ...{ account_id: account.id, user_id: Object(me.json['user']).id },
    ...{ key_id, request_id, purchase_id, invitation_id },
  }
  return { account, ids, mark }
}

const pathOf = ({ path }: Route, { ids }: Place): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none_0')

/** The query without which a read is refused. */
function neededQuery({ name, path }: Route, { ids }: Place): string {
  if (name === 'getGeneration') return `?id=${ids['request_id']}`
  return path === '/v1/credit/quote' ? '?amount=5000000' : ''
}

/** A call that reads, or that is refused for its body or its IDs before it changes anything. */
function harmlessPath(route: Route, place: Place): string {
  if (route.method === 'GET') return pathOf(route, place) + neededQuery(route, place)
  if (route.takesBody) return pathOf(route, place)
  const ids = { account_id: place.ids['account_id'] ?? '' }
  return pathOf(route, { ...place, ids })
}

/** Whether a route reads only existing things: nothing, or things of an account. */
function isReadable({ method, path }: Route): boolean {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return method === 'GET' && names.every((name) => name in own.ids)
}

/** Operations that take no body and name nothing, so that a call of them is never harmless. */
const RUN_ELSEWHERE = ['leaveAccount', 'refreshCatalog', 'checkSale']

test.each(ROUTES)('$method $path answers every caller as documented', async (route) => {
  for (const name of SENDERS) {
    const sender = senders[name]
    const expected = expectedOf(route, sender)
    const { headers } = sender
    const { method } = route
    if (expected !== 'served') {
      const answer = await send({ method, path: pathOf(route, own), headers })
      const seen = `${name}: ${answer.text}`
      expect([answer.httpStatus, answer.code], seen).toEqual(expected)
      // The IDs of the call itself, which a refusal may repeat.
      expect(answer.text, seen).not.toContain(own.mark)
      continue
    }
    if (RUN_ELSEWHERE.includes(route.name)) continue
    const body = { not_a_field: true }
    const answer = await send({ method, path: harmlessPath(route, own), headers, body })
    const seen = `${name}: ${answer.text}`
    expect(answer.httpStatus, seen).toBeLessThan(500)
    expect([401, 403], seen).not.toContain(answer.httpStatus)
    // A route that is hidden from a caller is answered with 404 too.
    if (isReadable(route) && !name.includes('another')) {
      // The account's purchase is not paid: it has no receipt.
      expect(answer.httpStatus, seen).toBe(route.name === 'getReceipt' ? 404 : 200)
    }
    if (route.takesBody) expect([400, 409], seen).toContain(answer.httpStatus)
    if (sender.is === 'operator' || sender.is === 'token') continue
    const foreign = name.includes('another') ? [own] : [other, suspended]
    for (const { mark, ids } of foreign) {
      expect(answer.text, seen).not.toContain(mark)
      if (!name.includes('another'))
        for (const id of Object.values(ids)) expect(answer.text, seen).not.toContain(id)
    }
  }
})

/** The queries that name something of another account. */
const foreignQueries = ({ account, ids, mark }: Place): readonly string[] => [
  `key=${ids['key_id']}`,
  `account=${account.id}`,
  `cursor=${ids['request_id']}`,
  `search=${mark}`,
  `by=key&key=${ids['key_id']}`,
]

test.each(
  ROUTES.filter(({ method, kind }) => method === 'GET' && kind !== 'operator' && kind !== 'admin'),
)('$method $path shows no data of another account that its query names', async (route) => {
  const { headers } = senders[route.kind === 'member' ? 'an owner' : 'a key']
  for (const query of foreignQueries(other)) {
    const answer = await send({ method: 'GET', path: `${pathOf(route, own)}?${query}`, headers })
    const seen = `${query}: ${answer.text}`
    expect([200, 400, 404], seen).toContain(answer.httpStatus)
    expect(answer.httpStatus === 200 ? answer.text : '', seen).not.toMatch(shownOf(other))
  }
})

/** Texts that an answer must not contain: the account's mark, and the ID of its request. */
function shownOf({ mark, ids }: Place): RegExp {
  return new RegExp(`${mark}|${ids['request_id']}`)
}
