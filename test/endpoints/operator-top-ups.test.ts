import { beforeAll, expect, test } from 'vitest'
import { type Browser, setUpOperator } from '../page/page-client.ts'
import { Management } from './management.ts'

let operator: Browser

const admin = Management.ofFile()
beforeAll(async () => {
  operator = await setUpOperator(admin.world)
})

test('operators read the top-ups of a range, of all accounts and of one', async () => {
  const first = await admin.account(5_000_000)
  await admin.account(2_000_000)
  const read = async (query: string) => (await operator.get(`operator/top-ups${query}`)).json
  expect(await read('')).toMatchObject({
    object: 'top_ups',
    amount: 7_000_000,
    reversed: 0,
    top_ups: 2,
    purchases: 0,
    codes: 0,
  })
  expect(await read(`?account=${first}`)).toMatchObject({ amount: 5_000_000, top_ups: 1 })
  const { httpStatus } = await operator.get('operator/top-ups?from=2020-01-01T00:00:00Z')
  expect(httpStatus).toBe(400)
})
