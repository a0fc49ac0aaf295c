import type { CreditCodeRow } from '../../store/schema.ts'
import { addMicros, formatDecimal } from '../../vocabulary/money.ts'
import type { AddCreditInput, CorrectInput, OwnLimits } from '../ledger.ts'
import type { ActionSubject } from '../operator-actions.ts'
import type { UnitOfWork } from '../work.ts'

type Detail = ActionSubject['detail']

/** What the record of a change of an account says. */
export function accountSubject(accountId: string, detail: Detail): ActionSubject {
  return { accountId, targetId: accountId, amountMicros: null, detail }
}

/** The same of a key. */
export function keySubject(
  work: UnitOfWork,
  { id: apiKeyId, detail }: { readonly id: string; readonly detail: Detail },
): ActionSubject {
  const apiKey = work.apiKeys.get(apiKeyId)
  const named = apiKey === undefined ? detail : { name: apiKey.name, ...detail }
  const accountId = apiKey?.accountId ?? null
  return { accountId, targetId: apiKeyId, amountMicros: null, detail: named }
}

/** The same of credit that is added or taken back. */
export function creditSubject(input: AddCreditInput): ActionSubject {
  const { accountId, amountMicros, purse, reference, expiresAtMs } = input
  const detail = { purse, reference, ...fieldsOf({ expiresAtMs }) }
  return { accountId, targetId: null, amountMicros, detail }
}

/** The same of a code. */
export function codeSubject(code: CreditCodeRow | undefined): ActionSubject {
  const { id: targetId = null, amountMicros = null, expiresAtMs = null } = code ?? {}
  return { accountId: null, targetId, amountMicros, detail: fieldsOf({ expiresAtMs }) }
}

/** The same of a correction. */
export function correctionSubject(
  work: UnitOfWork,
  { requestId, correction }: CorrectInput,
): ActionSubject {
  const request = work.requests.get(requestId)
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
export function fieldsOf({
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
