import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/store.ts'
import { Maintenance } from './maintenance.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-maintenance-'))
  store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` })
})

afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

async function open(db = store.db): Promise<Maintenance> {
  const maintenance = new Maintenance({ db, clock: { nowMs: () => 0 } })
  await maintenance.read()
  return maintenance
}

test('maintenance is off until it is turned on: at once in this process, at the next read in others', async () => {
  const here = await open()
  const elsewhere = await open()
  expect([here.isOn, elsewhere.isOn]).toEqual([false, false])
  await here.turn('on')
  expect([here.isOn, elsewhere.isOn]).toEqual([true, false])
  await elsewhere.read()
  expect([here.isOn, elsewhere.isOn]).toEqual([true, true])
  await elsewhere.turn('off')
  await here.read()
  expect([here.isOn, elsewhere.isOn]).toEqual([false, false])
})

test('maintenance survives a restart', async () => {
  await (await open()).turn('on')
  expect((await open()).isOn).toBe(true)
})

test('a store that does not answer changes nothing', async () => {
  const maintenance = await open()
  await maintenance.turn('on')
  await sql`alter table settings rename to elsewhere`.execute(store.db)
  await expect(maintenance.read()).rejects.toThrow()
  expect(maintenance.isOn).toBe(true)
})

test('a value that was read before a turn and arrives after it does not undo the turn', async () => {
  const late = Promise.withResolvers<void>()
  let isLate = false
  const db = store.db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (isLate && result.rows.length > 0) await late.promise
      return result
    },
  })
  const maintenance = await open(db)
  await maintenance.turn('off')
  isLate = true
  const reading = maintenance.read()
  await maintenance.turn('on')
  late.resolve()
  await reading
  expect(maintenance.isOn).toBe(true)
})
