import { beforeAll, expect, test } from 'vitest'
import { standingClock, worldOfFile } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

let operator: Browser
let member: Browser
let owner: Browser
let path: string

const world = worldOfFile({ clock: standingClock() })
beforeAll(async () => {
  operator = await setUpOperator(world)
  const { id: accountId } = await world.account()
  const of = (role: 'member' | 'owner') =>
    inviteGuest(world, { email: `${role}@example.org`, accountId, role })
  member = await of('member')
  owner = await of('owner')
  path = `accounts/${accountId}/keys`
})

test('a member can lower the limits of a key but not raise them above the defaults, and an operator can', async () => {
  const made = await member.post(path, { name: 'narrow', limits: { in_flight: 3 } })
  expect(made.json).toMatchObject({ limits: { in_flight: 3 } })
  const keyPath = `${path}/${made.json['id']}`
  const set = (by: Browser, limits: object | null) =>
    by.call('PATCH', keyPath, { body: { limits } })
  const most = { requests_per_minute: 300, in_flight: 8 }
  for (const by of [member, owner]) {
    expect((await set(by, most)).json).toMatchObject({ limits: most })
    for (const [name, max] of Object.entries(most)) {
      const raised = { ...most, [name]: max + 1 }
      const refusal = { httpStatus: 400, code: 'invalid_parameter', param: `limits.${name}` }
      expect(errorOf(await set(by, raised))).toEqual(refusal)
      expect(errorOf(await by.post(path, { name: 'wide', limits: raised }))).toEqual(refusal)
    }
    expect((await by.get(keyPath)).json).toMatchObject({ limits: most })
  }
  const raised = { requests_per_minute: 1_000, in_flight: 100 }
  expect((await set(operator, raised)).json).toMatchObject({ limits: raised })
  const lowered = { requests_per_minute: 500, in_flight: 50 }
  expect((await set(member, lowered)).json).toMatchObject({ limits: lowered })
  expect(errorOf(await set(member, raised))).toMatchObject({ code: 'invalid_parameter' })
  await set(operator, raised)
  // A limit that an operator raised survives a change of another field, and does not return once it was removed.
  const named = await member.call('PATCH', keyPath, { body: { name: 'wide' } })
  expect(named.json).toMatchObject({ limits: raised })
  expect((await set(member, null)).json).toMatchObject({ limits: { in_flight: null } })
  expect(errorOf(await set(member, raised))).toMatchObject({ code: 'invalid_parameter' })
})

test('members set allowances ten times a minute over the keys of an account, and operators always', async () => {
  const made = [await member.post(path, { name: 'one' }), await member.post(path, { name: 'two' })]
  const set = (by: Browser, place: number, allowance: object | null) =>
    by.call('PATCH', `${path}/${made[place]?.json['id']}`, { body: { allowance } })
  const day = { amount: 1, period: 'day' }
  // At the same time: which calendar a key has by then is not known.
  const periods = 'day week day week month day week day month week day'.split(' ')
  const sets = await Promise.all(
    periods.map((period, place) => set(place % 2 ? owner : member, place % 2, { ...day, period })),
  )
  const refused = sets.filter(({ httpStatus }) => httpStatus !== 200)
  expect(refused.map(errorOf)).toMatchObject([{ httpStatus: 429, code: 'rate_limited' }])
  expect((await set(operator, 0, day)).httpStatus).toBe(200)
  // Taking it away, and a new key with one, add nothing up.
  expect((await set(member, 0, null)).httpStatus).toBe(200)
  expect((await member.post(path, { name: 'three', allowance: day })).httpStatus).toBe(201)
})
