import { expect, test } from 'vitest'
import type {
  ListedAccount,
  ListedUpstream,
  UnsettledRequest,
  Webhook,
} from '../../api/operator.ts'
import { attentionOf, type Known } from './operator-attention.ts'

const NOTHING: Known = {
  upstreams: [],
  held: { data: [], has_more: false },
  unsettled: { data: [], has_more: false },
  debtors: { data: [], has_more: false },
  failing: { data: [], has_more: false },
  low: { data: [], has_more: false },
  health: undefined,
  audit: undefined,
  webhooks: [],
}

const HEALTHY: ListedUpstream = {
  object: 'upstream',
  name: 'anthropic',
  dialect: 'anthropic',
  state: 'healthy',
  models: 3,
  requests: 40,
  failed: 0,
  errors: [],
  cost: 0,
  first_byte_ms: 640,
  in_flight: 0,
  in_flight_max: null,
  listed_at: null,
  last_failure: null,
}

const WEBHOOK: Webhook = {
  id: 'hook_1',
  object: 'webhook',
  url: 'https://desk.example/hooks',
  events: ['balance.low'],
  disabled: false,
  failing: null,
  created_at: '2026-11-21T22:05:00.000Z',
}

test('nothing needs attention while all is well', () => {
  expect(attentionOf({ ...NOTHING, upstreams: [HEALTHY] })).toEqual([])
  expect(attentionOf({ ...NOTHING, upstreams: undefined, held: undefined })).toEqual([])
})

test('causes of refused or failed requests come before waiting work', () => {
  const upstreams = [
    { ...HEALTHY, name: 'openai', state: 'credit_low' as const },
    { ...HEALTHY, name: 'vllm', state: 'failing' as const, failed: 4 },
  ]
  const titles = attentionOf({ ...NOTHING, upstreams }).map(({ title }) => title)
  expect(titles).toEqual(['vllm fails 1 in 10 requests', 'openai has little credit left'])
})

test.for([
  [40, 5, 'vllm fails 1 in 8 requests'],
  [40, 30, 'vllm fails most requests'],
  [40, 40, 'vllm fails every request'],
] as const)(
  'an upstream with %i requests, %i of them failed: “%s”',
  ([requests, failed, title]) => {
    const upstreams = [{ ...HEALTHY, name: 'vllm', state: 'failing' as const, requests, failed }]
    expect(attentionOf({ ...NOTHING, upstreams })[0]?.title).toBe(title)
  },
)

test('a webhook whose messages fail is reported while it is enabled', () => {
  const failing = { since: '2026-11-21T22:05:00.000Z', failure: 'answered with 503' }
  const reportsOf = (fields: Partial<Webhook>) =>
    attentionOf({ ...NOTHING, webhooks: [{ ...WEBHOOK, ...fields }] }).map(({ title, note }) => [
      title,
      note.replace(/Since .*(?=: )/, 'Since then'),
    ])
  expect(reportsOf({})).toEqual([])
  expect(reportsOf({ failing })).toEqual([
    ['Webhook desk.example is failing', 'Since then: answered with 503.'],
  ])
  expect(reportsOf({ failing, disabled: true })).toEqual([])
})

test('of accounts whose requests are refused or fail, the worst are named with the most frequent reason, and the others are counted', () => {
  const account = (name: string, refused: number, failed = 0) =>
    ({
      id: `acct_${name}`,
      name,
      failing: { requests: 2_000, refused, failed, code: 'model_not_found' },
    }) as ListedAccount
  const data = [account('A', 10), account('B', 1_200, 4), account('C', 0, 30), account('D', 50)]
  const needs = attentionOf({ ...NOTHING, failing: { data, has_more: false } })
  expect(needs.map(({ title }) => title)).toEqual([
    'B: 1,200 refused, 4 failed',
    'D: 50 refused',
    'C: 30 failed',
    '1 more account with refused or failed requests',
  ])
  expect(needs[0]?.note).toBe(
    'Of 2,000 requests in the last 24 hours. Most frequent reason: model_not_found.',
  )
})

test.for([
  ['provisional', 0, false, 'Nothing is held: it is charged already, by an estimate.'],
  ['provisional', 0, true, 'At least $0.00 is held.'],
  ['unresolved', 0, false, '$0.00 is held.'],
  ['provisional', 380_000, false, '$0.38 is held.'],
  ['provisional', 380_000, true, 'At least $0.38 is held.'],
] as const)(
  'unsettled requests, %s, that hold %i micro-dollars, more follow: %s: “%s”',
  ([state, held, has_more, note]) => {
    const data = [{ held, state } as UnsettledRequest]
    expect(attentionOf({ ...NOTHING, unsettled: { data, has_more } })[0]?.note).toBe(note)
  },
)

test('of accounts in debt, those that owe most are named, and the others are counted, as are those beyond the first page', () => {
  const data = [1, 5, 2, 4, 3].map(
    (dollars) =>
      ({
        id: `acct_${dollars}`,
        name: `Account ${dollars}`,
        credit: {
          backed: { balance: -dollars * 1_000_000, held: 0, available: 0 },
          free: { balance: 0, held: 0, available: 0, expires_at: null },
        },
      }) as ListedAccount,
  )
  const titlesOf = (has_more: boolean) =>
    attentionOf({ ...NOTHING, debtors: { data, has_more } }).map(({ title }) => title)
  const largest = [5, 4, 3].map((dollars) => `Account ${dollars} owes $${dollars}.00`)
  expect(titlesOf(false)).toEqual([...largest, '2 more accounts in debt'])
  expect(titlesOf(true)).toEqual([...largest, 'At least 2 more accounts in debt'])
})
