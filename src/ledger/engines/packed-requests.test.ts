import { expect, test } from 'vitest'
import { type Decimal, micros, parseDecimal } from '../../vocabulary/money.ts'
import type { Resolution } from '../../vocabulary/outcome.ts'
import { EACH_COUNT } from '../../vocabulary/testing/token-usage.ts'
import type { SettleInput } from '../ledger.ts'
import type { OpenedHold } from '../rules/rebook.ts'
import {
  PackedTexts,
  packHold,
  packRequest,
  readText,
  unpackHold,
  unpackRequest,
} from './packed-requests.ts'

const OPENED: OpenedHold = {
  input: {
    requestId: 'R1',
    accountId: 'A',
    apiKeyId: 'K',
    instanceId: 'I',
    endpoint: 'chat',
    upstream: 'openrouter',
    modelId: 'a/b',
    stream: true,
    neededMicros: micros(100),
    leastMicros: micros(90),
    freeCreditQualifies: true,
    freeCreditAloneRunsOnLess: false,
    tokens: 4_411,
    priceSnapshotId: 'S',
    tags: ['one "of"\ntwo lines', 'ü'],
    feeBasisPoints: 500,
  },
  grant: {
    kind: 'opened',
    grantedMicros: micros(100),
    backedMicros: micros(70),
    freeMicros: micros(30),
    isRepeat: false,
  },
  openedAtMs: 1_795_681_345_652,
}

const COST = parseDecimal('0.12345678901234567890123') as Decimal

const RESOLUTIONS: readonly Resolution[] = [
  { kind: 'final', chargeMicros: micros(5), costUsd: COST },
  { kind: 'provisional', chargeMicros: micros(5), costUsd: COST, generationId: 'G', stands: true },
  { kind: 'provisional', chargeMicros: micros(5), costUsd: null, generationId: null },
  { kind: 'released' },
  { kind: 'released', billedAs: 'G' },
  { kind: 'unresolved', generationId: 'G' },
]

test('a packed hold reads back unchanged, on one line', () => {
  expect(packHold(OPENED)).not.toContain('\n')
  expect(unpackHold(packHold(OPENED))).toEqual(OPENED)
})

test.each(RESOLUTIONS)(
  'a packed request that ended as $kind reads back unchanged, on one line',
  (resolution) => {
    const facts = { httpStatus: 200, errorCode: null, generationId: 'G', firstByteAtMs: 12 }
    for (const usage of [EACH_COUNT, null]) {
      const settle: SettleInput = { requestId: 'R1', resolution, facts: { ...facts, usage } }
      const line = packRequest(packHold(OPENED), settle)
      expect(line).not.toContain('\n')
      expect(unpackRequest(line)).toEqual({ opened: OPENED, settle })
    }
  },
)

test('a packed open request reads back unchanged', () => {
  const open = packRequest(packHold(OPENED), null)
  expect(unpackRequest(open)).toEqual({ opened: OPENED, settle: null })
})

test('every packed text reads back unchanged, across blocks and if it is longer than a block', () => {
  const texts = new PackedTexts()
  const given = ['one', 'ünë 中文 🙂', 'a'.repeat(700_000), '', '中'.repeat(500_000), 'last']
  const kept = given.map((text) => texts.keep(text))
  expect(new Set(kept.map(({ block }) => block)).size).toBeGreaterThan(2)
  expect(kept.map(readText)).toEqual(given)
})
