import { describe, expect, test } from 'vitest'
import { rotateApiKey } from '../../ledger/api-keys.ts'
import { MADE_DATABASES } from '../../store/testing/test-databases.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { CallerRefused } from './caller.ts'
import { CALLER, KeyWorld } from './testing/key-world.ts'

describe.each(MADE_DATABASES)('on $engine, after a rotation', ({ create }) => {
  const world = ofEach(() => KeyWorld.open(create))

  const authenticate = (apiKey: string, by = world.authenticator) =>
    world.authenticate({ 'x-api-key': apiKey }, by)

  async function rotate(graceMs: number): Promise<string> {
    const input = { apiKeyId: 'key_1', keyTag: 'tollgate', graceMs }
    const rotated = await rotateApiKey(world.ledger, input, null)
    world.authenticator.forget({ apiKeyId: 'key_1' })
    if (rotated === null) throw new Error('no key')
    return rotated.text
  }

  test('the new and the previous secret are the same caller, and the previous one ends after its grace period, cached or not', async () => {
    await authenticate(world.text)
    const next = await rotate(60_000)
    expect([await authenticate(world.text), await authenticate(next)]).toEqual([CALLER, CALLER])
    const row = await world.store.db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    world.nowMs = (row.previous_expires_at_ms ?? 0) - 1
    expect(await authenticate(world.text)).toEqual(CALLER)
    world.nowMs++
    const refused = new CallerRefused('invalid_api_key', CALLER)
    await expect(authenticate(world.text)).rejects.toThrow(refused)
    world.nowMs += 10_000
    await expect(authenticate(world.text)).rejects.toThrow(new Problem('invalid_api_key'))
    expect(await authenticate(next)).toEqual(CALLER)
  })

  test('a second rotation ends the first secret, and a rotation without grace ends the previous one at once', async () => {
    await authenticate(world.text)
    const second = await rotate(60_000)
    await authenticate(world.text)
    const third = await rotate(60_000)
    await expect(authenticate(world.text)).rejects.toThrow(new Problem('invalid_api_key'))
    expect([await authenticate(second), await authenticate(third)]).toEqual([CALLER, CALLER])
    const fourth = await rotate(0)
    await expect(authenticate(second)).rejects.toThrow(new Problem('invalid_api_key'))
    await expect(authenticate(third)).rejects.toThrow(new Problem('invalid_api_key'))
    expect(await authenticate(fourth)).toEqual(CALLER)
  })

  test('another process refuses the ended secret after it next reads changes', async () => {
    const other = world.createAuthenticator()
    await other.readChanges()
    await authenticate(world.text, other)
    await rotate(0)
    await other.readChanges()
    const asked = authenticate(world.text, other)
    await expect(asked).rejects.toThrow(new Problem('invalid_api_key'))
  })
})
