import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from '../src/store/open-store.ts'
import { checkLedger, openLedgerReader } from './check-ledger.ts'
import { type SeededActivity, seedActivity } from './seed-activity.ts'
import { type SeededKey, seedStore } from './seed-store.ts'
import { Witness } from './witness.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-ledger-'))
const file = join(folder, 'tollgate.db')
const url = `sqlite:${file}`
let apiKeys: readonly SeededKey[] = []
let seeded: SeededActivity

beforeAll(async () => {
  apiKeys = await seedStore({ url, apiKeyCounts: [2, 2, 2] })
  seeded = seedActivity({ file, apiKeys, requests: 50 })
})
afterAll(() => rmSync(folder, { recursive: true }))

const witness = () => new Witness({ name: 'it', givesRequestIds: true })

test('a seeded ledger is exact, and all of its keys are known', async () => {
  expect(new Set(apiKeys.map(({ text }) => text)).size).toBe(6)
  expect(seeded).toEqual({ requests: 50, chargedMicros: 5_250 })
  expect(await checkLedger({ url, witness: witness(), seeded })).toEqual([])
})

test('answers that the ledger lacks are found, and charges that no answer named', async () => {
  const none = { requests: 0, chargedMicros: 0 }
  expect(await checkLedger({ url, witness: witness(), seeded: none })).toEqual([
    'it: charged 5250 of the 0 that answers reported',
    'it: 50 requests are in the ledger, and 0 were answered',
  ])
})

test('a hold that is left, and a figure that does not add up, are found', async () => {
  const store = await openStore({ url })
  const [{ id = '' } = {}] = await store.db.selectFrom('requests').select('id').limit(1).execute()
  const opened = { state: 'open', backed_held_micros: 5_000 }
  await store.db.updateTable('requests').set(opened).where('id', '=', id).execute()
  await store.close()
  const reader = await openLedgerReader(url)
  expect(await reader.countUnsettled()).toBe(1)
  await reader.close()
  const faults = await checkLedger({ url, witness: witness(), seeded })
  expect(faults).toContain(`it: ${id} is still open`)
  expect(faults.some((fault) => fault.startsWith('it: the audit differs'))).toBe(true)
})

test('more accounts than fit in a statement are seeded', async () => {
  const many = `sqlite:${join(folder, 'many.db')}`
  const keys = await seedStore({ url: many, apiKeyCounts: Array.from({ length: 2_500 }, () => 1) })
  expect(keys).toHaveLength(2_500)
})
