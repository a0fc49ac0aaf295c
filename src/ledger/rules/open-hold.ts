import { type AccountRow, type ApiKeyRow, REQUESTS, type RequestRow } from '../../store/schema.ts'
import {
  addMicros,
  type Micros,
  maxMicros,
  micros,
  minMicros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import type {
  HoldRefusalCode,
  HoldRefusalFacts,
  LedgerLimits,
  LimitOwner,
  OpenHoldInput,
  OpenHoldVerdict,
} from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'
import { availableCredit, freeCreditExpired, lapseFreeCredit } from './credit.ts'
import {
  admittedBy,
  allowanceLeft,
  countedPeriod,
  knownPeriodAt,
  periodAfter,
  periodAt,
  refusedFrequency,
} from './limits.ts'

/** The verdict on a repeated `openHold` whose hold has ended: nothing may run on it. */
export interface HoldEnded {
  readonly kind: 'ended'
  readonly state: RequestState
}

/** The inputs of the rules, apart from rows. */
export interface Terms {
  /** The moment at which the whole batch happens. */
  readonly nowMs: number
  readonly limits: LedgerLimits
}

/** The account and the key that a request is held and charged on. */
export interface Payer {
  readonly account: AccountRow
  readonly apiKey: ApiKeyRow
}

type Refusal = Extract<OpenHoldVerdict, { kind: 'refused' }>

/**
 * Grants a hold or refuses it: first for a fault of the key or its account (401, 403), then for its frequency (429),
 * then for lack of credit (402). A refusal changes nothing.
 */
export function openHold(
  work: UnitOfWork,
  input: OpenHoldInput,
  terms: Terms,
): OpenHoldVerdict | HoldEnded {
  const earlier = work.requests.get(input.requestId)
  if (earlier !== undefined) return repeatedOpen(earlier)

  const account = work.accounts.get(input.accountId)
  const apiKey = work.apiKeys.get(input.apiKeyId)
  if (account === undefined || apiKey === undefined) return refused('invalid_api_key')
  const payer = payerAt(work, { account, apiKey }, terms.nowMs)
  const refusal =
    refuseKey(payer, input, terms.nowMs) ?? refuseFrequency(payer, { ...terms, input })
  if (refusal !== null) return refusal

  const grant = grantHold(payer, input, terms.nowMs)
  if (grant.kind === 'opened') recordHold(work, { payer, input, grant, terms })
  return grant
}

/** The payer in the periods of its allowances. The sum for a period is kept, so that it is computed once. */
function payerAt(work: UnitOfWork, { account, apiKey }: Payer, nowMs: number): Payer {
  if (account.period === null && apiKey.period === null) return { account, apiKey }
  const payer = {
    account: { ...account, period: periodAt(account, { work, nowMs }) },
    apiKey: { ...apiKey, period: periodAt(apiKey, { work, nowMs }) },
  }
  if (countedPeriod(work, account.id) !== undefined) work.accounts.update(payer.account)
  if (countedPeriod(work, apiKey.id) !== undefined) work.apiKeys.update(payer.apiKey)
  return payer
}

function repeatedOpen(row: RequestRow): OpenHoldVerdict | HoldEnded {
  if (row.state !== 'open') return { kind: 'ended', state: row.state }
  const grant = opened(row.backedGrantedMicros, row.freeGrantedMicros)
  return { ...grant, isRepeat: true }
}

function refuseKey(
  { account, apiKey }: Payer,
  input: OpenHoldInput,
  nowMs: number,
): Refusal | null {
  if (apiKey.deletedAtMs !== null || apiKey.accountId !== input.accountId)
    return refused('invalid_api_key')
  if (account.disabled) return refused('account_suspended')
  if (apiKey.disabled) return refused('api_key_disabled')
  if (apiKey.expiresAtMs !== null && nowMs >= apiKey.expiresAtMs) return refused('api_key_expired')
  return null
}

function refuseFrequency(
  payer: Payer,
  { nowMs, limits, input }: Terms & { readonly input: OpenHoldInput },
): Refusal | null {
  const found = refusedFrequency({ ...payer, tokens: input.tokens, limits, nowMs })
  if (found === null) return null
  const { reached, retryAfterSeconds } = found
  return reached.kind === 'inFlight'
    ? refused('too_many_concurrent_requests', { reached })
    : refused('rate_limited', { reached, retryAfterSeconds })
}

function grantHold(
  { account, apiKey }: Payer,
  input: OpenHoldInput,
  nowMs: number,
): OpenHoldVerdict {
  const { availableMicros, freeMicros, isFreeOnly, leastMicros } = creditFor(account, input, nowMs)
  const freeUnexpired = account.freeBalanceMicros > 0 && !freeCreditExpired(account, nowMs)

  const heldFree = input.freeCreditQualifies ? account.freeHeldMicros : ZERO_MICROS
  const heldMicros = addMicros(account.backedHeldMicros, heldFree)
  const keyLeft = keyCreditLeft(apiKey)
  const keyAllowanceLeft = allowanceLeft(apiKey)
  const accountAllowanceLeft = allowanceLeft(account)
  const fittingMicros = leastOf(availableMicros, [keyLeft, keyAllowanceLeft, accountAllowanceLeft])
  const needed = { neededMicros: input.leastMicros, fittingMicros }
  const creditFigures = { ...needed, availableMicros, heldMicros }
  if (!input.freeCreditQualifies && isFreeOnly && freeUnexpired) {
    return refused('free_credit_not_eligible', creditFigures)
  }

  // Without any credit nothing runs, also no free model.
  const isTooLittle = (leftMicros: Micros | null): boolean =>
    leftMicros !== null && (leftMicros === 0 || leftMicros < leastMicros)
  if (keyLeft !== null && isTooLittle(keyLeft)) {
    return refused('key_limit_reached', {
      ...needed,
      availableMicros: keyLeft,
      heldMicros: apiKey.heldMicros,
    })
  }
  if (isTooLittle(keyAllowanceLeft)) {
    return refused('key_limit_reached', { ...needed, ...allowanceFacts('apiKey', apiKey) })
  }
  if (isTooLittle(availableMicros)) return refused('insufficient_credit', creditFigures)
  if (isTooLittle(accountAllowanceLeft)) {
    return refused('insufficient_credit', { ...needed, ...allowanceFacts('account', account) })
  }

  const grantedMicros = minMicros(input.neededMicros, fittingMicros)
  const fromFree = minMicros(grantedMicros, freeMicros)
  return opened(subtractMicros(grantedMicros, fromFree), fromFree)
}

/** By position: an amount, and the rest that limits leave; null: there is no such limit. */
function leastOf(amountMicros: Micros, leftMicros: readonly (Micros | null)[]): Micros {
  return leftMicros.reduce<Micros>(
    (least, left) => (left === null ? least : minMicros(least, left)),
    amountMicros,
  )
}

/** The limits of a key, and its spend and held credit. */
export type KeySpending = Pick<
  ApiKeyRow,
  'creditLimitMicros' | 'spendMicros' | 'heldMicros' | 'allowance' | 'period'
>

/** The hold of a request if it were opened now. */
export interface HoldEstimate {
  /** The least that is needed, where there is less. */
  readonly holdMicros: Micros
  /** The part of the account's credit and allowance that a request could hold. */
  readonly availableMicros: Micros
}

/** Sizes a hold that is not opened, as it would be granted. By position: the payer, the request, and the moment. */
export function estimateGrant(
  { account, apiKey }: { readonly account: AccountRow; readonly apiKey: KeySpending },
  input: CreditInput & Pick<OpenHoldInput, 'neededMicros'>,
  nowMs: number,
): HoldEstimate {
  const needed = creditFor(account, input, nowMs)
  const allowanceLeftOf = (row: Pick<AccountRow, 'allowance' | 'period'>) =>
    allowanceLeft({ ...row, period: knownPeriodAt(row, nowMs) })
  const availableMicros = leastOf(needed.availableMicros, [allowanceLeftOf(account)])
  const ofKey = [keyCreditLeft(apiKey), allowanceLeftOf(apiKey)]
  const fittingMicros = leastOf(availableMicros, ofKey)
  const isEnough = fittingMicros >= needed.leastMicros
  const grantedMicros = minMicros(input.neededMicros, fittingMicros)
  return { holdMicros: isEnough ? grantedMicros : needed.leastMicros, availableMicros }
}

type CreditInput = Pick<
  OpenHoldInput,
  'freeCreditQualifies' | 'freeCreditAloneRunsOnLess' | 'leastMicros'
>

/**
 * The part of an account's credit that a request could hold, the part of it that is free credit, whether the account has
 * no paid credit, and the least that the request runs on. By position: the account, the request, and the moment.
 */
function creditFor(account: AccountRow, input: CreditInput, nowMs: number) {
  const available = availableCredit(account, nowMs)
  const freeMicros = input.freeCreditQualifies ? available.freeMicros : ZERO_MICROS
  const isFreeOnly = account.backedBalanceMicros <= 0
  return {
    availableMicros: addMicros(available.backedMicros, freeMicros),
    freeMicros,
    isFreeOnly,
    leastMicros:
      input.freeCreditAloneRunsOnLess && isFreeOnly
        ? minMicros(input.leastMicros, freeMicros)
        : input.leastMicros,
  }
}

/** The figures of a refusal by an allowance. */
function allowanceFacts(
  of: LimitOwner,
  { allowance, period }: Pick<AccountRow, 'allowance' | 'period'>,
): Partial<HoldRefusalFacts> {
  if (allowance === null || period === null) throw new Error('there is no allowance')
  return {
    availableMicros: allowanceLeft({ allowance, period }) ?? ZERO_MICROS,
    heldMicros: period.periodHeldMicros,
    reached: { kind: 'allowance', of, allowance, resetsAtMs: period.periodEndsAtMs },
  }
}

/** The rest of a key's credit limit, never below zero; null: it has no limit. */
export function keyCreditLeft(apiKey: KeySpending): Micros | null {
  if (apiKey.creditLimitMicros === null) return null
  const usedMicros = addMicros(apiKey.spendMicros, apiKey.heldMicros)
  return maxMicros(ZERO_MICROS, subtractMicros(apiKey.creditLimitMicros, usedMicros))
}

interface RecordHoldInput {
  readonly payer: Payer
  readonly input: OpenHoldInput
  readonly grant: Extract<OpenHoldVerdict, { kind: 'opened' }>
  readonly terms: Terms
}

function recordHold(work: UnitOfWork, { payer, input, grant, terms }: RecordHoldInput): void {
  const { nowMs, limits } = terms
  const { tokenCount, ...windows } = admittedBy({ ...payer, tokens: input.tokens, limits, nowMs })
  const hold = { input, grant, tokenCount, openedAtMs: nowMs }
  holdCredit(work, payer, { hold, windows, nowMs })
}

/** A hold as it is recorded. */
interface RecordedHold
  extends Pick<RecordHoldInput, 'input'>,
    Pick<RequestRow, 'tokenCount' | 'openedAtMs'> {
  readonly grant: Pick<RecordHoldInput['grant'], 'grantedMicros' | 'backedMicros' | 'freeMicros'>
}

/**
 * Holds the credit of a request, and adds its row. By position: the rows; the account and the key, in the periods in
 * which the hold counts; the hold, the windows that count the request (null: none does), and the present time.
 */
export function holdCredit(
  work: UnitOfWork,
  { account, apiKey }: Payer,
  {
    hold,
    windows,
    nowMs,
  }: {
    readonly hold: RecordedHold
    readonly windows: Pick<ReturnType<typeof admittedBy>, 'ofApiKey' | 'ofAccount'> | null
    readonly nowMs: number
  },
): void {
  const { grant, openedAtMs } = hold
  const inPeriod = { openedAtMs, spendMicros: 0, heldMicros: grant.grantedMicros }
  work.requests.insert(requestRowOf(hold))
  work.apiKeys.update({
    ...apiKey,
    ...windows?.ofApiKey,
    heldMicros: addMicros(apiKey.heldMicros, grant.grantedMicros),
    openHolds: apiKey.openHolds + 1,
    period: periodAfter(apiKey.period, inPeriod),
  })
  const holding = {
    ...account,
    ...windows?.ofAccount,
    backedHeldMicros: addMicros(account.backedHeldMicros, grant.backedMicros),
    freeHeldMicros: addMicros(account.freeHeldMicros, grant.freeMicros),
    openHolds: account.openHolds + 1,
    period: periodAfter(account.period, inPeriod),
  }
  work.accounts.update(lapseFreeCredit(work, holding, nowMs))
}

/** The row of a request whose hold opens. */
function requestRowOf({ input, grant, tokenCount, openedAtMs }: RecordedHold): RequestRow {
  return {
    ...REQUESTS.start,
    id: input.requestId,
    accountId: input.accountId,
    apiKeyId: input.apiKeyId,
    instanceId: input.instanceId,
    endpoint: input.endpoint,
    upstream: input.upstream,
    modelId: input.modelId,
    stream: input.stream,
    state: 'open',
    backedGrantedMicros: grant.backedMicros,
    freeGrantedMicros: grant.freeMicros,
    backedHeldMicros: grant.backedMicros,
    freeHeldMicros: grant.freeMicros,
    priceSnapshotId: input.priceSnapshotId,
    tags: input.tags ?? null,
    feeBasisPoints: input.feeBasisPoints,
    tokenCount,
    openedAtMs,
  }
}

function opened(
  backedMicros: Micros,
  freeMicros: Micros,
): Extract<OpenHoldVerdict, { kind: 'opened' }> {
  return {
    kind: 'opened',
    grantedMicros: micros(backedMicros + freeMicros),
    backedMicros,
    freeMicros,
    isRepeat: false,
  }
}

function refused(code: HoldRefusalCode, facts: Partial<HoldRefusalFacts> = {}): Refusal {
  return {
    kind: 'refused',
    code,
    facts: {
      neededMicros: ZERO_MICROS,
      availableMicros: ZERO_MICROS,
      fittingMicros: ZERO_MICROS,
      heldMicros: ZERO_MICROS,
      retryAfterSeconds: null,
      reached: null,
      ...facts,
    },
  }
}
