import { PROBLEMS, type ProblemCode } from '../../src/vocabulary/problem.ts'
import type {
  OperatorRequest,
  OperatorRequestPrices,
  Refusals,
  RequestSummary,
} from '../../web/api/answers.ts'
import { ago, HELIX, KEYS, MODELS, NOW } from './stand-in-data.ts'

/** A request without the names that only operators read with it. */
export type UnnamedRequest = Omit<OperatorRequest, 'account_name' | 'key_name' | 'key_deleted'>

type Row = readonly [
  agoMs: number,
  takenMs: number | null,
  model: string,
  state: OperatorRequest['state'],
  keyPlace: number,
  money: number,
  tokens?: readonly [input: number, output: number],
  failed?: readonly [httpStatus: number, code: string],
]

function request(
  at: number,
  [agoMs, takenMs, model, state, keyPlace, money, tokens, failed]: Row,
): UnnamedRequest {
  const isHeld = state === 'open' || state === 'unresolved'
  const charge = isHeld ? 0 : money
  return {
    id: `req_01kbh2x9q4e7m0v6rt3z8y${String(at).padStart(4, '0')}`,
    object: 'request',
    account_id: HELIX.id,
    key_id: KEYS[keyPlace]?.id ?? '',
    endpoint: model.startsWith('anthropic/') ? 'messages' : 'chat',
    upstream: 'openrouter',
    model,
    stream: true,
    state,
    http_status: failed?.[0] ?? (state === 'open' ? null : 200),
    error_code: failed?.[1] ?? null,
    hold: isHeld ? money : Math.round(charge * 2.6),
    held: isHeld ? money : 0,
    charge,
    provider_cost: charge === 0 ? null : String(Math.round(charge / 1.05) / 1_000_000),
    uncharged_provider_cost: null,
    margin: charge === 0 ? null : charge - Math.round(charge / 1.05),
    tags: at === 4 ? ['evals', 'team:search'] : [],
    fee_basis_points: 500,
    overrun: 0,
    estimated: false,
    usage:
      tokens === undefined
        ? null
        : {
            input_tokens: tokens[0],
            cache_read_tokens: Math.round(tokens[0] * 0.836),
            cache_write_tokens: 0,
            cache_write_long_tokens: 0,
            output_tokens: tokens[1],
            reasoning_tokens: Math.round(tokens[1] * 0.36),
            image_output_tokens: 0,
            searches: 0,
          },
    generation_id: state === 'open' ? null : 'gen-1763762644-k3PqZ',
    price_snapshot: 'price_01kbh2x9q4e7m0v6rt3z8ycd5n',
    opened_at: ago(agoMs),
    first_byte_at: state === 'open' ? null : ago(agoMs - 620),
    ended_at: takenMs === null ? null : ago(agoMs - takenMs),
    settled_at: state === 'final' ? ago(agoMs - (takenMs ?? 0) - 1_200) : null,
  }
}

const [SONNET, GPT, GEMINI, QWEN] = MODELS

/** Its newest requests: one of each state. */
export const REQUESTS: readonly UnnamedRequest[] = (
  [
    [3_000, null, SONNET, 'open', 0, 97_700],
    [10_400, null, GEMINI, 'open', 0, 128_200],
    [23_000, 12_400, GPT, 'provisional', 0, 41_000, [35_459, 221]],
    [37_000, 13_200, GPT, 'provisional', 1, 43_100, [32_910, 769]],
    [53_886, 13_900, SONNET, 'final', 0, 18_530, [11_028, 711]],
    [73_000, 12_000, GPT, 'unresolved', 1, 50_200, [1_317, 1_556]],
    [94_000, 15_200, 'black-forest/flux-3', 'final', 1, 42_000, [61, 4_160]],
    [117_000, 18_300, SONNET, 'final', 2, 17_000, [11_754, 449]],
    [143_000, 11_300, QWEN, 'released', 2, 0, [1_869, 678], [502, 'upstream_error']],
    [171_000, 11_400, 'openai/text-embed-4', 'final', 2, 200, [3_038, 0]],
    [200_000, 3_100, SONNET, 'final', 0, 35_000, [17_037, 1_808]],
    [233_000, 18_000, SONNET, 'final', 0, 19_000, [10_117, 878]],
    [267_000, 5_200, GEMINI, 'final', 0, 23_200, [5_965, 1_854]],
    [303_000, 5_900, GPT, 'final', 2, 12_100, [2_064, 1_088]],
    [342_000, 3_900, QWEN, 'released', 2, 0],
  ] as const satisfies readonly Row[]
).map((row, at) => request(at, row))

const ERROR_ID = REQUESTS.find(({ error_code: code }) => code === 'upstream_error')?.id ?? ''

/** A request whose charge is its tokens times its prices. */
export const PRICED: UnnamedRequest = {
  ...request(99, [51_000, 2_100, 'openai/gpt-6-mini', 'final', 0, 2_701, [1_839, 61]]),
  usage: {
    ...{ input_tokens: 1_839, output_tokens: 61, reasoning_tokens: 0, image_output_tokens: 0 },
    ...{ cache_read_tokens: 0, cache_write_tokens: 0, cache_write_long_tokens: 0, searches: 0 },
  },
  provider_cost: '0.0025728',
  margin: 128,
}

