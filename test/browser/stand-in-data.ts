import type { Account, ApiKey, Factors, Me, Start } from '../../web/api/answers.ts'

/** A busy account at one moment, the same in every run: what the pictures show. */

/** The current time of the stand-in and its browser. */
export const NOW = new Date('2026-11-21T22:04:58.000Z')

/** A day. */
export const DAY_MS = 86_400_000
const ACCOUNT = 'acct_01kbh0c7x5qv3m9t2r8w6e7m2q'

/** So long before {@link NOW}. */
export const ago = (elapsedMs: number) => new Date(NOW.getTime() - elapsedMs).toISOString()

/** A list, or its first page. By position: its rows, and where the next page begins; null: it is whole. */
export const listOf = <Row>(data: readonly Row[], nextCursor: string | null = null) => ({
  object: 'list' as const,
  data: [...data],
  has_more: nextCursor !== null,
  next_cursor: nextCursor,
})

/** The signed-in owner. */
export const ME: Me = {
  object: 'me',
  mode: 'simulator',
  user: {
    id: 'user_01kbh0c7x5qv3m9t2r8w6e0001',
    object: 'user',
    name: 'Mira Okafor',
    email: 'mira@helix.example',
    is_operator: true,
    has_password: true,
    email_verified: true,
    email_vouched_for: true,
    alert_mails: true,
    second_factor: 'off',
    second_factor_kinds: [],
    created_at: ago(90 * DAY_MS),
  },
  accounts: [
    { id: ACCOUNT, name: 'Helix Lab', role: 'owner', disabled: false },
    { id: 'acct_01kbh0c7x5qv3m9t2r8w6e9k4d', name: 'Night Shift', role: 'member', disabled: false },
  ],
  session_id: 'sess_01kbh0c7x5qv3m9t2r8w6e0001',
  sells_credit: true,
  base_url: 'https://gate.helix.example',
}

/** A user without a second factor. */
export const NO_FACTORS: Factors = {
  object: 'factors',
  data: [],
  recovery_codes_left: 0,
  needs_proof: false,
  passkey_host: 'gateway.helix.example',
}

/** A user with an authenticator app and two passkeys, one of them of an earlier address of the page. */
export const FACTORS: Factors = {
  ...NO_FACTORS,
  data: [
    {
      id: 'fact_01kbh0c7x5qv3m9t2r8w6e0001',
      object: 'factor',
      kind: 'app',
      name: null,
      host: null,
      created_at: ago(60 * DAY_MS),
      last_used_at: ago(3 * 3_600_000),
    },
    {
      id: 'fact_01kbh0c7x5qv3m9t2r8w6e0002',
      object: 'factor',
      kind: 'passkey',
      name: 'Safari on iPhone',
      host: 'gateway.helix.example',
      created_at: ago(20 * DAY_MS),
      last_used_at: ago(26 * 3_600_000),
    },
    {
      id: 'fact_01kbh0c7x5qv3m9t2r8w6e0003',
      object: 'factor',
      kind: 'passkey',
      name: 'YubiKey on the key ring',
      host: 'llm.helix.example',
      created_at: ago(50 * DAY_MS),
      last_used_at: null,
    },
  ],
  recovery_codes_left: 7,
}

/** An app that is being set up. */
export const APP_BEGUN = {
  object: 'app_begun',
  secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
  url: 'otpauth://totp/tollgate:mira%40helix.example?issuer=tollgate&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&algorithm=SHA1&digits=6&period=30',
}

/** Ten codes. */
export const NEW_RECOVERY_CODES = {
  object: 'recovery_codes',
  recovery_codes: Array.from({ length: 10 }, (_, place) => `7KQ${place}-XM4T-0WZ9-B3N${place}`),
}

/** The state of the page before a sign-in, of a browser with a session. */
export const START: Start = {
  object: 'start',
  mode: 'simulator',
  service_name: null,
  contact: null,
  setup_needed: false,
  sign_up: 'invited',
  mail: false,
  providers: [],
  signed_in: true,
  factor_needed: null,
  secure: true,
}

/** A gateway that sends email. */
export const WITH_MAIL: Start = { ...START, mode: 'live', mail: true }

/** A sign-in that waits for the second factor. */
export const FACTOR_NEEDED: Start = {
  ...WITH_MAIL,
  signed_in: false,
  factor_needed: { email: ME.user.email, kinds: ['app'] },
}

/** A sign-in that waits for a passkey. */
export const PASSKEY_NEEDED: Start = {
  ...FACTOR_NEEDED,
  factor_needed: { email: ME.user.email, kinds: ['passkey'] },
}

/** An operator who must set a second factor up. */
export const FACTOR_REQUIRED: Me = { ...ME, user: { ...ME.user, second_factor: 'required' } }

/** No limits of its own. */
const NO_LIMITS = { requests_per_minute: null, in_flight: null, tokens_per_minute: null }

