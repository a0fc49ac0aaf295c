import { expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { ADA, Browser, setUpOperator } from './page-client.ts'

/** Operators who invite others on the page. */

const world = worldOfFile(() => ({ mode: 'simulator' }))

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
