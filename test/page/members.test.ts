import { beforeEach, describe, expect, test } from 'vitest'
import { makeLink } from '../../src/people/links.ts'
import { changeMember } from '../../src/people/members.ts'
import { remove as endRights } from '../../src/people/removal.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { worldOfEach } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

const LAST_OWNER = { httpStatus: 409, code: 'last_owner', param: null }
const NOT_FOUND = { httpStatus: 404, code: 'not_found', param: null }

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const world = worldOfEach({ database: create })
  let operator: Browser
  let owner: Browser
  let accountId: string

  beforeEach(async () => {
    operator = await setUpOperator(world)
    accountId = (await world.account()).id
    owner = await guest('owner', 'owner')
  })

  const guest = (name: string, role: 'member' | 'owner') =>
    inviteGuest(world, { email: `${name}@example.org`, accountId, role })
  const idOf = async (browser: Browser): Promise<string> =>
    Object((await browser.get('me')).json['user']).id
  const setRole = async (by: Browser, of: Browser, role: string) =>
    by.call('PATCH', `accounts/${accountId}/members/${await idOf(of)}`, { body: { role } })
  const remove = async (by: Browser, of: Browser) =>
    by.call('DELETE', `accounts/${accountId}/members/${await idOf(of)}`)
  const leave = (browser: Browser) => browser.post(`accounts/${accountId}/leave`)

  async function membersSeen(): Promise<readonly string[]> {
    const { json } = await operator.get(`accounts/${accountId}/members`)
    return Object(json['data']).map(({ email, role }: Record<string, string>) => `${email} ${role}`)
  }

  async function invite(by: Browser, email: string, role = 'member'): Promise<string> {
    const { httpStatus, json } = await by.post(`accounts/${accountId}/invitations`, { email, role })
    expect(httpStatus).toBe(201)
    return String(json['url']).split('#')[1] ?? ''
  }

  function accept(token: string, browser = new Browser(world)) {
    return browser.post('auth/invitation', { token, name: 'Grace', password: ADA.password })
  }

  test('the last owner can neither leave, be removed, nor become a member', async () => {
    const member = await guest('member', 'member')
    for (const refused of [
      await leave(owner),
      await remove(owner, owner),
      await setRole(owner, owner, 'member'),
      await remove(operator, owner),
      await setRole(operator, owner, 'member'),
    ]) {
      expect(errorOf(refused)).toEqual(LAST_OWNER)
    }
    expect(await membersSeen()).toEqual(['owner@example.org owner', 'member@example.org member'])
    expect((await setRole(owner, member, 'owner')).json).toMatchObject({ role: 'owner' })
    expect((await leave(owner)).httpStatus).toBe(200)
    expect(await membersSeen()).toEqual(['member@example.org owner'])
    expect(errorOf(await leave(member))).toEqual(LAST_OWNER)
  })

  test('if the last two owners leave at the same time, one stays', async () => {
    const other = await guest('other', 'owner')
    const both = await Promise.all([leave(owner), leave(other)])
    expect(both.map(({ httpStatus }) => httpStatus).sort()).toEqual([200, 409])
    expect(await membersSeen()).toHaveLength(1)
  })

  test('if two owners remove each other at the same time, one stays', async () => {
    const other = await guest('other', 'owner')
    const both = await Promise.all([remove(owner, other), remove(other, owner)])
    expect(both.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(1)
    expect(await membersSeen()).toHaveLength(1)
  })

  test('a person who joins has no other open invitation to what the accepted one gives', async () => {
    const openNow = async () => {
      const { json } = await owner.get(`accounts/${accountId}/invitations`)
      return Object(json['data']).map(
        ({ email, role }: Record<string, string>) => `${email} ${role}`,
      )
    }
    const [first, second] = [
      await invite(owner, 'grace@example.org'),
      await invite(owner, 'grace@example.org'),
    ]
    await invite(owner, 'grace@example.org', 'owner')
    await invite(owner, 'eve@example.org')
    expect((await accept(first)).httpStatus).toBe(201)
    // The invitation to be an owner gives more.
    expect(await openNow()).toEqual(['eve@example.org member', 'grace@example.org owner'])
    expect(errorOf(await accept(second))).toMatchObject({ code: 'invalid_link' })
  })

  test('a removed member loses the account with the next call, and stays signed in', async () => {
    const member = await guest('member', 'member')
    expect((await member.get(`accounts/${accountId}/keys`)).httpStatus).toBe(200)
    expect((await remove(owner, member)).json).toMatchObject({ object: 'member', deleted: true })
    for (const path of ['', '/keys', '/requests', '/overview', '/balance', '/entries.csv']) {
      expect(errorOf(await member.get(`accounts/${accountId}${path}`))).toEqual(NOT_FOUND)
    }
    const made = await member.post(`accounts/${accountId}/keys`, { name: 'late' })
    const chatted = await member.post(`accounts/${accountId}/playground/chat`, {
      model: 'sim/text',
      messages: [{ role: 'user', content: 'Hi.' }],
    })
    for (const refused of [made, chatted]) expect(errorOf(refused)).toEqual(NOT_FOUND)
    expect((await member.get('me')).json).toMatchObject({ accounts: [] })
    expect(errorOf(await remove(owner, member))).toEqual(NOT_FOUND)
  })

  test('an owner who becomes a member at once loses the rights over members and credit', async () => {
    const other = await guest('other', 'owner')
    await setRole(owner, other, 'member')
    for (const refused of [
      await other.get(`accounts/${accountId}/members`),
      await other.post(`accounts/${accountId}/redeem`, { code: 'ANY' }),
      await setRole(other, other, 'owner'),
      await remove(other, owner),
      await other.post(`accounts/${accountId}/invitations`, {
        email: 'x@y.example',
        role: 'owner',
      }),
    ]) {
      expect(errorOf(refused)).toMatchObject({ httpStatus: 403, code: 'owner_required' })
    }
    expect((await other.get(`accounts/${accountId}/keys`)).httpStatus).toBe(200)
  })

  test('a change that an owner began before becoming a member is refused', async () => {
    const [other, member] = [await guest('other', 'owner'), await guest('member', 'member')]
    const ids = { userId: await idOf(member), ownerId: await idOf(other) }
    await setRole(owner, other, 'member')
    const parts = { db: world.gateway.store.db, clock: systemClock }
    const change = changeMember(parts, { accountId, ...ids, role: 'owner' }, null)
    await expect(change).rejects.toMatchObject({ code: 'owner_required' })
  })

  test('a person who is invited by an owner joins once, even with an existing user', async () => {
    const token = await invite(owner, 'Grace@example.org')
    const { json: listed } = await owner.get(`accounts/${accountId}/invitations`)
    expect(listed['data']).toEqual([
      {
        id: expect.stringMatching(/^link_/),
        object: 'invitation',
        email: 'grace@example.org',
        role: 'member',
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
    ])
    expect(JSON.stringify(listed)).not.toContain(token)
    const grace = new Browser(world)
    expect((await accept(token, grace)).httpStatus).toBe(201)
    expect((await accept(token)).httpStatus).toBe(404)
    expect((await owner.get(`accounts/${accountId}/invitations`)).json['data']).toEqual([])

    const second = await world.account()
    const chief = await inviteGuest(world, {
      email: 'chief@example.org',
      accountId: second.id,
      role: 'owner',
    })
    const sent = { email: 'grace@example.org', role: 'owner' }
    const { json } = await chief.post(`accounts/${second.id}/invitations`, sent)
    await accept(String(json['url']).split('#')[1] ?? '', grace)
    expect((await grace.get('me')).json['accounts']).toMatchObject([
      { id: accountId, role: 'member' },
      { id: second.id, role: 'owner' },
    ])
    expect((await leave(grace)).httpStatus).toBe(200)
    expect((await grace.get('me')).json['accounts']).toMatchObject([{ id: second.id }])
  })

  test('only owners of its account can withdraw an invitation, and it ends when its person is removed', async () => {
    const withdrawn = await invite(owner, 'grace@example.org')
    const { json } = await owner.get(`accounts/${accountId}/invitations`)
    const [{ id }] = json['data'] as [{ id: string }]
    const { id: otherId } = await world.account()
    const stranger = await inviteGuest(world, {
      email: 'stranger@example.org',
      accountId: otherId,
      role: 'owner',
    })
    const foreign = await stranger.call('DELETE', `accounts/${otherId}/invitations/${id}`)
    expect(errorOf(foreign)).toEqual(NOT_FOUND)
    const ended = await owner.call('DELETE', `accounts/${accountId}/invitations/${id}`)
    expect(ended.httpStatus).toBe(200)
    expect((await accept(withdrawn)).httpStatus).toBe(404)

    const member = await guest('member', 'member')
    const promised = await invite(owner, 'member@example.org', 'owner')
    await remove(owner, member)
    expect((await accept(promised, member)).httpStatus).toBe(404)
  })

  test.each([
    ['is made a member', (of: Browser) => setRole(owner, of, 'member')],
    ['is removed', (of: Browser) => remove(owner, of)],
    ['leaves', (of: Browser) => leave(of)],
  ])(
    'invitations by an owner who %s no longer work, and invitations by others do',
    async (_, end) => {
      const other = await guest('other', 'owner')
      const sent = await invite(other, 'second@example.org', 'owner')
      const stays = await invite(owner, 'grace@example.org')
      expect((await end(other)).httpStatus).toBe(200)
      const { json } = await owner.get(`accounts/${accountId}/invitations`)
      expect(json['data']).toMatchObject([{ email: 'grace@example.org' }])
      expect((await accept(sent)).httpStatus).toBe(404)
      expect(
        (await new Browser(world).post('auth/invitation/look', { token: sent })).json,
      ).toMatchObject({ usable: false, inviter: null })
      expect((await accept(stays)).httpStatus).toBe(201)
    },
  )

  test.each([
    [
      'is made a member and an owner again',
      async (of: Browser) => {
        await setRole(owner, of, 'member')
        expect((await setRole(owner, of, 'owner')).httpStatus).toBe(200)
      },
    ],
    [
      'is removed and invited again',
      async (of: Browser) => {
        await remove(owner, of)
        const again = await invite(owner, 'other@example.org', 'owner')
        expect((await accept(again, of)).httpStatus).toBe(201)
      },
    ],
  ])(
    'earlier invitations by an owner who %s no longer work, and new ones do',
    async (_, endAndBegin) => {
      const other = await guest('other', 'owner')
      const sent = await invite(other, 'second@example.org', 'owner')
      await endAndBegin(other)
      expect((await owner.get(`accounts/${accountId}/invitations`)).json['data']).toEqual([])
      expect((await accept(sent)).httpStatus).toBe(404)
      const fresh = await invite(other, 'second@example.org')
      expect((await accept(fresh)).httpStatus).toBe(201)
    },
  )

  test('invitations by a removed operator no longer work, even if the person is an operator again', async () => {
    const email = 'second-operator@example.org'
    const becomeOperator = async (browser: Browser) => {
      const purpose = { kind: 'invitation', email, isOperator: true, membership: null } as const
      const { text } = await makeLink(linkParts(world), purpose)
      expect((await accept(text, browser)).httpStatus).toBe(201)
    }
    const second = new Browser(world)
    await becomeOperator(second)
    const sent = await invite(second, 'grace@example.org')
    const { db } = world.gateway.store
    const { wasOperator } = await endRights(
      { db, clock: systemClock },
      { email, accountId: null, asOperator: true },
    )
    expect(wasOperator).toBe(true)
    await becomeOperator(second)
    expect((await accept(sent)).httpStatus).toBe(404)
    expect((await accept(await invite(second, 'grace@example.org'))).httpStatus).toBe(201)
  })

  test('an invitation by an owner who is now a member no longer works', async () => {
    const other = await guest('other', 'owner')
    const sent = Array.from({ length: 10 }, (_, each) =>
      other.post(`accounts/${accountId}/invitations`, {
        email: `guest${each}@example.org`,
        role: 'owner',
      }),
    )
    const [, ...made] = await Promise.all([setRole(owner, other, 'member'), ...sent])
    expect((await owner.get(`accounts/${accountId}/invitations`)).json['data']).toEqual([])
    for (const { json } of made) {
      const [, token] = String(json['url'] ?? '#none').split('#')
      expect((await accept(token ?? '')).httpStatus).toBe(404)
    }
  })

  test('invitations by an operator work even after the operator has left the account', async () => {
    const sent = await invite(operator, 'grace@example.org')
    const own = await invite(owner, ADA.email)
    expect((await accept(own, operator)).httpStatus).toBe(201)
    expect((await leave(operator)).httpStatus).toBe(200)
    expect((await accept(sent)).httpStatus).toBe(201)
  })

  test('an account has at most a hundred open invitations', async () => {
    for (let each = 0; each < 100; each++) await invite(owner, `guest${each}@example.org`)
    const sent = { email: 'one-more@example.org', role: 'member' }
    const refused = await owner.post(`accounts/${accountId}/invitations`, sent)
    expect(errorOf(refused)).toMatchObject({ httpStatus: 409, code: 'too_many_invitations' })
  })

  test('changes of members by an operator are recorded, without the link, and changes by an owner are not', async () => {
    const member = await guest('member', 'member')
    await invite(owner, 'grace@example.org')
    await setRole(owner, member, 'owner')
    const token = await invite(operator, 'eve@example.org')
    await setRole(operator, member, 'member')
    await remove(operator, member)
    const { json, text } = await operator.get(`operator/actions?account=${accountId}`)
    expect(json['data']).toMatchObject([
      { action: 'removeMember', account_id: accountId, user_name: 'Ada', detail: { role: null } },
      { action: 'changeMember', detail: { role: 'member' } },
      { action: 'inviteMember', detail: { email: 'eve@example.org', role: 'member' } },
    ])
    expect(text).not.toContain(token)
  })

  test('owners read whose role an operator changed, and who was removed', async () => {
    const [member, other] = [await guest('member', 'member'), await guest('other', 'member')]
    const nameOf = async (browser: Browser) => Object((await browser.get('me')).json['user']).name
    const [name, otherName] = [await nameOf(member), await nameOf(other)]
    // A role that they have changes nothing.
    await setRole(operator, member, 'member')
    await setRole(operator, member, 'owner')
    await remove(operator, member)
    await operator.post('auth/confirm', { password: ADA.password })
    const removed = { email: 'other@example.org', account_id: accountId }
    expect((await operator.post('operator/users/remove', removed)).httpStatus).toBe(200)
    const { json, text } = await owner.get(`accounts/${accountId}/actions`)
    expect(json['data']).toMatchObject([
      { action: 'removeUser', detail: { name: otherName } },
      { action: 'removeMember', detail: { name } },
      { action: 'changeMember', detail: { name, role: 'owner' } },
    ])
    expect(text).not.toContain('"email"')
  })
})
