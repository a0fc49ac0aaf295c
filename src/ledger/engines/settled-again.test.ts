import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import {
  createRewoundDatabase,
  type RewoundDatabase,
} from '../../store/testing/rewound-database.ts'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { listOperatorActions } from '../operator-actions.ts'
import { connected } from '../testing/connected.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../testing/script.ts'
import { benchOnStore, type StoreBench } from '../testing/store-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'
import type { StoreGap } from './went-back.ts'

/** What operators decided about requests, and a database lost. */

let database: RewoundDatabase
let bench: StoreBench
let ledger: BatchedLedger
let gaps: StoreGap[]
/** Resolves with the first gap. */
let told: PromiseWithResolvers<StoreGap>

beforeEach(async () => {
  database = await createRewoundDatabase()
  gaps = []
  told = Promise.withResolvers()
  const store = await openStore({ url: database.url })
  ledger = postgresLedger({
    url: database.url,
    limits: LEDGER_LIMITS_DEFAULT,
    wentBack: {
      instanceId: 'I',
      onWentBack(gap) {
        gaps.push(gap)
        told.resolve(gap)
      },
    },
  })
  const remove = () => database.remove()
  bench = benchOnStore({ store, ledger, setNowMs: () => {}, remove })
  await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first\nopen R1 K 100')
  await runScript(bench, 'settle R1 unresolved')
})
afterEach(async () => {
  await bench.audit()
  await bench.close()
})

const SETTLED = {
  requestId: 'R1',
  correction: { kind: 'final', chargeMicros: micros(70), costUsd: costOfCharge(micros(70)) },
} as const

const BY = { id: 'act_1', action: 'settleRequest', token: { id: null, name: 'settings' } }

test('a request that an operator settled is settled again, and the audit log says by whom', async () => {
  await database.keep()
  await connected(ledger)
  await ledger.correct(SETTLED, BY)
  await database.goBack()
  await connected(ledger)
  expect(gaps).toMatchObject([{ commits: 1, commands: 1, lost: 0 }])
  expect(await bench.request('R1')).toMatchObject({ state: 'final', backedChargeMicros: 70 })
  const { actions } = await listOperatorActions(bench.store.db, { limit: 10 })
  expect(actions).toMatchObject([{ id: 'act_1', action: 'settleRequest', targetId: 'R1' }])
})

test('what the reconciler found is not: it looks again', async () => {
  await database.keep()
  await connected(ledger)
  await ledger.correct(SETTLED)
  await database.goBack()
  await connected(ledger)
  expect(gaps).toEqual([])
  expect(await bench.request('R1')).toMatchObject({ state: 'unresolved' })
})

test('a request whose end another gateway books again later is settled again then', async () => {
  const way = await startSeveringProxy(database.url)
  const other = postgresLedger({
    url: way.url,
    limits: LEDGER_LIMITS_DEFAULT,
    wentBack: { instanceId: 'J', onWentBack: () => {} },
  })
  await other.openHold(holdInput('R2', { instanceId: 'J', amountMicros: 100 }))
  await database.keep()
  await connected(other)
  const resolution = { kind: 'unresolved', generationId: null } as const
  await other.settle({ requestId: 'R2', resolution, facts: FACTS })
  await connected(ledger)
  await ledger.correct({ ...SETTLED, requestId: 'R2' }, BY)
  way.shut()
  await database.goBack()
  await connected(ledger)
  expect(gaps).toEqual([])
  expect(await bench.request('R2')).toMatchObject({ state: 'open' })
  way.open()
  expect(await told.promise).toMatchObject({ commands: 1, lost: 0 })
  expect(await bench.request('R2')).toMatchObject({ state: 'final', backedChargeMicros: 70 })
  await other.close()
  await way.close()
})
