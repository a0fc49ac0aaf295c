import { z } from 'zod'
import { getRequest } from '../../ledger/activity/activity.ts'
import { type Balance, getBalance, type HeldCredit } from '../../ledger/activity/balance.ts'
import { listBought } from '../../ledger/activity/entries.ts'
import { findGeneration } from '../../ledger/activity/search-requests.ts'
import { getApiKey } from '../../ledger/api-keys.ts'
import { listPending } from '../../ledger/purchases.ts'
import { listConfirming } from '../../sale/deposit-rows.ts'
import {
  generationBeganMs,
  OWN_GENERATION_PATH,
  ownGeneration,
  ownGenerationShape,
} from '../../upstreams/openrouter/own-layouts.ts'
import { readSpend } from '../../usage/read-periods.ts'
import { ZERO_MICROS } from '../../vocabulary/money.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { entryAnswer, entryShape } from '../credit/credit.ts'
import {
  confirmingAnswer,
  confirmingShape,
  purchaseAnswer,
  purchaseShape,
} from '../credit/purchases.ts'
import {
  idCursor,
  idField,
  listAnswer,
  listShape,
  moneyField,
  purchasesPageQuery,
  queryText,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { noRequest, notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { creditAnswer, creditShape } from './accounts.ts'
import { ownKeyAnswer, ownKeyShape } from './api-key-answer.ts'

/** The calling key, and the credit of its account: `/v1/key`, `/v1/balance`, `/v1/credit/purchases`. */
export function ownAccountOperations(parts: OperationParts) {
  return [ownKey(parts), balance(parts), purchases(parts)]
}

const NOTHING_SPENT = { day: ZERO_MICROS, week: ZERO_MICROS, month: ZERO_MICROS }

function ownKey({ store, clock, keyLimits: defaults }: OperationParts) {
  return operation({
    name: 'getOwnKey',
    method: 'GET',
    paths: { key: '/v1/key' },
    summary: 'The calling key with its limit, its spend and the credit that it can use.',
    answers: { 200: ownKeyShape },
    async run({ reader, caller: { apiKeyId, accountId } }) {
      const apiKey = await getApiKey(store.db, apiKeyId)
      const nowMs = clock.nowMs()
      const held = await getBalance(store.db, { accountId, nowMs })
      // The key was deleted after it had been authenticated.
      if (apiKey === null || held === null) throw new Problem('invalid_api_key')
      // All keys of an account share its turns, so that no other account waits longer. Its pages have other turns.
      const reads = store.pages({ ...reader, owner: `keys of ${accountId}` })
      const spend =
        apiKey.spendMicros === 0
          ? NOTHING_SPENT
          : await readSpend(reads, { accountId, apiKeyId, nowMs })
      return ownKeyAnswer(apiKey, { balance: held, spend, nowMs, defaults })
    },
  })
}

function balance(parts: OperationParts) {
  const { store, clock } = parts
  return operation({
    name: 'getBalance',
    method: 'GET',
    paths: {
      key: '/v1/balance',
      member: '/app/api/accounts/{account_id}/balance',
      operator: '/app/api/operator/accounts/{account_id}/balance',
    },
    summary: "The account's credit, held credit, and the requests that hold it.",
    answers: { 200: balanceShape },
    async run({ reader, caller, accountId }) {
      const reads = readsFor({ caller, reader }, store)
      const held = await getBalance(reads, { accountId, nowMs: clock.nowMs() })
      if (held === null && caller.kind !== 'key') throw notFound('account', accountId)
      if (held === null) throw new Problem('invalid_api_key')
      const releaseAtMs = nextReleaseAtMs(parts, held.unresolved)
      return balanceAnswer(accountId, held, releaseAtMs)
    },
  })
}

function purchases({ store, sale }: OperationParts) {
  return operation({
    name: 'listPurchases',
    method: 'GET',
    paths: {
      key: '/v1/credit/purchases',
      member: '/app/api/accounts/{account_id}/purchases',
    },
    summary:
      'Credit that the account bought or redeemed, newest first; the first page also has pending purchases.',
    query: purchasesPageQuery(),
    answers: { 200: boughtShape },
    async run({ reader, caller, accountId, query: { limit, cursor } }) {
      const reads = readsFor({ caller, reader }, store)
      const page = { accountId, before: cursor ?? null, limit }
      const { entries, nextBefore } = await listBought(reads, page)
      const next = idCursor('purchases', nextBefore === null ? null : String(nextBefore))
      const body = listAnswer(entries.map(entryAnswer), next)
      if (cursor !== undefined) return body
      const confirming = await listConfirming(reads, accountId)
      const rows = await listPending(reads, accountId)
      const pending = [
        ...confirming.map((row) => confirmingAnswer(row, sale)),
        ...rows.map((row) => purchaseAnswer(row, sale)),
      ]
      return { ...body, pending }
    },
  })
}

/** A request of the calling key, in the layout of OpenRouter's generations. */
export function generationOperations({ store, clock }: OperationParts) {
  return [
    operation({
      name: 'getGeneration',
      method: 'GET',
      paths: { key: OWN_GENERATION_PATH },
      summary: "One request of the calling key in the layout of OpenRouter's generations.",
      query: z.object({
        id: queryText
          .refine(
            (id) => /^[\w.:-]{1,200}$/.test(id),
            'must be the ID of a request or of a generation',
          )
          .describe('The ID of an answer, or its `x-request-id`.'),
      }),
      answers: { 200: ownGenerationShape },
      problems: ['not_found'],
      async run({ reader, caller: { apiKeyId }, query: { id } }) {
        const row = id.startsWith('req_')
          ? await getRequest(store.pages(reader), id)
          : await findGeneration(store.pages(reader), {
              apiKeyId,
              generationId: id,
              beganMs: generationBeganMs(id),
              nowMs: clock.nowMs(),
            })
        // Another key's request is answered like one that does not exist.
        if (row === null || row.apiKeyId !== apiKeyId) throw await noRequest(store, id)
        return { data: ownGeneration(row) }
      },
    }),
  ]
}

/** An account's purchases, credited and pending. */
const boughtShape = listShape(entryShape).extend({
  pending: z
    .array(z.union([confirmingShape, purchaseShape]))
    .optional()
    .describe(
      'On the first page: deposits that are not final yet, then purchases that can still become credit; newest first, at most 100 of each.',
    ),
})

const heldShape = z.object({ requests: z.int(), held: moneyField })

function heldAnswer({ requests, heldMicros }: HeldCredit): z.infer<typeof heldShape> {
  return { requests, held: heldMicros }
}

/** `GET /v1/balance`: the money of the calling key's account. */
const balanceShape = z
  .object({
    object: z.literal('balance'),
    account_id: idField('acct'),
    credit: creditShape,
    total: z
      .object({ balance: moneyField, held: moneyField, available: moneyField })
      .describe('Both purses together.'),
    has_backed_credit: z.boolean().describe('Whether the account ever had paid credit.'),
    running: heldShape.describe('Running requests, and the credit that they hold.'),
    estimated: heldShape.describe(
      'Requests whose charge is an estimate, and the rest of their holds, which stays held until the cost is known.',
    ),
    unresolved: z
      .object({
        ...heldShape.shape,
        next_release_at: timeField
          .nullable()
          .describe(
            'When the first of them is released, unless the provider reports its cost before then; null: there are none.',
          ),
      })
      .describe('Unresolved requests, which are not charged yet, and the credit that they hold.'),
  })
  .meta({ id: 'Balance' })

/** A balance as responses have it. */
function balanceAnswer(
  accountId: string,
  balance: Balance,
  releaseAtMs: number | null,
): z.infer<typeof balanceShape> {
  const { backed, free, hasBackedCredit, running, estimated, unresolved } = balance
  return {
    object: 'balance',
    account_id: accountId,
    credit: creditAnswer(balance),
    total: {
      balance: backed.balanceMicros + free.balanceMicros,
      held: backed.heldMicros + free.heldMicros,
      available: backed.availableMicros + free.availableMicros,
    },
    has_backed_credit: hasBackedCredit,
    running: heldAnswer(running),
    estimated: heldAnswer(estimated),
    unresolved: { ...heldAnswer(unresolved), next_release_at: timeOrNull(releaseAtMs) },
  }
}

/**
 * When the reconciler releases the first unresolved request of an account if its cost is still unknown then;
 * null: the account has no such request.
 */
export function nextReleaseAtMs(
  { server }: OperationParts,
  { oldest }: Balance['unresolved'],
): number | null {
  if (oldest.length === 0) return null
  if (server === null) throw new TypeError('the process serves nothing')
  const deadlinesMs = oldest.map(({ upstream, ...request }) => {
    return server.scheduleOf({ ...request, state: 'unresolved' }, upstream).standsAtMs
  })
  return Math.min(...deadlinesMs)
}