const PRICES: OperatorRequestPrices = {
  object: 'request_prices',
  request_id: PRICED.id,
  basis: 'prices',
  charge: PRICED.charge,
  fee_basis_points: PRICED.fee_basis_points,
  lines: [
    {
      ...{ kind: 'input', quantity: 1_839, price: '0.00000126', charge: '0.00231714' },
      ...{ provider_price: '0.0000012', provider_cost: '0.0022068' },
    },
    {
      ...{ kind: 'output', quantity: 61, price: '0.0000063', charge: '0.0003843' },
      ...{ provider_price: '0.000006', provider_cost: '0.000366' },
    },
  ],
}

/** The prices of a request as operators read them: of all but {@link PRICED}, the provider reported the cost. */
export function pricesOf({ id, charge }: UnnamedRequest): OperatorRequestPrices {
  if (id === PRICED.id) return PRICES
  return { ...PRICES, request_id: id, charge, basis: charge === 0 ? 'none' : 'reported', lines: [] }
}

/** Requests that were refused before they were forwarded. */
export const REFUSALS: Refusals = {
  object: 'refusals',
  account_id: HELIX.id,
  from: ago(25 * 3_600_000),
  to: NOW.toISOString(),
  requests: 41,
  codes: [
    refused('insufficient_credit', { requests: 30, agoMs: 240_000 }),
    refused('rate_limited', { requests: 9, agoMs: 8_000_000 }),
    refused('model_not_found', { requests: 1, agoMs: 19_000_000 }),
    refused('api_key_disabled', { requests: 1, agoMs: 80_000_000 }),
  ],
  keys: [
    refusedKey(0, 'insufficient_credit', { requests: 22, agoMs: 240_000 }),
    refusedKey(1, 'rate_limited', { requests: 9, agoMs: 8_000_000 }),
    refusedKey(2, 'insufficient_credit', { requests: 8, agoMs: 9_000_000 }),
    refusedKey(0, 'model_not_found', { requests: 1, agoMs: 19_000_000 }),
    { ...refusedKey(3, 'api_key_disabled', { requests: 1, agoMs: 80_000_000 }), key_deleted: true },
  ],
}

/** The requests of a range, which begins at an hour, and of the API keys in a query. */
export function refusalsOf(query: URLSearchParams): Refusals {
  const fromMs = Math.floor(Date.parse(query.get('from') ?? REFUSALS.from) / 3_600_000) * 3_600_000
  const named = query.get('key')?.split(',')
  const keys = REFUSALS.keys.filter(
    ({ key_id, latest_at }) =>
      Date.parse(latest_at) >= fromMs && (named === undefined || named.includes(key_id)),
  )
  const sumOf = (counted: typeof keys) => counted.reduce((sum, { requests }) => sum + requests, 0)
  const codes = REFUSALS.codes.flatMap((each) => {
    const ofCode = keys.filter(({ code }) => code === each.code)
    return ofCode.length === 0 ? [] : { ...each, requests: sumOf(ofCode) }
  })
  const from = new Date(fromMs).toISOString()
  return { ...REFUSALS, from, requests: sumOf(keys), codes, keys }
}

interface Refused {
  readonly requests: number
  readonly agoMs: number
}

function refused(code: ProblemCode, { requests, agoMs }: Refused) {
  const { meaning, remedy } = PROBLEMS[code]
  return { code, requests, latest_at: ago(agoMs), meaning, remedy }
}

function refusedKey(place: number, code: ProblemCode, { requests, agoMs }: Refused) {
  const { id = '', name = '' } = KEYS[place] ?? {}
  const count = { code, requests, latest_at: ago(agoMs) }
  return { key_id: id, key_name: name, key_deleted: false, ...count }
}

/** The hour before, by minute. */
export const SUMMARY: RequestSummary = {
  object: 'request_summary',
  from: ago(3_600_000),
  to: NOW.toISOString(),
  requests: 1_284,
  failed: 7,
  charge: 4_620_000,
  held: 2_790_000,
  errors: {
    codes: [
      { code: 'upstream_error', requests: 4, latest: ERROR_ID },
      { code: 'provider_rate_limited', requests: 2, latest: ERROR_ID },
      { code: 'context_length_exceeded', requests: 1, latest: ERROR_ID },
    ],
    unknown: 0,
  },
  steps: Array.from({ length: 60 }, (_, at) => {
    const requests = Math.max(0, Math.round(21 + 14 * Math.sin(at / 8.5) + 8 * Math.sin(at * 2.3)))
    return {
      at: ago((60 - at) * 60_000),
      requests,
      failed: [5, 14, 22, 39, 41, 56].includes(at) ? Math.min(requests, at === 56 ? 4 : 2) : 0,
      charge: requests * 3_600,
    }
  }),
}
