import { beforeEach, expect, test } from 'vitest'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { listOperatorActions } from '../operator-actions.ts'
import { RewoundBench } from '../testing/rewound-bench.ts'
import { costOfCharge, FACTS, holdInput } from '../testing/script.ts'

/** Decisions of operators about requests, which a database lost. */

// Closing it audits the ledger.
const world = ofEach(RewoundBench.open)
beforeEach(async () => {
  await world.run('account A\nkey K A\ncredit A backed 1000 first\nopen R1 K 100')
  await world.run('settle R1 unresolved')
})

const SETTLED = {
  requestId: 'R1',
  correction: { kind: 'final', chargeMicros: micros(70), costUsd: costOfCharge(micros(70)) },
} as const

const BY = { id: 'act_1', action: 'settleRequest', token: { id: null, name: 'settings' } }

test('a request that an operator settled is settled again, and the audit log says by whom', async () => {
  await world.keep()
  await world.ledger.correct(SETTLED, BY)
  await world.goBack()
  expect(world.gaps).toMatchObject([{ commits: 1, commands: 1, lost: 0 }])
  expect(await world.bench.request('R1')).toMatchObject({ state: 'final', backedChargeMicros: 70 })
  const { rows: actions } = await listOperatorActions(world.bench.db, { limit: 10 })
  expect(actions).toMatchObject([{ id: 'act_1', action: 'settleRequest', targetId: 'R1' }])
})

test('a settle by the reconciler is not repeated: it looks again', async () => {
  await world.keep()
  await world.ledger.correct(SETTLED)
  await world.goBack()
  expect(world.gaps).toEqual([])
  expect(await world.bench.request('R1')).toMatchObject({ state: 'unresolved' })
})

test('a request whose end another gateway books again later is settled again then', async () => {
  const way = await startSeveringProxy(world.url)
  const other = world.beside({ url: way.url, instanceId: 'J' })
  await other.openHold(holdInput('R2', { instanceId: 'J', amountMicros: 100 }))
  await world.keep(other)
  const resolution = { kind: 'unresolved', generationId: null } as const
  await other.settle({ requestId: 'R2', resolution, facts: FACTS })
  await world.ledger.correct({ ...SETTLED, requestId: 'R2' }, BY)
  way.shut()
  await world.goBack()
  expect(world.gaps).toEqual([])
  expect(await world.bench.request('R2')).toMatchObject({ state: 'open' })
  way.open()
  expect(await world.foundGap.promise).toMatchObject({ commands: 1, lost: 0 })
  expect(await world.bench.request('R2')).toMatchObject({ state: 'final', backedChargeMicros: 70 })
  await other.close()
  await way.close()
})
