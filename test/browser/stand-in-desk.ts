import type { AccountAction } from '../../web/api/answers.ts'
import type { ListedUpstream, OperatorAction } from '../../web/api/operator.ts'
import { ago, DAY_MS, HELIX } from './stand-in-data.ts'
import { ACCOUNTS, INVITATIONS, MEMBERS } from './stand-in-operator.ts'

/** The changes by operators, the users, and the upstreams. */

/** The fields of a change that both lists have, with nothing changed. */
function changed(place: number) {
  return {
    target_id: null,
    amount: null,
    detail: {},
    before: null,
    created_at: ago(place * 3_600_000),
  }
}

function action(place: number, fields: Partial<OperatorAction>): OperatorAction {
  return {
    id: `act_01kbh0c7x5qv3m9t2r8w6e000${place}`,
    object: 'operator_action',
    user_id: 'user_01kbh0c7x5qv3m9t2r8w6e0001',
    user_name: 'Mira Okafor',
    user_email: 'mira@corner-models.example',
    token_id: null,
    token_name: null,
    action: 'addCredit',
    account_id: HELIX.id,
    account_name: HELIX.name,
    ...changed(place),
    ...fields,
  }
}

/** Audit log, newest first. */
export const ACTIONS: readonly OperatorAction[] = [
  action(1, {
    amount: 200_000_000,
    detail: { purse: 'backed', reference: 'invoice-1042' },
    before: { balance: -12_940_000 },
  }),
  action(2, {
    action: 'settleRequest',
    target_id: 'req_01kbh2x9q4e7m0v6rt3z8ycd5n',
    amount: 18_530,
    detail: { provider_cost: '0.017648' },
  }),
  action(3, {
    action: 'changeAccount',
    account_id: ACCOUNTS[2]?.id ?? null,
    account_name: ACCOUNTS[2]?.name ?? null,
    target_id: ACCOUNTS[2]?.id ?? null,
    detail: { disabled: true, note: 'Invoice 7 is late.' },
    before: { disabled: false, note: null },
  }),
  action(3.5, {
    action: 'changeAccount',
    target_id: HELIX.id,
    user_id: null,
    user_name: null,
    user_email: null,
    token_id: 'atok_01kbh0c7x5qv3m9t2r8w6e0001',
    token_name: 'crm-sync',
    detail: { fee_basis_points: 1_200 },
    before: { fee_basis_points: 1_000 },
  }),
  action(4, {
    action: 'setMaintenance',
    account_id: null,
    account_name: null,
    detail: { enabled: false },
  }),
  action(5, {
    action: 'refreshCatalog',
    account_id: null,
    account_name: null,
    detail: { outcome: 'refreshed', models: 214, doubted: 0 },
  }),
  action(6, {
    action: 'createWebhook',
    account_id: null,
    account_name: null,
    target_id: 'hook_01kbh0c7x5qv3m9t2r8w6e0002',
    detail: { host: 'pager.example', events: 'upstream.away,audit.difference' },
  }),
]

/** The users of the page; one is an operator. */
export const USERS = MEMBERS.map(({ user_id: id, name, email, role }) => ({
  id,
  object: 'user',
  name,
  email,
  is_operator: role === 'owner',
  has_second_factor: true,
  created_at: ago(90 * DAY_MS),
}))

/** The changes by operators as the owners of the busy account read them, newest first. */
export const ACCOUNT_ACTIONS: readonly AccountAction[] = [
  accountAction(1, {
    action: 'addCredit',
    amount: 200_000_000,
    detail: { purse: 'backed', reference: 'invoice-1042' },
    before: { balance: -12_940_000 },
  }),
  accountAction(2, {
    action: 'changeKey',
    target_id: 'key_01kbh0c7x5qv3m9t2r8w6e0001',
    detail: { name: 'laptop', credit_limit: 50_000_000 },
    before: { credit_limit: null },
  }),
  accountAction(3, {
    target_id: HELIX.id,
    detail: { disabled: true, note: 'Invoice 7 is late.' },
    before: { disabled: false, note: null },
  }),
]

function accountAction(place: number, fields: Partial<AccountAction>): AccountAction {
  return {
    id: `act_01kbh0c7x5qv3m9t2r8w6e001${place}`,
    object: 'account_action',
    by: 'operator',
    action: 'changeAccount',
    ...changed(place),
    ...fields,
  }
}

/** The invitations of operators that are open. */
export const OPERATOR_INVITATIONS = INVITATIONS.map((one) => ({
  ...one,
  email: 'kaya@helix.example',
  role: null,
}))

function upstream(name: string, fields: Partial<ListedUpstream>): ListedUpstream {
  return {
    object: 'upstream',
    name,
    dialect: name,
    state: 'healthy',
    models: 61,
    requests: 168,
    failed: 0,
    errors: [],
    cost: 520_000,
    first_byte_ms: 640,
    in_flight: 2,
    in_flight_max: null,
    listed_at: ago(130_000),
    last_failure: null,
    ...fields,
  }
}

/** Configured upstreams, one in each state. */
export const UPSTREAMS: readonly ListedUpstream[] = [
  upstream('openrouter', {
    state: 'failing',
    models: 214,
    requests: 312,
    failed: 39,
    cost: 950_000,
    errors: [
      { code: 'provider_rate_limited', requests: 31 },
      { code: 'upstream_error', requests: 8 },
    ],
    last_failure: {
      request_id: 'req_01kbh2x9q4e7m0v6rt3z8yc009',
      code: 'provider_rate_limited',
      http_status: 429,
      model: 'anthropic/claude-opus-5',
      at: ago(41_000),
    },
  }),
  upstream('anthropic', {}),
  upstream('openai', { state: 'credit_low', in_flight: 12, in_flight_max: 20 }),
  upstream('own-vllm-in-the-cellar', {
    dialect: 'openai-compatible',
    state: 'unreachable',
    models: 2,
    requests: 0,
    cost: 0,
    first_byte_ms: null,
    in_flight: 0,
    in_flight_max: 8,
    listed_at: null,
  }),
  upstream('spare', { dialect: 'openrouter', state: 'key_refused', requests: 3 }),
]
