import type { ListedAccount, OperatorAction } from '../../web/api/operator.ts'
import { ago, DAY_MS, HELIX } from './stand-in-data.ts'

/** What the operator of the busy account sees of all accounts. */

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
    id: `acct_01kbh0c7x5qv3m9t2r8w6e0${String(place).padStart(3, '0')}`,
    object: 'account',
    name,
    email: email ?? null,
    disabled,
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
    recent_charge: spend,
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
  { ...HELIX, recent_charge: 154_690_000 },
  listed(9, { name: 'Old pilot', email: 'pilot@example.org', available: 3_100 }),
]

function action(place: number, fields: Partial<OperatorAction>): OperatorAction {
  return {
    id: `act_01kbh0c7x5qv3m9t2r8w6e000${place}`,
    object: 'operator_action',
    user_id: 'user_01kbh0c7x5qv3m9t2r8w6e0001',
    user_name: 'Mira Okafor',
    action: 'addCredit',
    account_id: HELIX.id,
    target_id: null,
    amount: null,
    detail: {},
    created_at: ago(place * 3_600_000),
    ...fields,
  }
}

/** What operators did, newest first. */
export const ACTIONS: readonly OperatorAction[] = [
  action(1, { amount: 200_000_000, detail: { purse: 'backed', reference: 'invoice-1042' } }),
  action(2, {
    action: 'settleRequest',
    target_id: 'req_01kbh2x9q4e7m0v6rt3z8ycd5n',
    amount: 18_530,
    detail: { provider_cost: '0.017648' },
  }),
  action(3, {
    action: 'changeAccount',
    account_id: ACCOUNTS[2]?.id ?? null,
    target_id: ACCOUNTS[2]?.id ?? null,
    detail: { disabled: true },
  }),
  action(4, { action: 'setMaintenance', account_id: null, detail: { enabled: false } }),
  action(5, {
    action: 'refreshCatalog',
    account_id: null,
    detail: { outcome: 'refreshed', models: 214, doubted: 0 },
  }),
]
