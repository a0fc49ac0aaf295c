import { expect, test } from 'vitest'
import { worldOfEach } from '../world.ts'
import { ADA, Browser, setUpOperator } from './page-client.ts'

/** Operators who invite others on the page. */

const world = worldOfEach(() => ({ mode: 'simulator' }))

test('an operator invites another, whose invitation is listed until it is withdrawn, or the inviter is no operator', async () => {
  const operator = await setUpOperator(world)
  const list = async () => Object((await operator.get('operator/invitations')).json['data'])
  const invite = async (by: Browser, email: string) => {
    const { json } = await by.post('operator/invitations', { email, operator: true })
    return String(json['url']).split('#')[1] ?? ''
  }
  const remove = (email: string) =>
    operator.post('operator/users/remove', { email, operator: true })
  const token = await invite(operator, 'grace@example.org')
  expect(await list()).toMatchObject([
    { object: 'invitation', email: 'grace@example.org', role: null },
  ])
  const grace = new Browser(world)
  const typed = { name: 'Grace', password: ADA.password }
  const joined = await grace.post('auth/invitation', { token, ...typed })
  expect(joined.json).toMatchObject({ user: { name: 'Grace', is_operator: true } })
  expect(await list()).toEqual([])
  await invite(operator, 'eve@example.org')
  expect((await remove('eve@example.org')).json).toMatchObject({ invitations: 1 })
  expect(await list()).toEqual([])
  await invite(grace, 'mallory@example.org')
  expect(await list()).toHaveLength(1)
  expect((await remove('grace@example.org')).json).toMatchObject({ operator: true, user: false })
  expect(await list()).toEqual([])
  expect((await grace.get('operator/users')).httpStatus).toBe(404)
})

test('an invitation to be an operator ends with one that also gives an account, once that is accepted', async () => {
  const operator = await setUpOperator(world)
  const { id } = await world.account({ creditMicros: 0 })
  const email = 'grace@example.org'
  await operator.post('operator/invitations', { email, operator: true })
  const both = { email, operator: true, account_id: id, role: 'member' }
  const { json } = await operator.post('operator/invitations', both)
  const token = String(json['url']).split('#')[1] ?? ''
  const typed = { token, name: 'Grace', password: ADA.password }
  expect((await new Browser(world).post('auth/invitation', typed)).httpStatus).toBe(201)
  expect((await operator.get('operator/invitations')).json).toMatchObject({ data: [] })
})

test('an operator withdraws an invitation without ending the role that the person has by now', async () => {
  const operator = await setUpOperator(world)
  const invited = { email: 'grace@example.org', operator: true }
  const listed = async () => Object((await operator.get('operator/invitations?operator=true')).json)
  const { json } = await operator.post('operator/invitations', invited)
  const grace = new Browser(world)
  const token = String(json['url']).split('#')[1] ?? ''
  await grace.post('auth/invitation', { token, name: 'Grace', password: ADA.password })
  await operator.post('operator/invitations', invited)
  const [{ id }] = (await listed()).data
  const ended = await operator.call('DELETE', `operator/invitations/${id}`)
  expect(ended.json).toMatchObject({ id, deleted: true })
  expect((await listed()).data).toEqual([])
  expect((await grace.get('me')).json).toMatchObject({ user: { is_operator: true } })
  const [{ action, detail }] = Object((await operator.get('operator/actions?limit=1')).json).data
  expect([action, detail.email]).toEqual(['withdrawInvitation', 'grace@example.org'])
})
