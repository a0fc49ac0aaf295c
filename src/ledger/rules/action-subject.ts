import { assertNever } from '../../vocabulary/assert-never.ts'
import { addMicros, formatDecimal } from '../../vocabulary/money.ts'
import type { LedgerCommand, RecordedKind } from '../engines/commands.ts'
import type { OwnLimits } from '../ledger.ts'
import type { ActionSubject } from '../operator-actions.ts'
import type { UnitOfWork } from './unit-of-work.ts'

type Detail = ActionSubject['detail']

/** What the record of an operator's command says of it, once the command has been applied. */
export function subjectOf(work: UnitOfWork, command: LedgerCommand<RecordedKind>): ActionSubject {
  switch (command.kind) {
    case 'createAccount': {
      const { id, ownerId, ...fields } = command.input
      const owner = ownerId == null ? {} : { owner: ownerId }
      return ofAccount(id, { ...fieldsOf(fields), ...owner })
    }
    case 'updateAccount':
      return ofAccount(command.input.id, fieldsOf(command.input))
    case 'addCredit': {
      const { accountId, amountMicros, purse, reference, expiresAtMs } = command.input
      const detail = { purse, reference, ...fieldsOf({ expiresAtMs }) }
      return { accountId, targetId: null, amountMicros, detail }
    }
    case 'redeemCode': {
      const { accountId, codeHash } = command.input
      return { ...ofCode(work.creditCode(codeHash)), accountId }
    }
    case 'postPurchase':
      return ofPurchase(work.purchase(command.input.source), {})
    case 'dismissPurchase': {
      const { purchaseId, note } = command.input
      return ofPurchase(work.purchaseOfId(purchaseId), { note })
    }
    case 'correct':
      return ofRequest(work, command.input)
    case 'addApiKey':
    case 'updateApiKey':
      return ofApiKey(work, { id: command.input.id, detail: fieldsOf(command.input) })
    case 'deleteApiKey':
      return ofApiKey(work, { id: command.apiKeyId, detail: {} })
    case 'addCreditCode':
      return ofCode(work.creditCodeOfId(command.input.id))
    case 'revokeCreditCode':
      return ofCode(work.creditCodeOfId(command.creditCodeId))
    default:
      return assertNever(command)
  }
}

function ofAccount(accountId: string, detail: Detail): ActionSubject {
  return { accountId, targetId: accountId, amountMicros: null, detail }
}

function ofApiKey(
  work: UnitOfWork,
  { id: apiKeyId, detail }: { readonly id: string; readonly detail: Detail },
): ActionSubject {
  const apiKey = work.apiKey(apiKeyId)
  const named = apiKey === undefined ? detail : { name: apiKey.name, ...detail }
  const accountId = apiKey?.accountId ?? null
  return { accountId, targetId: apiKeyId, amountMicros: null, detail: named }
}

function ofCode(code: ReturnType<UnitOfWork['creditCode']>): ActionSubject {
  const { id: targetId = null, amountMicros = null, expiresAtMs = null } = code ?? {}
  return { accountId: null, targetId, amountMicros, detail: fieldsOf({ expiresAtMs }) }
}

/** By position: the purchase, and what else was said of it. */
function ofPurchase(purchase: ReturnType<UnitOfWork['purchase']>, detail: Detail): ActionSubject {
  const { accountId = null, id: targetId = null, creditMicros = null } = purchase ?? {}
  return { accountId, targetId, amountMicros: creditMicros, detail }
}

function ofRequest(
  work: UnitOfWork,
  { requestId, correction }: LedgerCommand<'correct'>['input'],
): ActionSubject {
  const request = work.request(requestId)
  const chargeMicros =
    request === undefined ? null : addMicros(request.backedChargeMicros, request.freeChargeMicros)
  const costUsd = 'costUsd' in correction ? correction.costUsd : null
  return {
    accountId: request?.accountId ?? null,
    targetId: requestId,
    amountMicros: chargeMicros,
    detail: costUsd === null ? {} : { provider_cost: formatDecimal(costUsd) },
  }
}

interface Changeable extends Partial<OwnLimits> {
  readonly name?: string
  readonly email?: string | null
  readonly disabled?: boolean
  readonly disabledNote?: string | null
  readonly feeBasisPoints?: number | null
  readonly lowBalanceMicros?: number | null
  readonly creditLimitMicros?: number | null
  readonly expiresAtMs?: number | null
  readonly modelsAllow?: readonly string[] | null
  readonly modelsDeny?: readonly string[] | null
  readonly externalId?: string | null
  readonly metadataJson?: string | null
}

function wordsOf(list: readonly string[] | null | undefined): string | null | undefined {
  return list?.join(' ') ?? (list === null ? null : undefined)
}

/** Each by its name, so that nothing else of a command, such as the hash of a key, is ever recorded. */
function fieldsOf({
  name,
  email,
  disabled,
  disabledNote: note,
  feeBasisPoints,
  lowBalanceMicros,
  creditLimitMicros,
  expiresAtMs,
  modelsAllow,
  modelsDeny,
  externalId,
  metadataJson,
  ...limits
}: Changeable): ActionSubject['detail'] {
  const expiresAt = expiresAtMs == null ? expiresAtMs : new Date(expiresAtMs).toISOString()
  const { allowance } = limits
  const fields = {
    ...{ name, email, disabled, note },
    fee_basis_points: feeBasisPoints,
    low_balance: lowBalanceMicros,
    credit_limit: creditLimitMicros,
    expires_at: expiresAt,
    models_allow: wordsOf(modelsAllow),
    models_deny: wordsOf(modelsDeny),
    allowance: allowance === null ? null : allowance?.allowanceMicros,
    allowance_period: allowance?.allowancePeriod,
    allowance_time_zone: allowance?.allowanceTimeZone,
    requests_per_minute: limits.requestsPerMinuteMax,
    in_flight: limits.inFlightMax,
    tokens_per_minute: limits.tokensPerMinuteMax,
    external_id: externalId,
    metadata: metadataJson,
  }
  const given = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, value] as const],
  )
  return Object.fromEntries(given)
}
