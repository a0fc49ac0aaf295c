import { describe, expect, onTestFinished, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { startWorld } from '../world.ts'
import { type Browser, inviteGuest, setUpOperator } from './page-client.ts'
import { takeConnections } from './take-connections.ts'

// As many as a user may have at once.
const AT_ONCE = 16

/** Opens as many pages as a user may, and resolves once the gateway has all of them. */
async function openPages(browser: Browser, path: string, onAnswer: () => void) {
  const open = async (): Promise<void> => {
    let answer = await browser.get(path)
    // The call below took its place.
    while (answer.httpStatus === 429) answer = await browser.get(path)
    expect(answer.httpStatus).toBe(200)
    onAnswer()
  }
  const answered = Promise.all(Array.from({ length: AT_ONCE }, open))
  let next = await browser.get('me')
  while (next.httpStatus === 200) next = await browser.get('me')
  expect(next.text).toContain('in flight')
  return { answered }
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  test('a user who opens sixteen overviews at once delays no page of another account', async () => {
    const database = await create()
    onTestFinished(() => database.remove())
    const world = await startWorld({ settings: { DATABASE_URL: database.url } })
    onTestFinished(() => world.close())
    const large = await world.account()
    const { id: accountId } = await world.account()
    const greedy = await setUpOperator(world)
    const modest = await inviteGuest(world, { email: 'm@example.org', accountId, role: 'member' })
    const free = await takeConnections(world)
    onTestFinished(free)
    const order: string[] = []
    const overview = (id: string): string => `accounts/${id}/overview`
    const { answered } = await openPages(greedy, overview(large.id), () => order.push('greedy'))
    const page = modest.get(overview(accountId)).then(({ httpStatus }) => {
      expect(httpStatus).toBe(200)
      order.push('modest')
    })
    // Is answered after the gateway has that page.
    expect((await modest.get('me')).httpStatus).toBe(200)
    await Promise.all([free(), answered, page])
    expect(order.indexOf('modest')).toBe(0)
  })
})
