import { showDollarText } from '../../../src/vocabulary/money.ts'
import {
  COMMAND_LINE,
  isRecordedMoney,
  type RecordedOperation,
} from '../../../src/vocabulary/recorded-operation.ts'
import type { OperatorAction } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { percentOf } from '../../format/numbers.ts'
import { LIMITS } from '../../format/terms.ts'

type Detail = OperatorAction['detail']

interface Words {
  /** The name of the operation. */
  readonly kind: string
  /** What one such change did, where its fields say more. */
  readonly of?: (action: Pick<OperatorAction, 'amount' | 'detail'>) => string
}

const named = (kind: string): Words => ({ kind })

/** By position: what a change of something is called, and it where it is refused and accepted again. */
function changed(kind: string, refused: string, accepted: string): Words {
  return {
    kind,
    of({ detail: { disabled } }) {
      if (disabled === undefined) return kind
      return disabled === true ? refused : accepted
    },
  }
}

// Total: a new operation without words does not compile.
const WORDS: Readonly<Record<RecordedOperation, Words>> = {
  addCredit: {
    kind: 'Credit added or removed',
    of: ({ amount }) => ((amount ?? 0) < 0 ? 'Credit removed' : 'Credit added'),
  },
  changeAccount: changed('Account changed', 'Account suspended', 'Account resumed'),
  changeKey: changed('Key changed', 'Key disabled', 'Key enabled'),
  changeMember: named('Role changed'),
  changeWebhook: changed('Webhook changed', 'Webhook disabled', 'Webhook enabled'),
  checkSale: named('Sale of credit checked'),
  createAccount: named('Account created'),
  createAdminToken: named('Admin token created'),
  createCode: named('Credit code created'),
  createInvitation: named('Invitation link created'),
  createKey: named('Key created'),
  createOwnAccount: named('Own account created'),
  createPurchase: named('Purchase started'),
  createResetLink: named('Password link created'),
  createWebhook: named('Webhook created'),
  creditPurchase: named('Purchase approved'),
  deleteKey: named('Key deleted'),
  deleteWebhook: named('Webhook deleted'),
  dismissPurchase: named('Purchase dismissed'),
  inviteMember: named('Member invited'),
  leaveAccount: named('Account left'),
  playground: named('Playground used'),
  redeemCode: named('Credit code redeemed'),
  refreshCatalog: {
    kind: 'Catalog refresh',
    of: ({ detail }) => REFRESH_WORDS[String(detail['outcome'])] ?? 'Catalog refresh requested',
  },
  removeMember: named('Member removed'),
  removeUser: named('User removed'),
  revokeAdminToken: named('Admin token revoked'),
  revokeCode: named('Credit code revoked'),
  rotateKey: named('Key rotated'),
  setMaintenance: {
    kind: 'Maintenance turned on or off',
    of: ({ detail }) =>
      detail['enabled'] === true ? 'Maintenance turned on' : 'Maintenance turned off',
  },
  settleRequest: named('Request settled'),
  testWebhook: named('Test message sent'),
  withdrawInvitation: named('Invitation withdrawn'),
}

const REFRESH_WORDS: Readonly<Record<string, string>> = {
  refreshed: 'Catalog refreshed',
  failed: 'Catalog refresh failed',
}

/** The kinds of changes, to filter by. */
export const ACTION_KINDS = Object.entries(WORDS)
  .map(([value, { kind: text }]) => ({ value, text }))
  .sort((a, b) => a.text.localeCompare(b.text))

/** Who made a change. */
export function actorWords({ user_name, token_id, token_name }: OperatorAction): string {
  if (user_name !== null) return user_name
  return token_id === null && token_name === COMMAND_LINE ? COMMAND_LINE : `token ${token_name}`
}

/** The change in words. A name of an older or newer release that has none is shown as it is. */
export function actionWords(action: OperatorAction): string {
  const words = isRecorded(action.action) ? WORDS[action.action] : named(action.action)
  return words.of?.(action) ?? words.kind
}

function isRecorded(name: string): name is RecordedOperation {
  return Object.hasOwn(WORDS, name)
}

type Value = Detail[string]

interface Field {
  readonly word: string
  /** Default: an amount as dollars, other values as they are. */
  readonly show?: (value: NonNullable<Value>) => string
  /** The word for null. Default: none. */
  readonly none?: string
}

const asMoney = (value: NonNullable<Value>) => money(Number(value))
const asDay = (value: NonNullable<Value>) => String(value).slice(0, 10)
const asList = (value: NonNullable<Value>) => String(value).replaceAll(',', ', ')

// In the order in which they are shown; others are in the CSV alone.
const FIELDS: Readonly<Record<string, Field>> = {
  name: { word: 'Name' },
  email: { word: 'Email' },
  external_id: { word: 'External ID' },
  fee_basis_points: {
    word: 'Fee',
    show: (value) => percentOf(Number(value)),
    none: 'that of the model',
  },
  purse: { word: 'Kind', show: (value) => (value === 'backed' ? 'paid credit' : 'free credit') },
  reference: { word: 'Reference' },
  role: { word: 'Role' },
  note: { word: 'Note' },
  provider_cost: { word: 'Provider cost', show: (value) => showDollarText(String(value)) },
  credit_limit: { word: 'Limit' },
  low_balance: { word: 'Low-credit alert', none: '$5.00' },
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
  metadata: { word: 'Metadata' },
  billing: { word: 'Billing details', show: asBilling },
}

/** The billing details are recorded as JSON, in the order of their lines on a receipt. */
function asBilling(value: Value): string {
  const lines: unknown = JSON.parse(String(value))
  return Object.values(Object(lines)).filter(Boolean).join(', ')
}

/** The changes of an action, with old and new values: "Fee 5% → 2.5% · Email none → a@b.example". */
export function changeWords({ action, amount, detail, before }: OperatorAction): string {
  const changes = Object.entries(FIELDS).flatMap(([field, shown]) => {
    const value = detail[field]
    if (value === undefined || (value === null && before === null)) return []
    const show = isRecordedMoney(field) ? asMoney : String
    return fieldWords({ show, ...shown }, { value, old: before?.[field] })
  })
  return [...changes, ...amountWords({ action, amount, detail, before })].join(' · ')
}

function fieldWords(
  { word, show = String, none = 'none' }: Field,
  { value, old }: { readonly value: Value; readonly old: Value | undefined },
): readonly string[] {
  if (value === undefined || value === old) return []
  const text = (one: Value | undefined) => (one == null ? none : show(one))
  if (old !== undefined) return [`${word} ${text(old)} → ${text(value)}`]
  return value === null ? [] : [`${word} ${text(value)}`]
}

/** The balance before and after credit was added, and the charge before and after a request was settled. */
function amountWords({
  amount,
  before,
}: Pick<OperatorAction, 'action' | 'amount' | 'detail' | 'before'>): readonly string[] {
  const balance = before?.['balance']
  const charge = before?.['charge']
  if (amount === null) return []
  if (typeof balance === 'number') {
    return [`Balance ${money(balance)} → ${money(balance + amount)}`]
  }
  return typeof charge === 'number' ? [`Charge ${money(charge, 4)} → ${money(amount, 4)}`] : []
}
