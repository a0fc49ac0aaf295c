import { beforeEach, describe, expect, test } from 'vitest'
import { makeLink } from '../../src/people/links.ts'
import { type Removal, remove } from '../../src/people/removal.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { worldOfEach } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

const EVE = { email: 'eve@example.org', password: ADA.password } as const
const LAST_OPERATOR = expect.objectContaining({ code: 'last_operator' })

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const world = worldOfEach({ database: create })
  let ada: Browser
  let accountId: string

  beforeEach(async () => {
    ada = await setUpOperator(world)
    accountId = (await world.account()).id
  })

  function take(removal: Partial<Removal> & Pick<Removal, 'email'>) {
    const { db } = world.gateway.store
    return remove({ db, clock: systemClock }, { accountId: null, asOperator: false, ...removal })
  }

  async function invitation(of: { readonly isOperator: boolean; readonly accountId?: string }) {
    const membership =
      of.accountId === undefined ? null : { accountId: of.accountId, role: 'member' as const }
    const { isOperator } = of
    const purpose = { kind: 'invitation', email: EVE.email, isOperator, membership } as const
    return (await makeLink(linkParts(world), purpose)).text
  }

  async function accept(token: string, password: string): Promise<Browser | number> {
    const browser = new Browser(world)
    const { httpStatus } = await browser.post('auth/invitation', { token, name: 'Eve', password })
    return httpStatus === 201 ? browser : httpStatus
  }

  test('a removed user has no session, password or open link, and comes back only by an invitation', async () => {
    const eve = await inviteGuest(world, { email: EVE.email, accountId, role: 'owner' })
    const { json: before } = await eve.get('me')
    const open = await invitation({ isOperator: true })
    const userId = Object(before['user']).id
    const { text: reset } = await makeLink(linkParts(world), { kind: 'reset', userId })

    expect(await take({ email: 'Eve@Example.org' })).toEqual({
      isUser: true,
      wasOperator: false,
      accountIds: [accountId],
      invitations: 1,
    })
    expect((await eve.get('me')).httpStatus).toBe(401)
    expect((await new Browser(world).post('auth/sign-in', EVE)).httpStatus).toBe(401)
    expect(await accept(open, EVE.password)).toBe(404)
    const taken = await new Browser(world).post('auth/reset', {
      token: reset,
      password: 'x'.repeat(12),
    })
    expect(taken.httpStatus).toBe(404)

    const password = 'another horse battery'
    const back = await accept(await invitation({ isOperator: false, accountId }), password)
    if (!(back instanceof Browser)) throw new Error('the invitation was refused')
    expect((await back.get('me')).json).toMatchObject({
      user: { id: userId, is_operator: false },
      accounts: [{ id: accountId, role: 'member' }],
    })
    const late = { token: reset, password: 'x'.repeat(12) }
    expect((await new Browser(world).post('auth/reset', late)).httpStatus).toBe(404)
    const again = new Browser(world)
    expect((await again.post('auth/sign-in', EVE)).httpStatus).toBe(401)
    expect((await again.post('auth/sign-in', { ...EVE, password })).httpStatus).toBe(200)
  })

  test('the end of a membership ends only the open invitations to its account', async () => {
    const { id: otherId } = await world.account()
    const eve = await inviteGuest(world, { email: EVE.email, accountId, role: 'owner' })
    const toAccount = await invitation({ isOperator: false, accountId })
    const toOther = await invitation({ isOperator: false, accountId: otherId })

    const taken = await take({ email: EVE.email, accountId })
    expect(taken).toMatchObject({ isUser: false, accountIds: [accountId], invitations: 1 })
    expect((await eve.get(`accounts/${accountId}`)).httpStatus).toBe(404)
    expect((await eve.get('me')).json['accounts']).toEqual([])
    expect(await accept(toAccount, EVE.password)).toBe(404)
    expect(await accept(toOther, EVE.password)).toBeInstanceOf(Browser)
    expect((await eve.get(`accounts/${otherId}`)).httpStatus).toBe(200)
  })

  test('a former operator keeps their accounts and session, and sees no other account', async () => {
    const eve = await accept(await invitation({ isOperator: true }), EVE.password)
    if (!(eve instanceof Browser)) throw new Error('the invitation was refused')
    expect((await eve.get(`accounts/${accountId}`)).httpStatus).toBe(200)
    const open = await invitation({ isOperator: true })
    const taken = await take({ email: EVE.email, asOperator: true })
    expect(taken).toMatchObject({ isUser: false, wasOperator: true, invitations: 1 })
    expect((await eve.get(`accounts/${accountId}`)).httpStatus).toBe(404)
    expect((await eve.get('me')).json).toMatchObject({ user: { is_operator: false } })
    expect(await accept(open, EVE.password)).toBe(404)
  })

  test('an invitation to a person who is not yet a user can be withdrawn', async () => {
    const open = await invitation({ isOperator: true })
    expect(await take({ email: EVE.email })).toMatchObject({ isUser: false, invitations: 1 })
    expect(await accept(open, EVE.password)).toBe(404)
  })

  test('the last operator is not removed, and one stays if the last two are removed at the same time', async () => {
    for (const asOperator of [false, true]) {
      await expect(take({ email: ADA.email, asOperator })).rejects.toEqual(LAST_OPERATOR)
    }
    expect((await ada.get('me')).json).toMatchObject({ user: { is_operator: true } })
    await accept(await invitation({ isOperator: true }), EVE.password)
    const both = await Promise.allSettled([take({ email: ADA.email }), take({ email: EVE.email })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(both).toContainEqual({ status: 'rejected', reason: LAST_OPERATOR })
    const users = world.gateway.store.db
      .selectFrom('users')
      .select('id')
      .where('is_operator', '=', 1)
    expect(await users.execute()).toHaveLength(1)
    expect(errorOf(await new Browser(world).get('me'))).toMatchObject({ code: 'not_signed_in' })
  })
})
