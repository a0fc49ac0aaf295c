import { expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import type { LedgerCommand, LedgerVerdict } from '../commands.ts'
import type { Settled } from '../ledger.ts'
import { FACTS, holdInput } from '../testing/script.ts'
import { batchedLedger, type LedgerEngine } from './batched-ledger.ts'

const OPENED = {
  kind: 'opened',
  grantedMicros: micros(1),
  backedMicros: micros(1),
  freeMicros: micros(0),
  isRepeat: false,
} as const

const RELEASED: Settled = {
  state: 'released',
  chargedMicros: micros(0),
  overrunMicros: micros(0),
  settledNow: true,
}

function verdictOf({ kind }: LedgerCommand): LedgerVerdict {
  return kind === 'openHold' ? OPENED : RELEASED
}

const ENGINE: LedgerEngine = {
  commit: async (commands) => ({ verdicts: commands.map(verdictOf), hasWritten: true }),
  close: async () => {},
}

test('commits are spaced only while many holds are open', async () => {
  const delaysMs: number[] = []
  const ledger = batchedLedger({
    engine: ENGINE,
    delay: async (delayMs) => void delaysMs.push(delayMs),
  })
  const ids = Array.from({ length: 65 }, (_, place) => `R${place}`)
  for (const id of ids.slice(0, 64)) await ledger.openHold(holdInput(id))
  expect(delaysMs).toEqual([])
  await ledger.openHold(holdInput('R64'))
  expect(delaysMs).toEqual([5])
  const resolution = { kind: 'released' } as const
  for (const requestId of ids) await ledger.settle({ requestId, resolution, facts: FACTS })
  expect(delaysMs).toEqual([5, 5])
  await ledger.close()
})

test('holds that are released at once do not cause commits to be spaced', async () => {
  const delaysMs: number[] = []
  const ledger = batchedLedger({
    engine: ENGINE,
    delay: async (delayMs) => void delaysMs.push(delayMs),
    unsureRetryMs: 1,
  })
  const ids = Array.from({ length: 65 }, (_, place) => `R${place}`)
  for (const id of ids) await ledger.openHold(holdInput(id))
  for (const requestId of ids) ledger.releaseUnsure({ requestId, accountId: 'A', apiKeyId: 'K' })
  await ledger.sure()
  const before = delaysMs.length
  await ledger.openHold(holdInput('next'))
  expect(delaysMs.length).toBe(before)
  await ledger.close()
})