/** Its account. */
export const HELIX: Account = {
  id: ACCOUNT,
  object: 'account',
  name: 'Helix Lab',
  email: 'mira@helix.example',
  state: 'active',
  disabled: false,
  disabled_at: null,
  disabled_note: null,
  fee_basis_points: null,
  credit: {
    backed: { balance: 187_060_000, held: 2_790_000, available: 184_270_000 },
    free: {
      balance: 5_000_000,
      held: 0,
      available: 5_000_000,
      expires_at: '2026-11-30T00:00:00.000Z',
    },
  },
  has_backed_credit: true,
  models: null,
  low_balance: 20_000_000,
  external_id: 'crm-20418',
  metadata: { plan: 'team', region: 'eu' },
  billing: {
    name: 'Helix Lab GmbH',
    address: 'Kai 3, 20457 Hamburg, Germany',
    tax_id: 'DE 811 907 301',
  },
  allowance: {
    amount: 900_000_000,
    period: 'month',
    time_zone: 'UTC',
    spent: 164_120_000,
    held: 2_410_000,
    resets_at: '2026-12-01T00:00:00.000Z',
  },
  limits: NO_LIMITS,
  created_at: ago(90 * DAY_MS),
}

/** The path of one of its sections, below `/app/`. */
export const at = (section: string) => `${HELIX.id}/${section}`

interface KeyInput extends Partial<ApiKey> {
  readonly name: string
  readonly prefix: string
}

function key(at: number, { name, prefix, ...rest }: KeyInput): ApiKey {
  return {
    id: `key_01kbh0c7x5qv3m9t2r8w6e000${at}`,
    object: 'key',
    name,
    prefix,
    state: 'active',
    disabled: false,
    expires_at: null,
    previous_expires_at: null,
    credit_limit: null,
    spend: 0,
    held: 0,
    models: null,
    allowance: null,
    limits: NO_LIMITS,
    default_limits: { requests_per_minute: 300, in_flight: 8 },
    metadata: {},
    account_id: ACCOUNT,
    created_at: ago(60 * DAY_MS),
    last_used_at: null,
    ...rest,
  }
}

/** Its keys: one of each state. */
export const KEYS: readonly ApiKey[] = [
  key(1, {
    name: 'coding agents',
    prefix: 'sk-tollgate-7Qm…x2Fd',
    credit_limit: 200_000_000,
    spend: 86_140_000,
    held: 2_030_000,
    last_used_at: ago(8_000),
  }),
  key(2, {
    name: 'support bot',
    prefix: 'sk-tollgate-b9K…p0La',
    credit_limit: 50_000_000,
    spend: 33_920_000,
    held: 380_000,
    expires_at: '2027-01-31T00:00:00.000Z',
    last_used_at: ago(130_000),
  }),
  key(3, {
    name: 'nightly evals',
    prefix: 'sk-tollgate-Zr4…81tw',
    credit_limit: 40_000_000,
    spend: 36_880_000,
    expires_at: '2027-03-01T00:00:00.000Z',
    models: { allow: ['anthropic/*', 'qwen/qwen4-coder'], deny: [] },
    allowance: {
      amount: 5_000_000,
      period: 'day',
      time_zone: 'Europe/Berlin',
      spent: 1_420_000,
      held: 0,
      resets_at: '2026-11-22T23:00:00.000Z',
    },
    limits: { ...NO_LIMITS, requests_per_minute: 1_000, in_flight: 2 },
    metadata: { team: 'search', ticket: 'OPS-1182' },
    last_used_at: ago(19 * 3_600_000),
  }),
  key(4, {
    name: 'notebooks',
    prefix: 'sk-tollgate-0aV…q7Hs',
    spend: 5_610_000,
    last_used_at: ago(18 * DAY_MS),
  }),
  key(5, {
    name: 'hackathon',
    prefix: 'sk-tollgate-Lw2…m5Ge',
    credit_limit: 10_000_000,
    spend: 10_000_000,
    state: 'expired',
    expires_at: '2026-11-12T00:00:00.000Z',
    last_used_at: ago(10 * DAY_MS),
  }),
  key(6, {
    name: 'old laptop',
    prefix: 'sk-tollgate-Xc8…d1Bn',
    credit_limit: 25_000_000,
    spend: 2_070_000,
    state: 'disabled',
    disabled: true,
    last_used_at: ago(80 * DAY_MS),
  }),
]

/** The models that it uses. */
export const MODELS = [
  'anthropic/claude-sonnet-5',
  'openai/gpt-6-mini',
  'google/gemini-3-flash',
  'qwen/qwen4-coder',
  'meta/llama-5-70b',
] as const

/** An invitation that is looked at. */
export const LINK_LOOK = {
  object: 'link_look',
  usable: true,
  email: 'noor@helix.example',
  account_name: HELIX.name,
  role: 'member',
  operator: false,
  inviter: 'Olga Operator (olga@tidewater.example)',
  expires_at: '2026-11-28T09:00:00.000Z',
}
