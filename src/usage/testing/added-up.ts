import type { RequestRow } from '../../store/schema.ts'
import { micros } from '../../vocabulary/money.ts'
import type { UsageFigures } from '../read-usage.ts'

/** Figures that are exact. */
export type Whole = Omit<UsageFigures, 'firstByte'>

/** The cost of a request by its texts, in dollars × 10^18; of an estimate that of its charge; null: it has none. */
function attosOf(row: RequestRow): bigint | null {
  const text = row.costUsd ?? row.lateCostUsd
  if (text !== null) {
    const [whole = '', places = ''] = text.split('.')
    return BigInt(whole + places.padEnd(18, '0'))
  }
  const chargeMicros = row.backedChargeMicros + row.freeChargeMicros
  if (chargeMicros === 0) return null
  return (BigInt(chargeMicros) * 10n ** 16n) / BigInt(10_000 + row.feeBasisPoints)
}

/** The costs of requests together, rounded half up to a micro-dollar. */
function costOf(rows: readonly RequestRow[]) {
  const attos = rows.reduce((all, row) => all + (attosOf(row) ?? 0n), 0n)
  return micros(Number((attos + 5n * 10n ** 11n) / 10n ** 12n))
}

/** The sums of requests, added up one by one. */
export function addedUp(rows: readonly RequestRow[]): Whole {
  const sum = (of: (row: RequestRow) => number) => rows.reduce((all, row) => all + of(row), 0)
  return {
    requests: rows.length,
    failed: sum(({ errorCode }) => (errorCode === null ? 0 : 1)),
    chargeMicros: micros(sum((row) => row.backedChargeMicros + row.freeChargeMicros)),
    money: {
      backedChargeMicros: micros(sum((row) => row.backedChargeMicros)),
      freeChargeMicros: micros(sum((row) => row.freeChargeMicros)),
      writtenOffMicros: micros(sum((row) => row.writtenOffMicros)),
      costMicros: costOf(rows),
      unchargedCostMicros: costOf(rows.filter(({ state }) => state === 'released')),
      uncosted: 0,
      marginMicros: micros(sum((row) => row.backedChargeMicros) - costOf(rows)),
    },
    usage: {
      inputTokens: sum(({ usage }) => usage?.inputTokens ?? 0),
      cacheReadTokens: sum(({ usage }) => usage?.cacheReadTokens ?? 0),
      cacheWriteTokens: sum(({ usage }) => usage?.cacheWriteTokens ?? 0),
      cacheWriteLongTokens: sum(({ usage }) => usage?.cacheWriteLongTokens ?? 0),
      outputTokens: sum(({ usage }) => usage?.outputTokens ?? 0),
      reasoningTokens: sum(({ usage }) => usage?.reasoningTokens ?? 0),
      imageOutputTokens: sum(({ usage }) => usage?.imageOutputTokens ?? 0),
      searches: sum(({ usage }) => usage?.searches ?? 0),
    },
  }
}
