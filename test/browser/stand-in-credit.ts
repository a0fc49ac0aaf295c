import type { Balance, Entry, Session, Statement, StatementLine } from '../../web/api/answers.ts'
import { ago, DAY_MS, HELIX, NOW } from './stand-in-data.ts'
import { DAY_CHARGES } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** The purses of the account. */
export const BALANCE: Balance = {
  object: 'balance',
  account_id: HELIX.id,
  credit: HELIX.credit,
  total: { balance: 192_060_000, held: 2_790_000, available: 189_270_000 },
  has_backed_credit: true,
  running: { requests: 3, held: 2_410_000 },
  estimated: { requests: 0, held: 0 },
  unresolved: { requests: 1, held: 380_000, next_release_at: ago(-82_800_000) },
}

const CHARGES = REQUESTS.filter(({ charge }) => charge > 0).map((request, at) =>
  entry(400 - at, {
    kind: 'charge',
    amount: -request.charge,
    request_id: request.id,
    created_at: request.settled_at ?? NOW.toISOString(),
  }),
)

/** An entry of the account. */
export function entry(number: number, fields: Partial<Entry>): Entry {
  return {
    id: `${HELIX.id}/${number}`,
    object: 'entry',
    account_id: HELIX.id,
    kind: 'top_up',
    amount: 0,
    purse: 'backed',
    reference: null,
    request_id: null,
    expires_at: null,
    created_at: ago(86_400_000),
    ...fields,
  }
}

const NEWEST: readonly Entry[] = [
  ...CHARGES,
  entry(12, { amount: 150_000_000, reference: 'invoice-1042' }),
  entry(11, {
    kind: 'grant',
    purse: 'free',
    amount: 5_000_000,
    reference: 'welcome',
    expires_at: '2026-11-30T00:00:00.000Z',
  }),
]

/** Its newest entries, with the balance after each. */
export const ENTRIES: readonly StatementLine[] = NEWEST.map((one, at) => {
  const newer = NEWEST.slice(0, at).reduce((sum, { amount }) => sum + amount, 0)
  return { ...one, balance: BALANCE.total.balance - newer }
})

type Line = Statement['lines'][number]

const DAYS = 30

function dayBefore(days: number): string {
  return ago(days * DAY_MS).slice(0, 10)
}

function change(
  fields: Partial<Line> & Pick<Line, 'date' | 'kind' | 'amount'>,
): Omit<Line, 'balance'> {
  return {
    ...{ count: 1, purse: null, reference: null, request_id: null, expires_at: null },
    ...{ created_at: null, reversal: null },
    ...fields,
  }
}

/** The changes of a number of days ago, newest first. */
function changesOf(days: number): readonly Omit<Line, 'balance'>[] {
  const date = dayBefore(days)
  const amount = -(DAY_CHARGES.at(-1 - days) ?? 0)
  const charge = change({ date, kind: 'charge', count: Math.round(-amount / 3_793), amount })
  if (days === 2) {
    const created_at = `${date}T09:12:00.000Z`
    const reference = 'invoice-1042'
    const fields = { purse: 'backed', amount: 150_000_000, reference, created_at } as const
    return [charge, change({ date, kind: 'top_up', ...fields })]
  }
  if (days === 3) {
    const request_id = REQUESTS[0]?.id ?? null
    const created_at = `${date}T15:40:00.000Z`
    return [charge, change({ date, kind: 'correction', amount: 3_800, request_id, created_at })]
  }
  if (days !== 22) return [charge]
  const created_at = `${date}T10:00:00.000Z`
  const bought = {
    purse: 'backed',
    reference: 'pur_01kbh0c7x5qv3m9t2r8w6e0003',
    created_at,
  } as const
  const free = { purse: 'free', expires_at: '2026-11-30T00:00:00.000Z', created_at } as const
  return [
    charge,
    change({ date, kind: 'grant', amount: 5_000_000, reference: 'welcome', ...free }),
    change({ date, kind: 'purchase', amount: 100_000_000, ...bought }),
  ]
}

const CHANGES = Array.from({ length: DAYS }, (_, days) => changesOf(days)).flat()
const BALANCES = CHANGES.map((_, at) =>
  CHANGES.slice(0, at).reduce((sum, { amount }) => sum - amount, BALANCE.total.balance),
)

/** The changes of its credit in thirty days. */
export const STATEMENT: Statement = {
  object: 'statement',
  account_id: HELIX.id,
  from: `${dayBefore(DAYS - 1)}T00:00:00.000Z`,
  to: `${dayBefore(-1)}T00:00:00.000Z`,
  opening_balance: (BALANCES.at(-1) ?? 0) - (CHANGES.at(-1)?.amount ?? 0),
  closing_balance: BALANCE.total.balance,
  lines: CHANGES.map((one, at) => ({ ...one, balance: BALANCES[at] ?? 0 })),
}

/** A statement with a partly refunded purchase. */
export const REFUNDED_STATEMENT: Statement = {
  ...STATEMENT,
  lines: STATEMENT.lines.flatMap((line) => {
    if (line.kind !== 'purchase') return [line]
    const reversed = { ...line, reversal: 'partly_refunded' as const }
    const amountMicros = -8_000_000
    const reference = `${line.reference}:1`
    return [
      { ...reversed, kind: 'reversal' as const, amount: amountMicros, reference },
      { ...reversed, balance: line.balance - amountMicros },
    ]
  }),
}

/** The answer for an account without credit. */
export const NO_STATEMENT: Statement = {
  ...STATEMENT,
  opening_balance: 0,
  closing_balance: 0,
  lines: [],
}

const NOTHING = { balance: 0, held: 0, available: 0 }

/** The purses of one that never had any. */
export const NO_BALANCE: Balance = {
  ...BALANCE,
  credit: { backed: NOTHING, free: { ...NOTHING, expires_at: null } },
  total: NOTHING,
  has_backed_credit: false,
  unresolved: { requests: 0, held: 0, next_release_at: null },
}

/** The sessions of its owner. */
export const SESSIONS: readonly Session[] = [
  {
    id: 'sess_01kbh0c7x5qv3m9t2r8w6e0001',
    object: 'session',
    current: true,
    created_at: ago(86_400_000),
    last_used_at: ago(4_000),
    expires_at: ago(-500_000_000),
    address: '203.0.113.7',
    agent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36',
  },
  {
    id: 'sess_01kbh0c7x5qv3m9t2r8w6e0002',
    object: 'session',
    current: false,
    created_at: ago(186_400_000),
    last_used_at: ago(7_400_000),
    expires_at: ago(-400_000_000),
    address: '2001:db8::7',
    agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1',
  },
]
