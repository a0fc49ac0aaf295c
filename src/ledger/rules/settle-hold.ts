import type { ApiKeyRow, RequestRow } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import { timeOfId } from '../../vocabulary/ids.ts'
import { costBehind, formatDecimal, subtractMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import type { Correction, RequestFacts, Resolution, TokenUsage } from '../../vocabulary/outcome.ts'
import { DAY_HOURS } from '../../vocabulary/usage-step.ts'
import type {
  Corrected,
  CorrectInput,
  Settled,
  SettleInput,
  SettleStandingInput,
} from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'
import { chargedMicros, type Move, moveRequest, overrunMicros } from './charge.ts'
import { recountedTokens } from './limits.ts'

/** Ends a hold's open state. Null if no such hold was opened. */
export function settleHold(work: UnitOfWork, input: SettleInput, nowMs: number): Settled | null {
  const row = work.requests.get(input.requestId)
  if (row === undefined) return null
  // An abandoned hold: its instance was taken for dead, or its client left early. The settle of its attempt
  // still counts, once.
  const unsettled = row.state === 'open' || (row.state === 'unresolved' && row.swept)
  if (!unsettled) {
    recordLate(work, row, input.resolution)
    return settled(row, 'before')
  }
  const known = withFacts(row, input.facts, generationOf(input.resolution))
  const moved = moveRequest(work, known, moveOfResolution(input.resolution, nowMs))
  recountTokens(work, moved)
  return settled(moved, 'now')
}

/**
 * Counts the tokens that were used instead of the most that the request could use. Without counts, a released
 * request counts none, and any other request keeps that most.
 */
function recountTokens(work: UnitOfWork, row: RequestRow): void {
  const { tokenCount: count, usage, state } = row
  if (count === null || (usage === null && state !== 'released')) return
  const tokens = usage === null ? 0 : tokensOf(usage)
  const apiKey = work.apiKeys.get(row.apiKeyId)
  const account = work.accounts.get(row.accountId)
  if (apiKey === undefined || account === undefined) return
  const recounted = (tokenWindow: ApiKeyRow['tokenWindow']) =>
    recountedTokens(tokenWindow, { count, tokens })
  work.apiKeys.update({ ...apiKey, tokenWindow: recounted(apiKey.tokenWindow) })
  work.accounts.update({ ...account, tokenWindow: recounted(account.tokenWindow) })
}

function tokensOf(usage: TokenUsage): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens } = usage
  const input = inputTokens + cacheReadTokens + cacheWriteTokens + cacheWriteLongTokens
  return input + usage.outputTokens
}

/** Applies a correction to a provisional or unresolved request. */
export function correctRequest(
  work: UnitOfWork,
  { requestId, correction }: CorrectInput,
  nowMs: number,
): Corrected {
  const row = work.requests.get(requestId)
  if (row === undefined) return { kind: 'unknownRequest' }
  const move = moveOfCorrection(row, correction, nowMs)
  if (move === null) {
    recordLate(work, row, correction)
    return { kind: 'unchanged', state: row.state, chargedMicros: chargedMicros(row) }
  }
  const moved = moveRequest(work, row, move)
  if (correction.kind === 'provisional') {
    work.requests.update({ ...moved, generationId: correction.generationId ?? moved.generationId })
  } else if (correction.kind === 'final' && correction.usage !== undefined) {
    work.requests.update({ ...moved, usage: usageOnRecord(moved, correction.usage) })
  }
  return {
    kind: 'corrected',
    state: moved.state,
    chargedMicros: chargedMicros(moved),
    differenceMicros: subtractMicros(chargedMicros(moved), chargedMicros(row)),
    overrunMicros: overrunMicros(moved),
  }
}

/**
 * Ends the wait of loaded requests whose reported cost stands. No money moves: such a request holds no credit, and its
 * charge already follows from its cost. So a store loads no request for it, and ends the wait of the rest in one statement.
 */
export function settleStanding(
  work: UnitOfWork,
  { requestIds, to }: SettleStandingInput,
  nowMs: number,
): number {
  let changed = 0
  for (const requestId of requestIds) {
    const row = work.requests.get(requestId)
    if (row === undefined || row.state !== 'provisional' || !row.costStands) continue
    work.requests.update(
      to === 'final'
        ? { ...row, state: 'final', settledAtMs: nowMs }
        : { ...row, costStands: false },
    )
    changed++
  }
  return changed
}

// A whole answer has finer counts than the record; a broken one counted only a part.
function usageOnRecord({ usage, errorCode }: RequestRow, recorded: TokenUsage): TokenUsage {
  return errorCode === null ? (usage ?? recorded) : recorded
}

/** Makes the loaded open holds of a dead instance unresolved, and frees their places in flight. */
export function abandonInstance(work: UnitOfWork, instanceId: string, nowMs: number): number {
  const open = work.requests.filter((row) => row.state === 'open' && row.instanceId === instanceId)
  return abandonHolds(
    work,
    open.map(({ id }) => id),
    nowMs,
  )
}

