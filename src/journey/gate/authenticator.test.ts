import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createApiKey, makeApiKey } from '../../ledger/api-keys.ts'
import { createLedger } from '../../ledger/engines/create-ledger.ts'
import { openStore } from '../../store/open-store.ts'
import { MADE_DATABASES } from '../../store/testing/test-databases.ts'
import type { RequestHeaders } from '../../vocabulary/call.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { CALLER, FLOODING, KeyWorld } from './testing/key-world.ts'

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  const world = ofEach(() => KeyWorld.open(create))

  const authenticate = (headers: RequestHeaders, by = world.authenticator) =>
    world.authenticate(headers, by)

  const own = () => ({ 'x-api-key': world.text })
  const expectRefused = (headers: RequestHeaders, code: string) =>
    expect(authenticate(headers)).rejects.toMatchObject({ code })

  /** As `authenticate`, from an address that floods with unknown keys. */
  const authenticateAmongGuesses = (apiKey: string) =>
    world.authenticator.authenticate({ headers: { 'x-api-key': apiKey }, peerAddress: FLOODING })

  describe('a key is accepted', () => {
    test.each([
      ['as a bearer token', () => ({ authorization: `Bearer ${world.text}` })],
      ['with the scheme in any case', () => ({ authorization: `bearer  ${world.text} ` })],
      ['as x-api-key', () => ({ 'x-api-key': world.text })],
      [
        'as x-api-key beside another scheme',
        () => ({ authorization: 'Basic eDp5', 'x-api-key': world.text }),
      ],
      [
        'as x-api-key beside another bearer token',
        () => ({ authorization: 'Bearer x', 'x-api-key': world.text }),
      ],
      [
        'as a bearer token beside another x-api-key',
        () => ({ authorization: `Bearer ${world.text}`, 'x-api-key': 'x' }),
      ],
    ])('%s', async (_how, headers) => {
      expect(await authenticate(headers())).toEqual(CALLER)
    })
  })

  describe('a request is refused', () => {
    test.each([
      ['missing_api_key', 'without a key', () => ({})],
      ['missing_api_key', 'with an empty bearer', () => ({ authorization: 'Bearer ' })],
      ['missing_api_key', 'with an empty x-api-key', () => ({ 'x-api-key': ' ' })],
      ['missing_api_key', 'with another scheme', () => ({ authorization: `Basic ${world.text}` })],
      [
        'invalid_api_key',
        'with an unknown key',
        () => ({ 'x-api-key': makeApiKey('tollgate').text }),
      ],
      ['invalid_api_key', 'with text that is no key', () => ({ authorization: 'Bearer hello' })],
      [
        'invalid_api_key',
        'with two keys in one header',
        () => ({ 'x-api-key': [world.text, world.text] }),
      ],
      [
        'invalid_api_key',
        'with a key in another case',
        () => ({ 'x-api-key': world.text.toUpperCase() }),
      ],
    ])('%s: %s', async (code, _how, headers) => {
      await expect(authenticate(headers())).rejects.toMatchObject({ code, httpStatus: 401 })
    })

    test('invalid_api_key: with a deleted key', async () => {
      expect(await world.ledger.deleteApiKey('key_1')).toBe(true)
      expect(await world.ledger.deleteApiKey('key_1')).toBe(false)
      await expectRefused(own(), 'invalid_api_key')
    })

    test('api_key_disabled with a disabled key, account_suspended with any key of a suspended account', async () => {
      await world.ledger.updateApiKey({ id: 'key_1', disabled: true })
      await expectRefused(own(), 'api_key_disabled')
      await world.ledger.updateAccount({ id: 'acct_1', disabled: true })
      world.nowMs += 3_000
      await expect(authenticate(own())).rejects.toMatchObject({
        code: 'account_suspended',
        httpStatus: 403,
      })
    })

    test('api_key_expired from the moment of the expiry, cached or not', async () => {
      const expiring = { 'x-api-key': await world.newKey('key_2', world.nowMs + 1_000) }
      world.nowMs += 999
      expect(await authenticate(expiring)).toMatchObject({ apiKeyId: 'key_2' })
      world.nowMs += 1
      await expectRefused(expiring, 'api_key_expired')
    })
  })

  describe('the store is queried', () => {
    test('once in three seconds for one key if changes are never polled', async () => {
      for (const elapsedMs of [0, 1_000, 1_999]) {
        world.nowMs += elapsedMs
        await authenticate(own())
      }
      expect(world.queries).toHaveLength(1)
      await world.ledger.updateApiKey({ id: 'key_1', disabled: true })
      world.nowMs += 1
      await expect(authenticate(own())).rejects.toThrow()
      expect(world.queries).toHaveLength(2)
    })

    test('once for many simultaneous requests with one key', async () => {
      const callers = Array.from({ length: 50 }, () => authenticate(own()))
      expect(await Promise.all(callers)).toEqual(new Array(50).fill(CALLER))
      expect(world.queries).toHaveLength(1)
    })

    test('once in three seconds for an unknown key', async () => {
      const unknown = { 'x-api-key': makeApiKey('tollgate').text }
      await expect(authenticate(unknown)).rejects.toThrow()
      await expect(authenticate(unknown)).rejects.toThrow()
      expect(world.queries).toHaveLength(1)
      await world.authenticator.readChanges()
      world.nowMs += 3_000
      await world.authenticator.readChanges()
      world.queries = []
      await expect(authenticate(unknown)).rejects.toThrow()
      expect(world.queries).toHaveLength(1)
    })

    test('again at once after a change, even while a look-up is running', async () => {
      const [hasCome, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      world.onResult = () => {
        hasCome.resolve()
        return resume.promise
      }
      const asking = authenticate(own())
      await hasCome.promise
      await world.ledger.updateApiKey({ id: 'key_1', disabled: true })
      world.authenticator.forget({ apiKeyId: 'key_1' })
      resume.resolve()
      expect(await asking).toEqual(CALLER)
      await expectRefused(own(), 'api_key_disabled')
      await world.ledger.updateApiKey({ id: 'key_1', disabled: false })
      world.authenticator.forget({ apiKeyId: 'key_1' })
      expect(await authenticate(own())).toEqual(CALLER)
    })

    test('again at once for the keys of a changed account, and for no others', async () => {
      const other = { 'x-api-key': await world.newKey('key_2', world.nowMs + 60_000) }
      await authenticate(own())
      await authenticate(other)
      world.queries = []
      world.authenticator.forget({ apiKeyId: 'key_1' })
      await authenticate(other)
      expect(world.queries).toHaveLength(0)
      await authenticate(own())
      expect(world.queries).toHaveLength(1)
      world.authenticator.forget({ accountId: 'acct_none' })
      await authenticate(other)
      expect(world.queries).toHaveLength(1)
      world.authenticator.forget({ accountId: 'acct_1' })
      await authenticate(other)
      await authenticate(own())
      expect(world.queries).toHaveLength(3)
    })

    test('never for a text that does not have the shape of a key', async () => {
      await expect(authenticate({ 'x-api-key': 'sk-tollgate-short' })).rejects.toThrow()
      expect(world.queries).toEqual([])
    })

    test('no more often for a known key during a flood of unknown keys', async () => {
      const bounded = world.createAuthenticator(3)
      await authenticate(own(), bounded)
      for (let made = 0; made < 20; made++) {
        const unknown = { 'x-api-key': makeApiKey('tollgate').text }
        await expect(authenticate(unknown, bounded)).rejects.toThrow()
      }
      world.queries = []
      await authenticate(own(), bounded)
      expect(world.queries).toEqual([])
    })

    test('again after a failure, which is neither cached nor treated as a refusal of the key', async () => {
      await sql`alter table api_keys rename to elsewhere`.execute(world.store.db)
      const twice = [1, 2].map(() => authenticate(own()))
      for (const outcome of await Promise.allSettled(twice)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreRefused' } })
      }
      await sql`alter table elsewhere rename to api_keys`.execute(world.store.db)
      expect(await authenticate(own())).toEqual(CALLER)
    })
  })

  describe('from an address that floods with unknown keys', () => {
    const guesses = (count: number): Promise<unknown>[] =>
      Array.from({ length: count }, () =>
        authenticateAmongGuesses(makeApiKey('tollgate').text).catch(({ code }) => code),
      )

    test('all keys that arrive together cost one query, and all that arrive within the next tenth of a second a second one', async () => {
      const first = guesses(500)
      await Promise.all(first)
      expect(world.queries).toHaveLength(1)
      const second = guesses(500)
      expect(world.timers.map(({ delayMs }) => delayMs)).toEqual([100])
      world.timers.shift()?.run()
      expect(new Set(await Promise.all([...first, ...second]))).toEqual(new Set(['rate_limited']))
      expect(world.queries).toHaveLength(2)
    })

    test('a text that is not a key, and a key that was just found unknown, cost no query', async () => {
      const unknown = makeApiKey('tollgate').text
      await expect(authenticate({ 'x-api-key': unknown })).rejects.toThrow()
      world.queries = []
      for (const apiKey of [unknown, 'sk-tollgate-short', '']) {
        await expect(authenticateAmongGuesses(apiKey)).rejects.toMatchObject({
          code: 'rate_limited',
        })
      }
      expect(world.queries).toEqual([])
    })

    test('a known key is accepted among the guesses', async () => {
      const flood = guesses(2_500)
      const caller = authenticateAmongGuesses(world.text)
      const more = guesses(10)
      let answered = false
      void caller.then(() => {
        answered = true
      })
      while (!answered) {
        world.timers.shift()?.run()
        await new Promise(setImmediate)
      }
      expect(await caller).toEqual(CALLER)
      await Promise.all([...flood, ...more])
      expect(world.queries).toHaveLength(3)
    })

    test('a key that was known before does not wait behind the guesses', async () => {
      await authenticate(own())
      await Promise.all(guesses(1))
      world.nowMs += 3_600_000
      expect(await authenticateAmongGuesses(world.text)).toEqual(CALLER)
      expect(await authenticateAmongGuesses(world.text)).toEqual(CALLER)
      expect(world.queries).toHaveLength(3)
    })

    test('a deleted key is looked up like a guess', async () => {
      await authenticate(own())
      await world.ledger.deleteApiKey('key_1')
      world.nowMs += 3_000
      await expect(authenticateAmongGuesses(world.text)).rejects.toThrow()
      world.nowMs += 3_000
      world.queries = []
      await Promise.all(guesses(1))
      const again = authenticateAmongGuesses(world.text).catch(({ code }) => code)
      await new Promise(setImmediate)
      expect(world.queries).toHaveLength(1)
      world.timers.shift()?.run()
      expect(await again).toBe('rate_limited')
    })

    test('a failure of the store refuses no key, and the key is looked up again', async () => {
      await sql`alter table api_keys rename to elsewhere`.execute(world.store.db)
      await expect(authenticateAmongGuesses(world.text)).rejects.toMatchObject({
        name: 'StoreRefused',
      })
      await sql`alter table elsewhere rename to api_keys`.execute(world.store.db)
      const caller = authenticateAmongGuesses(world.text)
      world.timers.shift()?.run()
      expect(await caller).toEqual(CALLER)
    })

    test('other addresses do not wait for the guesses', async () => {
      await Promise.all(guesses(1))
      const waiting = guesses(10)
      expect(await authenticate(own())).toEqual(CALLER)
      world.timers.shift()?.run()
      await Promise.all(waiting)
    })
  })

  test('a caller says whether its account ever had paid credit', async () => {
    await world.store.db.updateTable('accounts').set({ has_backed_credit: 1 }).execute()
    expect(await authenticate(own())).toEqual({
      ...CALLER,
      hasBackedCredit: true,
    })
  })
})

test('the files of a SQLite store contain no key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-identity-'))
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` })
  const ledger = createLedger({ location: store.location })
  await ledger.createAccount({ id: 'acct_1', name: 'one' })
  const input = { id: 'key_1', accountId: 'acct_1', name: 'key_1', keyTag: 'tollgate' }
  const random = (await createApiKey(ledger, input))?.text.slice('sk-tollgate-'.length) ?? ''
  expect(random).not.toBe('')
  const names = await readdir(folder)
  expect(names).toContain('store.db-wal')
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))))
  for (const bytes of files) {
    expect(bytes.includes(random)).toBe(false)
    expect(bytes.includes(random.slice(4, 24))).toBe(false)
  }
  // Shows that the search works.
  expect(files.some((bytes) => bytes.includes(random.slice(0, 3)))).toBe(true)
  await ledger.close()
  await store.close()
  await rm(folder, { recursive: true })
})
