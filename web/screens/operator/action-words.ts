import { LOW_BALANCE_MICROS_DEFAULT, showDollarText } from '../../../src/vocabulary/money.ts'
import {
  COMMAND_LINE,
  GATEWAY,
  isRecordedMoney,
  type RecordedOperation,
} from '../../../src/vocabulary/recorded-operation.ts'
import type { OperatorAction } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { percentOf } from '../../format/numbers.ts'
import { LIMITS } from '../../format/terms.ts'
import { browserName } from '../profile/browser-name.ts'

type Detail = OperatorAction['detail']

interface Words {
  /** The name of the operation. */
  readonly kind: string
  /** The words of one such change, if its fields say more. */
  readonly of?: (action: Change) => string
  /** Whether `of` says the name of what was changed. Default false. */
  readonly saysName?: boolean
}

type Change = Pick<OperatorAction, 'amount' | 'detail' | 'before'>

/** A change as an operator reads it, or an owner of its account. */
export type Action = Change & Pick<OperatorAction, 'action'>

const only = (kind: string): Words => ({ kind })

/** By position: a kind of thing that has a name, and what was done to one: 'Key “laptop” created'. */
function done(noun: string, verb: string): Words {
  return {
    kind: `${noun} ${verb}`,
    of: (action) => `${noun} ${quotedName(action)}${verb}`,
    saysName: true,
  }
}

/** As `done`. By position, too: what it is called if the change refuses it, or accepts it again. */
function changed(noun: string, refused: string, accepted: string): Words {
  return {
    kind: `${noun} changed`,
    of(action) {
      const { disabled } = action.detail
      const verb = disabled === undefined ? 'changed' : disabled === true ? refused : accepted
      return `${noun} ${quotedName(action)}${verb}`
    },
    saysName: true,
  }
}

/** The name that a thing had before the change, in quotation marks; empty: the change recorded none. */
function quotedName({ detail, before }: Change): string {
  const name = before?.['name'] ?? detail['name']
  return typeof name === 'string' && name !== '' ? `“${name}” ` : ''
}

/** The part that a removed person no longer has. Owners of an account read only the name, which members have. */
function removedAs({ detail: { everything, operator, name } }: Change): string {
  if (everything === true) return 'User'
  if (operator === true) return 'Operator'
  return name === undefined ? 'Access' : 'Member'
}

// Total: a new operation without words does not compile.
const WORDS: Readonly<Record<RecordedOperation, Words>> = {
  addCredit: {
    kind: 'Credit added or removed',
    of: ({ amount }) => ((amount ?? 0) < 0 ? 'Credit removed' : 'Credit added'),
  },
  changeAccount: changed('Account', 'suspended', 'resumed'),
  changeBilling: only('Billing details changed'),
  changeEmail: only('Own email address changed'),
  changeName: only('Own name changed'),
  changeKey: changed('Key', 'disabled', 'enabled'),
  changeMember: {
    kind: 'Role changed',
    of: (action) => {
      const name = quotedName(action)
      return name === '' ? 'Role changed' : `Role of ${name}changed`
    },
    saysName: true,
  },
  changeWebhook: changed('Webhook', 'disabled', 'enabled'),
  checkSale: only('Sale of credit checked'),
  createAccount: done('Account', 'created'),
  createAdminToken: done('Admin token', 'created'),
  createCode: only('Credit code created'),
  createInvitation: only('Invitation link created'),
  createKey: done('Key', 'created'),
  createOwnAccount: only('Own account created'),
  createPurchase: only('Purchase started'),
  createResetLink: only('Password link created'),
  createWebhook: only('Webhook created'),
  creditPurchase: only('Purchase approved'),
  deleteKey: done('Key', 'deleted'),
  deleteWebhook: only('Webhook deleted'),
  dismissPurchase: only('Purchase dismissed'),
  endSignIn: only('Password or factor ended after a failover'),
  failedSignIn: only('Failed to sign in'),
  inviteMember: only('Member invited'),
  leaveAccount: only('Account left'),
  playground: only('Playground used'),
  redeemCode: only('Credit code redeemed'),
  refreshCatalog: {
    kind: 'Catalog refresh',
    of: ({ detail }) => REFRESH_WORDS[String(detail['outcome'])] ?? 'Catalog refresh requested',
  },
  removeMember: done('Member', 'removed'),
  removeUser: {
    kind: 'User removed',
    of: (action) => `${removedAs(action)} ${quotedName(action)}removed`,
    saysName: true,
  },
  revokeAdminToken: done('Admin token', 'revoked'),
  revokeCode: only('Credit code revoked'),
  rotateKey: done('Key', 'rotated'),
  setMaintenance: {
    kind: 'Maintenance turned on or off',
    of: ({ detail }) =>
      detail['enabled'] === true ? 'Maintenance turned on' : 'Maintenance turned off',
  },
  settleRequest: only('Request settled'),
  signIn: only('Signed in'),
  testWebhook: only('Test message sent'),
  withdrawInvitation: only('Invitation withdrawn'),
}

