import { afterEach, expect, test } from 'vitest'
import { OPERATIONS, type OperationSource } from '../../src/operations/operations.ts'
import { Management } from './management.ts'

/** `GET /v1/key`: its answer, and its `data` for clients of OpenRouter. */

const NOON_MS = Date.parse('2026-11-25T12:00:00Z')

let admin: Management
afterEach(() => admin.close())

/** The product's operations, which note whose turns their reads of pages take. */
function noting(owners: string[]): OperationSource[] {
  return OPERATIONS.map(([title, make]) => [
    title,
    ({ store, ...parts }) =>
      make({
        ...parts,
        store: {
          ...store,
          pages: (reader) => {
            owners.push(reader.owner)
            return store.pages(reader)
          },
        },
      }),
  ])
}

test('reads of spend by all keys of an account share one queue, separate from its other reads', async () => {
  const owners: string[] = []
  admin = await Management.start({ operations: noting(owners) })
  const accountId = await admin.account(10_000_000)
  const other = await admin.account(10_000_000)
  const keys = [
    await admin.apiKey(accountId),
    await admin.apiKey(accountId),
    await admin.apiKey(other),
  ]
  for (const { text } of keys) {
    await admin.chat(text)
    await admin.world.gateway.settled()
  }
  owners.length = 0
  for (const { text } of keys) expect((await admin.get('/v1/key', text)).httpStatus).toBe(200)
  const [first, second, third] = owners
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect(owners).not.toContain(accountId)
})

test('the remainder of a key is the smaller remainder of its allowance and its limit', async () => {
  admin = await Management.start({ clock: { nowMs: () => NOON_MS } })
  const accountId = await admin.account(10_000_000)
  const { id, text } = await admin.apiKey(accountId)
  const limitsOf = async (fields: object) => {
    await admin.patch(`/v1/admin/keys/${id}`, fields)
    const { json } = await admin.get('/v1/key', text)
    return json['data']
  }
  const allowance = { amount: 3_000_000, period: 'day', time_zone: 'UTC' }
  expect(await limitsOf({ credit_limit: 2_000_000 })).toMatchObject({
    limit: 2,
    limit_remaining: 2,
    limit_reset: null,
  })
  expect(await limitsOf({ allowance })).toMatchObject({
    limit: 3,
    limit_remaining: 2,
    limit_reset: 'daily',
  })
  expect(await limitsOf({ credit_limit: 5_000_000 })).toMatchObject({
    limit: 3,
    limit_remaining: 3,
    limit_reset: 'daily',
  })
  expect(await limitsOf({ credit_limit: null })).toMatchObject({ limit: 3, limit_remaining: 3 })
})
