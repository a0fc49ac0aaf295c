import { type AccountRow, ENTRIES, type RequestRow } from '../../store/schema.ts'
import {
  addMicros,
  costBehind,
  type EntryKind,
  type Micros,
  maxMicros,
  micros,
  minMicros,
  type Purse,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import type { UnitOfWork } from '../work.ts'
import { availableCredit, lapseFreeCredit, post } from './credit.ts'
import { periodAfter } from './limits.ts'

/** The state that a request moves to, and its whole charge there. */
export interface Move {
  readonly state: Exclude<RequestState, 'open'>
  readonly chargeMicros: Micros
  /** The provider's cost behind the charge, exact decimal text; null if there is none. */
  readonly costUsd: string | null
  /** The part that stays held: the whole hold, the rest after the charge, or nothing. */
  readonly keepsHeld: 'whole' | 'rest' | 'nothing'
  /** Whether the cost stands without a look-up. Default false. */
  readonly costStands?: boolean
  readonly nowMs: number
}

/**
 * Moves a request to another state: posts the difference between the new charge and the old, frees credit and
 * the place in flight, and returns the new row.
 */
export function moveRequest(work: UnitOfWork, row: RequestRow, move: Move): RequestRow {
  if (move.chargeMicros < 0) throw new RangeError('a charge is not negative')
  const account = work.accounts.get(row.accountId)
  const apiKey = work.apiKeys.get(row.apiKeyId)
  if (account === undefined || apiKey === undefined) {
    throw new Error(`the account or the key of request ${row.id} is not in the store`)
  }
  const charge = splitCharge({ row, account, move })
  const held = heldAfter(row, move, charge)
  const heldBackedChange = subtractMicros(held.backedMicros, row.backedHeldMicros)
  const heldFreeChange = subtractMicros(held.freeMicros, row.freeHeldMicros)
  const spendChange = move.chargeMicros - chargedMicros(row)
  const freesHold = heldBackedChange !== 0 || heldFreeChange !== 0

  // A look-up that confirms the charge, as nearly all do, leaves the account and the key as they are.
  const changes = row.state === 'open' || spendChange !== 0 || freesHold
  const endedHolds = row.state === 'open' ? 1 : 0
  const inPeriod = {
    openedAtMs: row.openedAtMs,
    spendMicros: spendChange,
    heldMicros: heldBackedChange + heldFreeChange,
  }
  if (changes) {
    work.apiKeys.update({
      ...apiKey,
      spendMicros: micros(apiKey.spendMicros + spendChange),
      heldMicros: micros(apiKey.heldMicros + heldBackedChange + heldFreeChange),
      openHolds: apiKey.openHolds - endedHolds,
      period: periodAfter(apiKey.period, inPeriod),
    })
  }
  const freed = changes
    ? {
        ...account,
        backedHeldMicros: addMicros(account.backedHeldMicros, heldBackedChange),
        freeHeldMicros: addMicros(account.freeHeldMicros, heldFreeChange),
        openHolds: account.openHolds - endedHolds,
        period: periodAfter(account.period, inPeriod),
      }
    : account
  const posted = postCharge(work, { row, account: freed, charge, nowMs: move.nowMs })
  const lapsed = lapseFreeCredit(work, posted, move.nowMs)
  if (lapsed !== account) work.accounts.update(lapsed)

  const moved: RequestRow = {
    ...row,
    state: move.state,
    swept: false,
    backedHeldMicros: held.backedMicros,
    freeHeldMicros: held.freeMicros,
    backedChargeMicros: charge.backedMicros,
    freeChargeMicros: charge.freeMicros,
    writtenOffMicros: charge.writtenOffMicros,
    costUsd: move.costUsd,
    cost: costBehind({ ...row, costUsd: move.costUsd, chargeMicros: move.chargeMicros }),
    costStands: move.costStands === true,
    endedAtMs: row.endedAtMs ?? move.nowMs,
    settledAtMs: isSettled(move.state) ? move.nowMs : null,
  }
  work.requests.update(moved)
  return moved
}

/** The whole charge of a request, corrections included. */
export function chargedMicros(row: RequestRow): Micros {
  return addMicros(row.backedChargeMicros, row.freeChargeMicros)
}

/** The part of a request's charge beyond its hold. */
export function overrunMicros(row: RequestRow): Micros {
  const granted = row.backedGrantedMicros + row.freeGrantedMicros
  return maxMicros(ZERO_MICROS, micros(chargedMicros(row) - granted))
}

interface ChargeSplit {
  readonly backedMicros: Micros
  readonly freeMicros: Micros
  /** The part of the free charge that the purse can't pay. */
  readonly writtenOffMicros: Micros
}

/**
 * Splits a charge as its hold was split, free credit first; the part beyond the hold is charged to paid
 * credit, which may go below zero. After a hold of free credit alone, the part beyond the hold is charged to
 * free and then to paid credit that no other hold has, and the rest is written off: free credit never makes
 * a debt.
 */
function splitCharge({
  row,
  account,
  move,
}: {
  readonly row: RequestRow
  readonly account: AccountRow
  readonly move: Move
}): ChargeSplit {
  const available = availableCredit(account, move.nowMs)
  const ownMicros = row.freeChargeMicros - row.writtenOffMicros + row.freeHeldMicros
  const payableMicros = micros(ownMicros + available.freeMicros)
  const isFreeOnly =
    row.backedGrantedMicros === 0 && (row.freeGrantedMicros > 0 || !account.hasBackedCredit)
  if (isFreeOnly) {
    const paidMicros = minMicros(move.chargeMicros, payableMicros)
    const backedMicros = minMicros(
      subtractMicros(move.chargeMicros, paidMicros),
      addMicros(row.backedChargeMicros, available.backedMicros),
    )
    const freeMicros = subtractMicros(move.chargeMicros, backedMicros)
    const writtenOffMicros = subtractMicros(freeMicros, paidMicros)
    return { backedMicros, freeMicros, writtenOffMicros }
  }
  const freeMicros = minMicros(move.chargeMicros, row.freeGrantedMicros)
  return {
    backedMicros: subtractMicros(move.chargeMicros, freeMicros),
    freeMicros,
    writtenOffMicros: maxMicros(ZERO_MICROS, subtractMicros(freeMicros, payableMicros)),
  }
}

function heldAfter(row: RequestRow, move: Move, charge: ChargeSplit) {
  switch (move.keepsHeld) {
    case 'whole':
      return { backedMicros: row.backedHeldMicros, freeMicros: row.freeHeldMicros }
    case 'rest':
      return {
        backedMicros: maxMicros(
          ZERO_MICROS,
          subtractMicros(row.backedHeldMicros, charge.backedMicros),
        ),
        freeMicros: maxMicros(ZERO_MICROS, subtractMicros(row.freeHeldMicros, charge.freeMicros)),
      }
    case 'nothing':
      return { backedMicros: ZERO_MICROS, freeMicros: ZERO_MICROS }
  }
}

/** Posts the differences between the new split of a charge and the old one, an entry for each purse. */
function postCharge(
  work: UnitOfWork,
  {
    row,
    account,
    charge,
    nowMs,
  }: {
    readonly row: RequestRow
    readonly account: AccountRow
    readonly charge: ChargeSplit
    readonly nowMs: number
  },
): AccountRow {
  const kind: EntryKind = row.state === 'provisional' ? 'correction' : 'charge'
  const lines: readonly { kind: EntryKind; purse: Purse; amountMicros: Micros }[] = [
    { kind, purse: 'free', amountMicros: subtractMicros(row.freeChargeMicros, charge.freeMicros) },
    {
      kind,
      purse: 'backed',
      amountMicros: subtractMicros(row.backedChargeMicros, charge.backedMicros),
    },
    {
      kind: 'write_off',
      purse: 'free',
      amountMicros: subtractMicros(charge.writtenOffMicros, row.writtenOffMicros),
    },
  ]
  let posted = account
  for (const { kind, purse, amountMicros } of lines) {
    if (amountMicros === 0) continue
    posted = post(work, posted, {
      ...ENTRIES.start,
      requestId: row.id,
      apiKeyId: row.apiKeyId,
      kind,
      purse,
      amountMicros,
      createdAtMs: nowMs,
    })
  }
  return posted
}

/** Whether the hold has ended for good. */
function isSettled(state: RequestState): state is 'final' | 'released' {
  return state === 'final' || state === 'released'
}