const REFRESH_WORDS: Readonly<Record<string, string>> = {
  refreshed: 'Catalog refreshed',
  failed: 'Catalog refresh failed',
}

const LIMIT_WORDS = 'allowance, limits, requests a minute, tokens a minute, models, metadata'
const ACCOUNT_FIELDS = `name, email, external ID, fee, billing details, ${LIMIT_WORDS}`
const KEY_FIELDS = `name, credit limit, expiry, expires, ${LIMIT_WORDS}`

/** The fields that a change can set, by which its kind is found too. */
const CHANGED_FIELDS: Readonly<Partial<Record<RecordedOperation, string>>> = {
  changeAccount: `${ACCOUNT_FIELDS}, low-credit alert, suspended, resumed`,
  createAccount: ACCOUNT_FIELDS,
  changeKey: `${KEY_FIELDS}, disabled, enabled`,
  createKey: KEY_FIELDS,
  addCredit: 'paid credit, free credit, top-up, balance, reference',
  settleRequest: 'provider cost, charge',
  signIn: 'sign-in, login',
  failedSignIn: 'sign-in, login, wrong password',
}

/** The kinds of changes, to filter by. */
export const ACTION_KINDS = Object.entries(WORDS)
  .map(([value, { kind: text }]) => ({
    value,
    text,
    also: isRecorded(value) ? (CHANGED_FIELDS[value] ?? '') : '',
  }))
  .sort((a, b) => a.text.localeCompare(b.text))

/** The people who share a name with another one, by their IDs. */
export function namesakes(
  people: readonly { readonly id: string | null; readonly name: string | null }[],
): ReadonlySet<string | null> {
  const byName = Map.groupBy(people, ({ name }) => name)
  return new Set(
    [...byName].flatMap(([, all]) => {
      const ids = new Set(all.map(({ id }) => id))
      return ids.size > 1 ? [...ids] : []
    }),
  )
}

/**
 * The person or program that made a change. A failed sign-in may have been anyone's. By position: the change, and whether
 * another person has the name, so that the email address is needed.
 */
export function actorWords(change: OperatorAction, isNamesake = false): string {
  const { user_name, user_email, token_id, token_name, action } = change
  if (user_name !== null) {
    const name = isNamesake ? `${user_name}, ${user_email}` : user_name
    return action === 'failedSignIn' ? `unknown, as ${name}` : name
  }
  const hasNoToken = token_name === COMMAND_LINE || token_name === GATEWAY
  return token_id === null && hasNoToken ? token_name : `token ${token_name}`
}

/** The change in words. A name of an older or newer release that has none is shown as it is. */
export function actionWords(action: Action): string {
  const { kind, of } = wordsOf(action)
  return of?.(action) ?? kind
}

function wordsOf({ action }: Pick<OperatorAction, 'action'>): Words {
  return isRecorded(action) ? WORDS[action] : only(action)
}

function isRecorded(name: string): name is RecordedOperation {
  return Object.hasOwn(WORDS, name)
}

type Value = Detail[string]

interface Field {
  readonly word: string
  /** Default: an amount as dollars, other values as they are. */
  readonly show?: (value: NonNullable<Value>) => string
  /** The meaning of null. Default: the thing does not exist. */
  readonly none?: string
}

const asMoney = (value: NonNullable<Value>) => money(Number(value))
const asDay = (value: NonNullable<Value>) => String(value).slice(0, 10)
const asList = (value: NonNullable<Value>) => String(value).replaceAll(',', ', ')

