import type { CreditCodeRow } from '../../store/schema.ts'
import { formatDecimal } from '../../vocabulary/money.ts'
import {
  type AddCreditInput,
  byLimit,
  type CorrectInput,
  type UpdateAccountInput,
  type UpdateApiKeyInput,
} from '../ledger.ts'
import type { ActionFields, ActionSubject } from '../operator-actions.ts'
import type { UnitOfWork } from '../work.ts'
import { chargedMicros } from './charge.ts'

/** The record of a change of an account. */
export function accountSubject(accountId: string, detail: ActionFields): ActionSubject {
  return { accountId, targetId: accountId, amountMicros: null, detail }
}

/** The record of a change of an API key. */
export function keySubject(
  work: UnitOfWork,
  { id: apiKeyId, detail }: { readonly id: string; readonly detail: ActionFields },
): ActionSubject {
  const apiKey = work.apiKeys.get(apiKeyId)
  const named = apiKey === undefined ? detail : { name: apiKey.name, ...detail }
  const accountId = apiKey?.accountId ?? null
  return { accountId, targetId: apiKeyId, amountMicros: null, detail: named }
}

/** The record of a change of a credit code. */
export function codeSubject(code: CreditCodeRow | undefined): ActionSubject {
  const { id: targetId = null, amountMicros = null, expiresAtMs = null } = code ?? {}
  return { accountId: null, targetId, amountMicros, detail: fieldsOf({ expiresAtMs }) }
}

/** The audit log's record of a command that an operator gives. */
export interface ActionRecord<Input> {
  /** The record of a command. Called after the command has been applied. */
  readonly subject: (work: UnitOfWork, input: Input) => ActionSubject
  /** The earlier values of the fields. Called before the command is applied. Absent: they are not recorded. */
  readonly before?: (work: UnitOfWork, input: Input) => ActionFields
}

/** Credit that is added or removed: the amount, and the balance of its purse before. */
export const CREDIT_MOVE: ActionRecord<AddCreditInput> = {
  subject(_, { accountId, amountMicros, purse, reference, expiresAtMs }) {
    const detail = { purse, reference, ...fieldsOf({ expiresAtMs }) }
    return { accountId, targetId: null, amountMicros, detail }
  },
  before(work, { accountId, purse }) {
    const account = work.accounts.get(accountId)
    if (account === undefined) return {}
    return { balance: purse === 'free' ? account.freeBalanceMicros : account.backedBalanceMicros }
  },
}

/** A correction: the charge after it, and the state and charge of the request before. */
export const CORRECTION: ActionRecord<CorrectInput> = {
  subject(work, { requestId, correction }) {
    const request = work.requests.get(requestId)
    const costUsd = 'costUsd' in correction ? correction.costUsd : null
    return {
      accountId: request?.accountId ?? null,
      targetId: requestId,
      amountMicros: request === undefined ? null : chargedMicros(request),
      detail: costUsd === null ? {} : { provider_cost: formatDecimal(costUsd) },
    }
  },
  before(work, { requestId }) {
    const request = work.requests.get(requestId)
    if (request === undefined) return {}
    return { state: request.state, charge: chargedMicros(request) }
  },
}

/** A change of an account: the given fields, and their earlier values. */
export const ACCOUNT_CHANGE: ActionRecord<UpdateAccountInput> = {
  subject: (_, input) => accountSubject(input.id, fieldsOf(input)),
  before: (work, input) => fieldsBefore(work.accounts.get(input.id), input),
}

/** A change of an API key: the given fields, and their earlier values. */
export const KEY_CHANGE: ActionRecord<UpdateApiKeyInput> = {
  subject: (work, input) => keySubject(work, { id: input.id, detail: fieldsOf(input) }),
  before: (work, input) => fieldsBefore(work.apiKeys.get(input.id), input),
}

/** By position: the row that is changed, and the change. */
function fieldsBefore(row: Changeable | undefined, change: Changeable): ActionFields {
  if (row === undefined) return {}
  const given = Object.keys(fieldsOf(change))
  const fields = Object.entries(fieldsOf(row)).filter(([field]) => given.includes(field))
  return Object.fromEntries(fields)
}

/** The fields of accounts and keys that commands change. */
type Changeable = Omit<UpdateAccountInput, 'id'> & Omit<UpdateApiKeyInput, 'id'>

function wordsOf(list: readonly string[] | null | undefined): string | null | undefined {
  return list?.join(' ') ?? (list === null ? null : undefined)
}

/**
 * The fields that a command gives, by their names in the API. Each is listed, so that nothing else of a command, such as the
 * hash of a key, is ever recorded.
 */
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
  billingJson,
  allowance,
  ...limits
}: Changeable): ActionSubject['detail'] {
  const expiresAt = expiresAtMs == null ? expiresAtMs : new Date(expiresAtMs).toISOString()
  const fields = {
    name,
    email,
    disabled,
    note,
    fee_basis_points: feeBasisPoints,
    low_balance: lowBalanceMicros,
    credit_limit: creditLimitMicros,
    expires_at: expiresAt,
    models_allow: wordsOf(modelsAllow),
    models_deny: wordsOf(modelsDeny),
    allowance: allowance === null ? null : allowance?.allowanceMicros,
    allowance_period: allowance?.allowancePeriod,
    allowance_time_zone: allowance?.allowanceTimeZone,
    ...byLimit(({ field }) => limits[field]),
    external_id: externalId,
    metadata: metadataJson,
    billing: billingJson,
  }
  const given = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, value] as const],
  )
  return Object.fromEntries(given)
}
