import { expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import type { LedgerCommand, LedgerVerdict } from '../commands.ts'
import type { OpenHoldInput, Settled } from '../ledger.ts'
import { batchedLedger, type LedgerEngine } from './batched-ledger.ts'

const OPENED = {
  kind: 'opened',
  grantedMicros: micros(1),
  backedMicros: micros(1),
  freeMicros: micros(0),
  isRepeat: false,
} as const

const FACTS = {
  httpStatus: 200,
  errorCode: null,
  usage: null,
  generationId: null,
  firstByteAtMs: null,
}

function holdOf(requestId: string): OpenHoldInput {
  return {
    requestId,
    accountId: 'A',
    apiKeyId: 'K',
    instanceId: 'I',
    endpoint: 'chat',
    modelId: 'm',
    stream: true,
    neededMicros: micros(1),
    leastMicros: micros(1),
    freeCreditQualifies: false,
    freeCreditAloneRunsOnLess: false,
    tokens: 1,
    upstream: 'openrouter',
    priceSnapshotId: 'P',
    feeBasisPoints: 500,
  }
}

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

test('commits are held apart only while many holds are open', async () => {
  const delaysMs: number[] = []
  const ledger = batchedLedger({
    engine: ENGINE,
    delay: async (delayMs) => void delaysMs.push(delayMs),
  })
  const ids = Array.from({ length: 65 }, (_, place) => `R${place}`)
  for (const id of ids.slice(0, 64)) await ledger.openHold(holdOf(id))
  expect(delaysMs).toEqual([])
  await ledger.openHold(holdOf('R64'))
  expect(delaysMs).toEqual([5])
  const resolution = { kind: 'released' } as const
  for (const requestId of ids) await ledger.settle({ requestId, resolution, facts: FACTS })
  expect(delaysMs).toEqual([5, 5])
  await ledger.close()
})

test('holds that are released because nothing may run on them hold no commit apart', async () => {
  const delaysMs: number[] = []
  const ledger = batchedLedger({
    engine: ENGINE,
    delay: async (delayMs) => void delaysMs.push(delayMs),
    unsureRetryMs: 1,
  })
  const ids = Array.from({ length: 65 }, (_, place) => `R${place}`)
  for (const id of ids) await ledger.openHold(holdOf(id))
  for (const requestId of ids) ledger.releaseUnsure({ requestId, accountId: 'A', apiKeyId: 'K' })
  await ledger.sure()
  const before = delaysMs.length
  await ledger.openHold(holdOf('next'))
  expect(delaysMs.length).toBe(before)
  await ledger.close()
})
