import { describe, expect, onTestFinished, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { startWorld } from '../world.ts'
import { ADA, Browser, setUpOperator } from './page-client.ts'
import { takeConnections } from './take-connections.ts'

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  test('slow charts delay no sign-in, session, key or list of purchases', async () => {
    const database = await create()
    onTestFinished(() => database.remove())
    const world = await startWorld({ settings: { DATABASE_URL: database.url } })
    onTestFinished(() => world.close())
    const { apiKey, id: accountId } = await world.account()
    const browser = await setUpOperator(world)
    onTestFinished(await takeConnections(world))

    expect((await browser.get('start')).json).toMatchObject({ signed_in: true })
    expect((await browser.get('me')).httpStatus).toBe(200)
    expect((await browser.get('auth/sessions')).httpStatus).toBe(200)
    const other = new Browser(world)
    expect((await other.post('auth/sign-in', ADA)).httpStatus).toBe(200)
    expect((await other.post(`accounts/${accountId}/keys`, { name: 'made' })).httpStatus).toBe(201)
    expect((await other.get('accounts/acct_none/keys')).httpStatus).toBe(404)
    expect((await other.post('auth/sign-out')).httpStatus).toBe(200)
    const headers = { authorization: `Bearer ${apiKey}` }
    const purchases = await fetch(world.url('/v1/credit/purchases'), { headers })
    expect(purchases.status).toBe(200)
  })
})
