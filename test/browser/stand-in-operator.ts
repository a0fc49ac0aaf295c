import type { Invitation, Member, NamedRequest } from '../../web/api/answers.ts'
import type {
  AdminToken,
  Audit,
  CreditCode,
  Delivery,
  Health,
  ListedAccount,
  UnsettledRequest,
  Webhook,
} from '../../web/api/operator.ts'
import { ago, DAY_MS, HELIX, KEYS } from './stand-in-data.ts'
import { OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** The answers to the operator of the busy account, about all accounts. */

interface Listed {
  readonly name: string
  readonly email?: string
  readonly available: number
  readonly held?: number
  readonly free?: number
  readonly spend?: number
  readonly disabled?: boolean
}

function listed(place: number, { name, email, disabled = false, ...money }: Listed): ListedAccount {
  const { available, held = 0, free = 0, spend = 0 } = money
  return {
    ...HELIX,
    id: `acct_01kbh0c7x5qv3m9t2r8w6e0${String(place).padStart(3, '0')}`,
    name,
    email: email ?? null,
    state: disabled ? 'suspended' : 'active',
    disabled,
    allowance: null,
    low_balance: null,
    external_id: null,
    metadata: {},
    billing: null,
    credit: {
      backed: { balance: available + held, held, available: Math.max(0, available) },
      free: {
        balance: free,
        held: 0,
        available: free,
        expires_at: free === 0 ? null : '2026-11-30T00:00:00.000Z',
      },
    },
    has_backed_credit: available !== 0,
    created_at: ago(place * 11 * DAY_MS),
    charge: spend,
    margin: Math.round(spend * 0.09),
    last_request_at: spend === 0 ? null : ago(place * 3_600_000),
  }
}

/** All accounts, newest first. */
export const ACCOUNTS: readonly ListedAccount[] = [
  listed(1, { name: 'Fjord Analytics', email: 'ops@fjord.example', available: 0, free: 5_000_000 }),
  listed(2, {
    name: 'Night Shift',
    email: 'finance-and-procurement@night-shift.example',
    available: 1_240_870_000,
    held: 12_330_000,
    spend: 903_114_000,
  }),
  listed(3, { name: 'Tern & Co', available: -4_200_000, spend: 61_902_000, disabled: true }),
  {
    ...HELIX,
    charge: OVERVIEW.figures.charge,
    margin: Math.round(OVERVIEW.figures.charge * 0.045),
    last_request_at: ago(3_000),
  },
  listed(9, { name: 'Old pilot', email: 'pilot@example.org', available: 3_100 }),
]

const [FJORD, NIGHT_SHIFT] = ACCOUNTS

/** Accounts of which many requests were refused or failed. */
export const FAILING: readonly ListedAccount[] = [
  {
    ...(FJORD ?? HELIX),
    failing: { requests: 1_204, refused: 1_180, failed: 6, code: 'insufficient_credit' },
  },
]
const REQUESTERS = [HELIX, NIGHT_SHIFT ?? HELIX, HELIX, FJORD ?? HELIX]

/** The newest requests of all accounts; the key of one of them has been deleted. */
export const NAMED_REQUESTS: readonly NamedRequest[] = REQUESTS.map((request, at) => {
  const { id, name } = REQUESTERS[at % REQUESTERS.length] ?? HELIX
  return {
    ...request,
    account_id: id,
    account_name: name,
    key_name: KEYS.find((each) => each.id === request.key_id)?.name ?? null,
    key_deleted: at === 7,
  }
})

const [RUNNING] = REQUESTS

function waiting(place: number, fields: Partial<UnsettledRequest>): UnsettledRequest {
  if (RUNNING === undefined) throw new Error('the stand-in has no request')
  return {
    ...RUNNING,
    id: `req_01kbh2x9q4e7m0v6rt3z8yc00${place}`,
    account_name: HELIX.name,
    state: 'unresolved',
    http_status: 502,
    error_code: 'upstream_error',
    hold: 380_000,
    held: 380_000,
    charge: 0,
    generation_id: 'gen-1763761498-Kq2vWmXo8aT',
    ended_at: ago(place * 3_600_000),
    next_lookup_by: ago(-240_000),
    stands_at: ago(place * 3_600_000 - DAY_MS),
    ...fields,
  }
}

/** Unsettled requests, the oldest first. */
export const UNSETTLED: readonly UnsettledRequest[] = [
  waiting(9, { account_name: 'Night Shift', account_id: ACCOUNTS[1]?.id ?? '' }),
  waiting(3, { generation_id: null, next_lookup_by: null }),
  waiting(1, {
    state: 'provisional',
    http_status: 200,
    error_code: null,
    held: 0,
    charge: 18_530,
    provider_cost: '0.017648',
  }),
]

/** How the process is. */
export const HEALTH: Health = {
  object: 'health',
  version: '1.4.0',
  mode: 'live',
  store: 'sqlite',
  ready: true,
  checks: [
    { name: 'store', ok: true, message: null },
    { name: 'prices', ok: true, message: null },
    { name: 'serving', ok: true, message: null },
    { name: 'upstream_account', ok: true, message: null },
  ],
  catalog: {
    models: 214,
    refreshed_at: ago(130_000),
    doubted: ['openai/gpt-6-mini'],
    fee_basis_points: { least: 250, most: 500 },
  },
  costs: {
    lookups: 'verify',
    doubted: ['acme/sage-pro on chat, streamed'],
    key_usage_agrees: true,
  },
  holds: [
    { state: 'open', requests: 3, held: 2_410_000, oldest_opened_at: ago(41_000) },
    { state: 'provisional', requests: 1, held: 0, oldest_opened_at: ago(3_600_000) },
    { state: 'unresolved', requests: 2, held: 760_000, oldest_opened_at: ago(32_400_000) },
  ],
  as_of: ago(0),
}

/** An audit without a difference. */
export const AUDIT: Audit = {
  object: 'audit',
  ok: true,
  checked: { accounts: 5, keys: 31, requests: 48_213, entries: 51_902, codes: 4, purchases: 0 },
  newest_request: null,
  went_back: [],
  differences: [],
}

function code(place: number, fields: Partial<CreditCode>): CreditCode {
  return {
    id: `code_01kbh0c7x5qv3m9t2r8w6e000${place}`,
    object: 'credit_code',
    suffix: `7QM4X${place}`,
    amount: 25_000_000,
    expires_at: null,
    revoked_at: null,
    redeemed_at: null,
    redeemed_by: null,
    created_at: ago(place * DAY_MS),
    ...fields,
  }
}

/** Credit codes, one of each state, newest first. */
export const CODES: readonly CreditCode[] = [
  code(1, { expires_at: '2027-01-31T00:00:00.000Z' }),
  code(2, { redeemed_at: ago(DAY_MS), redeemed_by: HELIX.id }),
  code(3, { revoked_at: ago(DAY_MS) }),
  code(4, { expires_at: '2026-11-12T00:00:00.000Z' }),
]

/** The members of the busy account. */
export const MEMBERS: readonly Member[] = [
  {
    object: 'member',
    user_id: 'user_01kbh0c7x5qv3m9t2r8w6e0001',
    name: 'Mira Okafor',
    email: 'mira@helix.example',
    role: 'owner',
    joined_at: ago(90 * DAY_MS),
  },
  {
    object: 'member',
    user_id: 'user_01kbh0c7x5qv3m9t2r8w6e0002',
    name: 'Jonas Lind',
    email: 'jonas@helix.example',
    role: 'member',
    joined_at: ago(12 * DAY_MS),
  },
]

/** The invitations to its first account that are open. */
export const INVITATIONS: readonly Invitation[] = [
  {
    id: 'link_01kbh0c7x5qv3m9t2r8w6e0001',
    object: 'invitation',
    email: 'noor@helix.example',
    role: 'member',
    created_at: ago(2 * DAY_MS),
    expires_at: ago(-5 * DAY_MS),
  },
]

function token(place: number, fields: Partial<AdminToken>): AdminToken {
  return {
    id: `atok_01kbh0c7x5qv3m9t2r8w6e000${place}`,
    object: 'admin_token',
    name: 'shop',
    prefix: `tollgate-admin-7Qm…x2F${place}`,
    scopes: ['keys', 'credit'],
    made_by: null,
    created_at: ago(place * DAY_MS),
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    ...fields,
  }
}

/** Admin tokens, one of each state, newest first. */
export const TOKENS: readonly AdminToken[] = [
  token(1, { expires_at: '2027-02-19T00:00:00.000Z', last_used_at: ago(3_600_000) }),
  token(2, { name: 'bookkeeping', scopes: ['read'], made_by: 'atok_01kbh0c7x5qv3m9t2r8w6e0003' }),
  token(3, { name: 'provisioning', scopes: ['everything'], revoked_at: ago(DAY_MS) }),
  token(4, { name: 'pilot', scopes: ['read', 'keys'], expires_at: '2026-11-12T00:00:00.000Z' }),
]

/** Webhooks, one of them disabled. */
export const WEBHOOKS: readonly Webhook[] = [
  {
    id: 'hook_01kbh0c7x5qv3m9t2r8w6e0001',
    object: 'webhook',
    url: 'https://desk.helix.example/hooks/tollgate?team=platform-and-billing-of-helix',
    events: ['balance.low', 'key.limit_near', 'request.unresolved'],
    disabled: false,
    failing: { since: ago(7 * 3_600_000), failure: 'answered with 503' },
    created_at: ago(40 * DAY_MS),
  },
  {
    id: 'hook_01kbh0c7x5qv3m9t2r8w6e0002',
    object: 'webhook',
    url: 'https://pager.example/v2/events',
    events: ['upstream.away', 'audit.difference'],
    disabled: true,
    failing: null,
    created_at: ago(3 * DAY_MS),
  },
]

function delivery(place: number, fields: Partial<Delivery>): Delivery {
  return {
    id: `msg_01kbh2x9q4e7m0v6rt3z8yc00${place}`,
    object: 'webhook_delivery',
    event: 'balance.low',
    state: 'delivered',
    attempts: 1,
    http_status: 204,
    failure: null,
    created_at: ago(place * 3_600_000),
    next_attempt_at: null,
    ended_at: ago(place * 3_600_000),
    ...fields,
  }
}

/** Messages to a webhook, one of each state, newest first. */
export const DELIVERIES: readonly Delivery[] = [
  delivery(1, {
    event: 'request.unresolved',
    state: 'waiting',
    attempts: 3,
    http_status: 503,
    failure: 'answered with 503',
    next_attempt_at: ago(-720_000),
    ended_at: null,
  }),
  delivery(2, {
    event: 'webhook.test',
    state: 'waiting',
    attempts: 0,
    http_status: null,
    next_attempt_at: ago(0),
    ended_at: null,
  }),
  delivery(3, { event: 'key.limit_near' }),
  delivery(4, {
    state: 'failed',
    attempts: 10,
    http_status: null,
    failure: 'did not answer in time',
  }),
]