// In the order in which they are shown; others are only in the CSV.
const FIELDS: Readonly<Record<string, Field>> = {
  name: { word: 'Name' },
  email: { word: 'Email' },
  external_id: { word: 'External ID' },
  fee_basis_points: {
    word: 'Fee',
    show: (value) => percentOf(Number(value)),
    none: 'by model',
  },
  purse: { word: '', show: (value) => (value === 'backed' ? 'Paid credit' : 'Free credit') },
  reference: { word: 'Reference' },
  role: { word: 'Role' },
  note: { word: 'Note' },
  provider_cost: { word: 'Provider cost', show: (value) => showDollarText(String(value)) },
  credit_limit: { word: 'Limit' },
  low_balance: { word: 'Low-credit alert', none: money(LOW_BALANCE_MICROS_DEFAULT) },
  allowance: { word: 'Allowance' },
  allowance_period: { word: 'Period' },
  ...Object.fromEntries(
    Object.entries(LIMITS).map(([name, { word, unset }]) => [name, { word, none: unset }]),
  ),
  expires_at: { word: 'Expires', show: asDay, none: 'never' },
  models: { word: 'Models' },
  models_allow: { word: 'Models allowed', none: 'all' },
  models_deny: { word: 'Models denied' },
  host: { word: 'Host' },
  events: { word: 'Events', show: asList },
  scopes: { word: 'Scopes', show: asList },
  metadata: { word: 'Metadata', show: asNotes },
  billing: { word: 'Billing details', show: asBilling },
  method: { word: 'By' },
  address: { word: 'Address' },
  browser: { word: 'Browser', show: (value) => browserName(String(value)) },
  not_recorded: { word: 'Not recorded since the last such attempt' },
}

// What a sign-in is recorded with is no field that a person changes.
const OF_SIGN_INS: ReadonlySet<string> = new Set(['method', 'address', 'browser', 'not_recorded'])

/** The fields that changes can set, to filter by. */
export const ACTION_FIELDS = Object.entries(FIELDS)
  .filter(([field, { word }]) => word !== '' && !OF_SIGN_INS.has(field))
  .map(([value, { word: text }]) => ({ value, text }))
  .sort((a, b) => a.text.localeCompare(b.text))

/** Metadata is recorded as JSON: shown as "plan: team, owner: Ada". */
function asNotes(value: Value): string {
  const notes: unknown = JSON.parse(String(value))
  return Object.entries(Object(notes))
    .map(([name, text]) => `${name}: ${text}`)
    .join(', ')
}

/** The billing details are recorded as JSON, in the order of their lines on a receipt. */
function asBilling(value: Value): string {
  const lines: unknown = JSON.parse(String(value))
  return Object.values(Object(lines)).filter(Boolean).join(', ')
}

/**
 * The changes of an action, with old and new values: "Fee: 5% → 2.5% · Email added: a@b.example". A name that did not change
 * is left out where {@link actionWords} says it.
 */
export function changeWords(action: Action): string {
  const { amount, detail, before } = action
  const saysName = wordsOf(action).saysName === true
  const changes = Object.entries(FIELDS).flatMap(([field, shown]) => {
    const value = detail[field]
    if (value === undefined || (value === null && before === null)) return []
    if (field === 'name' && saysName && before?.['name'] === undefined) return []
    const show = isRecordedMoney(field) ? asMoney : String
    // The reason of a suspension is not the earlier reason of its end.
    const isReason = field === 'note' && detail['disabled'] === false
    return fieldWords({ show, ...shown }, { value, old: isReason ? undefined : before?.[field] })
  })
  return [...changes, ...amountWords({ amount, before })].join(' · ')
}

function fieldWords(
  { word, show = String, none }: Field,
  { value, old }: { readonly value: Value; readonly old: Value | undefined },
): readonly string[] {
  if (value === old) return []
  if (old === undefined) {
    if (value === null) return []
    return [word === '' ? show(value) : `${word}: ${show(value)}`]
  }
  const text = (one: Value) => (one === null ? none : show(one))
  if (none === undefined && old === null) return [`${word} added: ${text(value)}`]
  if (none === undefined && value === null) return [`${word} removed: ${text(old)}`]
  return [`${word}: ${text(old)} → ${text(value)}`]
}

/** The balance before and after credit was added, and the charge before and after a request was settled. */
function amountWords({
  amount,
  before,
}: Pick<OperatorAction, 'amount' | 'before'>): readonly string[] {
  const balance = before?.['balance']
  const charge = before?.['charge']
  if (amount === null) return []
  if (typeof balance === 'number') {
    return [`Balance: ${money(balance)} → ${money(balance + amount)}`]
  }
  return typeof charge === 'number' ? [`Charge: ${money(charge, 4)} → ${money(amount, 4)}`] : []
}
