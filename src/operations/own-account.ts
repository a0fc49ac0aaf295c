import { getBalance, listPurchases } from '../ledger/activity/activity.ts'
import { getApiKey } from '../ledger/api-keys.ts'
import { Problem } from '../vocabulary/problem.ts'
import { ownKeyAnswer, ownKeyShape } from './answers/api-key.ts'
import { balanceAnswer, balanceShape } from './answers/balance.ts'
import { entryAnswer, entryShape } from './answers/entry.ts'
import { listAnswer, listShape } from './answers/list.ts'
import { type Operation, operation } from './operation.ts'
import type { OperationParts } from './operation-parts.ts'
import { entryCursor, entryPageQuery } from './request-fields.ts'

/** What a key sees of itself and of its account: `/v1/key`, `/v1/balance`, `/v1/credit/purchases`. */
export function ownAccountOperations(parts: OperationParts): readonly Operation[] {
  return [ownKey(parts), balance(parts), purchases(parts)]
}

function ownKey({ store, clock }: OperationParts): Operation {
  return operation({
    name: 'getOwnKey',
    method: 'GET',
    paths: { key: '/v1/key' },
    summary: 'The calling key with its limit, its spend and the credit that it may use.',
    answers: { 200: ownKeyShape },
    async run({ caller: { apiKeyId, accountId } }) {
      const apiKey = await getApiKey(store.db, apiKeyId)
      const held = await getBalance(store.db, { accountId, nowMs: clock.nowMs() })
      // Deleted since it was looked up.
      if (apiKey === null || held === null) throw new Problem('invalid_api_key')
      return { httpStatus: 200, body: ownKeyAnswer(apiKey, held) }
    },
  })
}

function balance({ store, clock, settleAfterMs }: OperationParts): Operation {
  return operation({
    name: 'getBalance',
    method: 'GET',
    paths: { key: '/v1/balance' },
    summary: "The account's credit, held credit and unresolved requests.",
    answers: { 200: balanceShape },
    async run({ accountId }) {
      const held = await getBalance(store.db, { accountId, nowMs: clock.nowMs() })
      if (held === null) throw new Problem('invalid_api_key')
      return { httpStatus: 200, body: balanceAnswer({ accountId, balance: held, settleAfterMs }) }
    },
  })
}

function purchases({ store }: OperationParts): Operation {
  return operation({
    name: 'listPurchases',
    method: 'GET',
    paths: { key: '/v1/credit/purchases' },
    summary: 'Credit that the account bought or activated, newest first.',
    query: entryPageQuery('purchases'),
    answers: { 200: listShape(entryShape) },
    async run({ accountId, query: { limit, cursor } }) {
      const page = { accountId, before: cursor ?? null, limit }
      const { entries, nextBefore } = await listPurchases(store.reports, page)
      const next = entryCursor('purchases', nextBefore)
      return { httpStatus: 200, body: listAnswer(entries.map(entryAnswer), next) }
    },
  })
}
