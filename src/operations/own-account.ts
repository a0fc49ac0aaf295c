import type { Caller } from '../journey/gate/authenticator.ts'
import { getBalance, listPurchases } from '../ledger/activity/activity.ts'
import { getApiKey } from '../ledger/api-keys.ts'
import type { Store } from '../store/open-store.ts'
import type { Arrival } from '../vocabulary/arrival.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { ownKeyAnswer, ownKeyShape } from './answers/api-key.ts'
import { balanceAnswer, balanceShape } from './answers/balance.ts'
import { entryAnswer, entryShape } from './answers/entry.ts'
import { listAnswer, listShape } from './answers/list.ts'
import { type Operation, operation } from './operation.ts'
import { entryCursor, entryPageQuery } from './request-fields.ts'

/** What the account's own pages are made of. */
export interface AccountParts {
  readonly store: Store
  readonly clock: Clock
  readonly authenticate: (arrival: Arrival) => Promise<Caller>
  /** How long an unresolved hold stays reserved. */
  readonly settleAfterMs: number
}

/** What a key sees of itself and of its account: `/v1/key`, `/v1/balance`, `/v1/credit/purchases`. */
export function accountOperations(parts: AccountParts): readonly Operation[] {
  return [ownKey(parts), balance(parts), purchases(parts)]
}

const KEY_PROBLEMS = [
  'missing_api_key',
  'invalid_api_key',
  'api_key_disabled',
  'api_key_expired',
  'rate_limited',
] as const

function ownKey({ store, clock, authenticate }: AccountParts): Operation {
  return operation({
    name: 'getOwnKey',
    method: 'GET',
    path: '/v1/key',
    summary: 'The calling key with its limit, its spend and the credit that it may use.',
    answers: { 200: ownKeyShape },
    problems: KEY_PROBLEMS,
    authenticate,
    async run({ who: { apiKeyId, accountId } }) {
      const apiKey = await getApiKey(store.db, apiKeyId)
      const held = await getBalance(store.db, { accountId, nowMs: clock.nowMs() })
      // Deleted since it was looked up.
      if (apiKey === null || held === null) throw new Problem('invalid_api_key')
      return { httpStatus: 200, body: ownKeyAnswer(apiKey, held) }
    },
  })
}

function balance({ store, clock, authenticate, settleAfterMs }: AccountParts): Operation {
  return operation({
    name: 'getBalance',
    method: 'GET',
    path: '/v1/balance',
    summary: "The account's credit, held credit and unresolved requests.",
    answers: { 200: balanceShape },
    problems: KEY_PROBLEMS,
    authenticate,
    async run({ who: { accountId } }) {
      const held = await getBalance(store.db, { accountId, nowMs: clock.nowMs() })
      if (held === null) throw new Problem('invalid_api_key')
      return { httpStatus: 200, body: balanceAnswer({ accountId, balance: held, settleAfterMs }) }
    },
  })
}

function purchases({ store, authenticate }: AccountParts): Operation {
  return operation({
    name: 'listPurchases',
    method: 'GET',
    path: '/v1/credit/purchases',
    summary: 'Credit that the account bought or activated, newest first.',
    query: entryPageQuery('purchases'),
    answers: { 200: listShape(entryShape) },
    problems: [...KEY_PROBLEMS, 'invalid_parameter'],
    authenticate,
    async run({ who: { accountId }, query: { limit, cursor } }) {
      const page = { accountId, before: cursor ?? null, limit }
      const { entries, nextBefore } = await listPurchases(store.reports, page)
      const next = entryCursor('purchases', nextBefore)
      return { httpStatus: 200, body: listAnswer(entries.map(entryAnswer), next) }
    },
  })
}
