import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../vocabulary/clock.ts'
import { keptCommand } from './apply-command.ts'
import { postgresLedger } from './engines/create-ledger.ts'
import type { AddApiKeyInput } from './ledger.ts'
import { BENCHES, UNREACHED_LIMITS } from './testing/benches.ts'
import { createMemoryBench } from './testing/memory-bench.ts'
import { createPostgresBench } from './testing/postgres-bench.ts'

function key(name: string, keysMax: number | null = 3): AddApiKeyInput {
  const made = { id: `key_${name}`, accountId: 'A', name, keyHash: name, displayPrefix: name }
  return { ...made, keysMax }
}

describe.each(BENCHES)('on $engine', ({ open }) => {
  test('an account has a limit of keys, without deleted ones, and a limit of new keys in a day, with deleted ones', async () => {
    const bench = await open()
    const { ledger } = bench
    await bench.createAccount('A')
    await bench.createAccount('B')
    bench.nowMs = DAY_MS
    await ledger.addApiKey({ ...key('other'), accountId: 'B' })
    for (const name of ['1', '2', '3']) {
      expect(await ledger.addApiKey(key(name))).toMatchObject({ name })
    }
    expect(await ledger.addApiKey(key('4'))).toBe('tooManyKeys')
    expect(await ledger.addApiKey(key('2'))).toMatchObject({ name: '2' })
    await ledger.deleteApiKey('key_1')
    expect(await ledger.addApiKey(key('4'))).toBe('tooManyNewKeys')
    bench.nowMs = 2 * DAY_MS
    expect(await ledger.addApiKey(key('4'))).toMatchObject({ name: '4' })
    expect(await ledger.addApiKey(key('5'))).toBe('tooManyKeys')
    expect(await ledger.addApiKey(key('5', null))).toMatchObject({ name: '5' })
    await bench.close()
  })

  test('keys that are created at the same time stay within the limit', async () => {
    const bench = await open()
    await bench.createAccount('A')
    const names = Array.from({ length: 20 }, (_, number) => String(number))
    const made = await Promise.all(names.map((name) => bench.ledger.addApiKey(key(name))))
    expect(made.filter((verdict) => typeof verdict === 'object')).toHaveLength(3)
    expect(made.filter((verdict) => verdict === 'tooManyKeys')).toHaveLength(17)
    await bench.close()
  })
})

test('keys that several instances create at the same time stay within the limit', async () => {
  const bench = await createPostgresBench({ limits: UNREACHED_LIMITS })
  await bench.createAccount('A')
  const ledgers = [1, 2, 3].map(() => postgresLedger({ url: bench.url }))
  const verdicts = await Promise.all(
    ledgers.flatMap((ledger, place) =>
      Array.from({ length: 10 }, (_, number) => ledger.addApiKey(key(`${place}-${number}`, 7))),
    ),
  )
  expect(verdicts.filter((verdict) => typeof verdict === 'object')).toHaveLength(7)
  for (const ledger of ledgers) await ledger.close()
  await bench.close()
})

test('a key whose commit was lost is created again, even if the account has too many keys by then', async () => {
  const bench = createMemoryBench({ limits: UNREACHED_LIMITS })
  await bench.createAccount('A')
  const lost = key('lost', 1)
  const kept = keptCommand({ kind: 'addApiKey', input: lost }, await bench.ledger.addApiKey(lost))
  const store = createMemoryBench({ limits: UNREACHED_LIMITS })
  await store.createAccount('A')
  await store.ledger.addApiKey(key('other', 1))
  expect(await store.ledger.addApiKey(lost)).toBe('tooManyKeys')
  expect(await store.ledger.addApiKey(kept.input)).toMatchObject({ id: 'key_lost' })
})