/** Makes the open ones of these holds unresolved, and frees their places in flight. */
export function abandonHolds(
  work: UnitOfWork,
  requestIds: readonly string[],
  nowMs: number,
): number {
  let abandoned = 0
  for (const requestId of requestIds) {
    const row = work.requests.get(requestId)
    if (row === undefined || row.state !== 'open') continue
    const moved = moveRequest(work, row, uncharged('unresolved', nowMs))
    work.requests.update({ ...moved, swept: true })
    abandoned++
  }
  return abandoned
}

/** Notes a generation id on a hold that is open and has none. */
export function noteGeneration(
  work: UnitOfWork,
  { requestId, generationId }: { readonly requestId: string; readonly generationId: string },
): void {
  const row = work.requests.get(requestId)
  if (row === undefined || row.state !== 'open' || row.generationId !== null) return
  work.requests.update({ ...row, generationId })
}

function moveOfResolution(resolution: Resolution, nowMs: number): Move {
  switch (resolution.kind) {
    case 'final':
      return finalMove(resolution, nowMs)
    case 'provisional':
      return provisionalMove(resolution, nowMs)
    case 'released':
    case 'unresolved':
      return uncharged(resolution.kind, nowMs)
    default:
      return assertNever(resolution)
  }
}

/** Null if the correction does not apply to a request in this state. */
function moveOfCorrection(row: RequestRow, correction: Correction, nowMs: number): Move | null {
  if (row.state !== 'provisional' && row.state !== 'unresolved') return null
  switch (correction.kind) {
    case 'final':
      return finalMove(correction, nowMs)
    case 'provisional':
      return row.state === 'unresolved' ? provisionalMove(correction, nowMs) : null
    case 'givenUp':
      return row.state === 'unresolved' ? uncharged('released', nowMs) : standingMove(row, nowMs)
    default:
      return assertNever(correction)
  }
}

function finalMove(
  { chargeMicros, costUsd }: Extract<Correction, { kind: 'final' }>,
  nowMs: number,
): Move {
  return {
    state: 'final',
    chargeMicros,
    costUsd: formatDecimal(costUsd),
    keepsHeld: 'nothing',
    nowMs,
  }
}

function provisionalMove(
  {
    chargeMicros,
    costUsd,
    stands = false,
  }: Omit<Extract<Resolution, { kind: 'provisional' }>, 'generationId'>,
  nowMs: number,
): Move {
  // An estimate may still grow, so the rest of the hold stays held for it.
  return {
    state: 'provisional',
    chargeMicros,
    costUsd: costUsd === null ? null : formatDecimal(costUsd),
    keepsHeld: costUsd === null ? 'rest' : 'nothing',
    // An estimate never stands.
    costStands: stands && costUsd !== null,
    nowMs,
  }
}

/** The move of a request that is not charged, or not yet. */
function uncharged(state: 'released' | 'unresolved', nowMs: number): Move {
  const keepsHeld = state === 'released' ? 'nothing' : 'whole'
  return { state, chargeMicros: ZERO_MICROS, costUsd: null, keepsHeld, nowMs }
}

function standingMove(row: RequestRow, nowMs: number): Move {
  return {
    state: 'final',
    chargeMicros: chargedMicros(row),
    costUsd: row.costUsd,
    keepsHeld: 'nothing',
    nowMs,
  }
}

/** A cost that is learned after the release of a hold is recorded and never charged. */
function recordLate(work: UnitOfWork, row: RequestRow, learned: Resolution | Correction): void {
  if (row.state !== 'released') return
  if (learned.kind !== 'final' && learned.kind !== 'provisional') return
  const lateCostUsd = learned.costUsd === null ? row.lateCostUsd : formatDecimal(learned.costUsd)
  const cost = costBehind({ ...row, lateCostUsd, chargeMicros: ZERO_MICROS })
  work.requests.update({ ...row, lateCostUsd, cost, lateReports: row.lateReports + 1 })
  if (cost === null) return
  const hour = Math.floor((timeOfId(row.id) ?? 0) / HOUR_MS)
  const { id, accountId, apiKeyId, modelId, endpoint, upstream } = row
  work.lateCosts.write({
    id,
    accountId,
    apiKeyId,
    modelId,
    endpoint,
    upstream,
    hour,
    day: Math.floor(hour / DAY_HOURS),
    ...cost,
  })
}

function generationOf(resolution: Resolution): string | null {
  return resolution.kind === 'provisional' || resolution.kind === 'unresolved'
    ? resolution.generationId
    : null
}

function withFacts(row: RequestRow, facts: RequestFacts, generationId: string | null): RequestRow {
  return {
    ...row,
    httpStatus: facts.httpStatus,
    errorCode: facts.errorCode,
    usage: facts.usage,
    generationId: generationId ?? facts.generationId ?? row.generationId,
    firstByteAtMs: facts.firstByteAtMs,
  }
}

function settled(row: RequestRow, when: 'now' | 'before'): Settled {
  return {
    state: row.state,
    chargedMicros: chargedMicros(row),
    overrunMicros: overrunMicros(row),
    settledNow: when === 'now',
  }
}
