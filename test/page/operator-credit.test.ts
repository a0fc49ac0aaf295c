import { beforeAll, expect, test } from 'vitest'
import { type TestAccount, worldOfFile } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

/** The credit of an account, as operators read it on the page. */

let account: TestAccount
let operator: Browser
let owner: Browser

const world = worldOfFile({ mode: 'simulator' })
beforeAll(async () => {
  await world.account()
  account = await world.account()
  operator = await setUpOperator(world)
  owner = await inviteGuest(world, {
    email: 'owner@example.org',
    accountId: account.id,
    role: 'owner',
  })
})

test.each(['balance', 'statement', 'entries', 'entries.csv'])(
  '%s of an account equals the answer to its members, and is 404 without an account',
  async (list) => {
    const ofOperators = await operator.get(`operator/accounts/${account.id}/${list}`)
    const ofMembers = await owner.get(`accounts/${account.id}/${list}`)
    expect(ofMembers.httpStatus).toBe(200)
    expect(ofOperators.text).toBe(ofMembers.text)
    const unknown = await operator.get(`operator/accounts/acct_unknown/${list}`)
    expect(errorOf(unknown)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
  },
)
