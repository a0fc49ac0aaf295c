import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../vocabulary/clock.ts'
import { commandLineOfEachTest } from './testing/command-line.ts'

const line = commandLineOfEachTest()
let accountId: string

beforeEach(async () => {
  accountId = await line.make('account', 'create', 'Ada')
})

/** Runs a command, and checks that the created thing expires that many days later. */
async function expectExpiry(days: number, args: readonly string[]): Promise<void> {
  const beforeMs = Date.now()
  const { expires_at } = await line.json(...args)
  const ranMs = Date.parse(String(expires_at)) - days * DAY_MS
  expect(ranMs).toBeGreaterThanOrEqual(beforeMs)
  expect(ranMs).toBeLessThanOrEqual(Date.now())
}

describe('--expires takes a date or a duration', () => {
  test('of a key', async () => {
    await expectExpiry(90, ['key', 'create', accountId, '--expires', '90d'])
    const { id } = await line.json('key', 'create', accountId)
    await expectExpiry(0.5, ['key', 'update', String(id), '--expires', '12h'])
    const dated = await line.json('key', 'update', String(id), '--expires', '2999-01-31')
    expect(dated).toMatchObject({ expires_at: '2999-01-31T00:00:00.000Z' })
    const without = await line.json('key', 'update', String(id), '--expires', 'none')
    expect(without).toMatchObject({ expires_at: null })
  })

  test('of free credit and of a credit code', async () => {
    const grant = ['credit', 'add', accountId, '5', '--free', '--reference', 'welcome-1']
    await expectExpiry(30, [...grant, '--expires', '30d'])
    await expectExpiry(7, ['credit', 'code', 'create', '5', '--expires', '7d'])
  })

  test.each(['--expires', '--expires-in'])(
    'of an admin token, even by its earlier name: %s',
    async (option) => {
      const create = ['token', 'create', '--name', 'shop', '--scope', 'read', option]
      await expectExpiry(90, [...create, '90d'])
      const date = new Date(Date.now() + 100 * DAY_MS).toISOString().slice(0, 10)
      const { expires_at } = await line.json(...create, date)
      // The API takes whole seconds from now on.
      const offMs = Date.parse(date) - Date.parse(String(expires_at))
      expect(offMs).toBeLessThan(1_000)
      expect((await line.run('token', 'create', '--help')).out).not.toContain('--expires-in')
    },
  )
})
