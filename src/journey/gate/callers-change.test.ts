import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../store/testing/test-databases.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { CALLER, KeyWorld } from './testing/key-world.ts'

/** Keys that another process changes: the ledger here is not the authenticator's. */

describe.each(MADE_DATABASES)('on $engine the store is queried', ({ create }) => {
  const world = ofEach(() => KeyWorld.open(create))

  const authenticate = () => world.authenticate({ 'x-api-key': world.text })

  test('once for one key for any time in which no reading finds a change', async () => {
    for (let second = 0; second < 100; second++) {
      await world.authenticator.readChanges()
      world.queries = []
      world.nowMs += 1_000
      await authenticate()
      expect(world.queries).toHaveLength(second === 0 ? 1 : 0)
    }
  })

  test('again after the reading that finds a change by another process', async () => {
    await world.authenticator.readChanges()
    await authenticate()
    await world.ledger.updateApiKey({ id: 'key_1', disabled: true })
    world.nowMs += 1_000
    expect(await authenticate()).toEqual(CALLER)
    await world.authenticator.readChanges()
    const disabled = { code: 'api_key_disabled' }
    await expect(authenticate()).rejects.toMatchObject(disabled)
    await world.ledger.updateApiKey({ id: 'key_1', disabled: false })
    await expect(authenticate()).rejects.toMatchObject(disabled)
    await world.authenticator.readChanges()
    expect(await authenticate()).toEqual(CALLER)
  })

  test('once for all keys in use after the reading that finds a change of another', async () => {
    const ids = ['key_2', 'key_3', 'key_4', 'key_5', 'key_6']
    const all = [world.text, ...(await Promise.all(ids.map((id) => world.newKey(id))))]
    const authenticateAll = () =>
      Promise.all(all.map((key) => world.authenticate({ 'x-api-key': key })))
    await world.authenticator.readChanges()
    const callers = await authenticateAll()
    await authenticateAll()
    await world.ledger.updateApiKey({ id: 'key_6', disabled: true })
    world.queries = []
    world.hashesAsked = []
    await world.authenticator.readChanges()
    // The number of changes, and the keys.
    expect(world.queries).toHaveLength(2)
    // Small numbers of keys each have a separate statement.
    expect(world.hashesAsked).toEqual([8])
    world.nowMs += 1_000
    await expect(authenticateAll()).rejects.toMatchObject({ code: 'api_key_disabled' })
    all.pop()
    expect(await authenticateAll()).toEqual(callers.slice(0, 5))
    expect(world.queries).toHaveLength(2)
    // No request has used them since.
    await world.ledger.updateApiKey({ id: 'key_6', disabled: false })
    await world.ledger.updateApiKey({ id: 'key_6', disabled: true })
    await world.authenticator.readChanges()
    world.queries = []
    await world.authenticator.readChanges()
    expect(world.queries).toHaveLength(1)
  })

  test('and the models of a caller follow its key and account when another process changes them', async () => {
    const mayUse = async (...modelIds: string[]) => {
      const { models } = await authenticate()
      return models === null ? modelIds : modelIds.filter((modelId) => models.mayUse(modelId))
    }
    const names = ['acme/sage', 'acme/oak', 'nova/sage'] as const
    await world.authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(names)
    await world.ledger.updateApiKey({ id: 'key_1', modelsAllow: ['acme/*'] })
    expect(await mayUse(...names)).toEqual(names)
    await world.authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage', 'acme/oak'])
    await world.ledger.updateAccount({ id: 'acct_1', modelsDeny: ['ACME/oak'] })
    await world.authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage'])
    await world.ledger.updateApiKey({ id: 'key_1', modelsAllow: null })
    await world.authenticator.readChanges()
    expect(await mayUse(...names)).toEqual(['acme/sage', 'nova/sage'])
    await world.ledger.updateAccount({ id: 'acct_1', modelsDeny: null })
    await world.authenticator.readChanges()
    expect((await authenticate()).models).toBeNull()
  })

  test('again, if the look-up began before the reading that finds a change', async () => {
    await world.authenticator.readChanges()
    await world.ledger.updateApiKey({ id: 'key_1', disabled: true })
    // Both are under way at once; a result of before the change must not stay.
    await Promise.allSettled([authenticate(), world.authenticator.readChanges()])
    await world.ledger.updateApiKey({ id: 'key_1', disabled: false })
    await world.authenticator.readChanges()
    expect(await authenticate()).toEqual(CALLER)
  })

  test('every three seconds for one key while changes can not be read', async () => {
    await world.authenticator.readChanges()
    await authenticate()
    await sql`alter table settings rename to elsewhere`.execute(world.store.db)
    world.queries = []
    for (let second = 1; second <= 9; second++) {
      world.nowMs += 1_000
      await expect(world.authenticator.readChanges()).rejects.toThrow()
      world.queries = []
      await authenticate()
      expect([second, world.queries.length]).toEqual([second, second % 3 === 0 ? 1 : 0])
    }
    await sql`alter table elsewhere rename to settings`.execute(world.store.db)
    await world.authenticator.readChanges()
    world.nowMs += 2_999
    world.queries = []
    await authenticate()
    expect(world.queries).toHaveLength(0)
  })
})
