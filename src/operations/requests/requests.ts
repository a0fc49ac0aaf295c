import { Readable } from 'node:stream'
import { z } from 'zod'
import { getRequest, type RequestFilter } from '../../ledger/activity/activity.ts'
import { type FoundRequests, searchRequests } from '../../ledger/activity/search-requests.ts'
import { chargedMicros, overrunMicros } from '../../ledger/rules/charge.ts'
import type { PageReads } from '../../store/page-reads.ts'
import type { RequestRow } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { TAGS_HEADER } from '../../vocabulary/call.ts'
import { chargeForStatedCost } from '../../vocabulary/money.ts'
import { REQUEST_STATES, type TokenUsage } from '../../vocabulary/outcome.ts'
import { invalidParameter, Problem } from '../../vocabulary/problem.ts'
import { type Caller, mayOpen } from '../caller.ts'
import { oneOf } from '../check-input.ts'
import {
  anyOf,
  costField,
  feeShape,
  filterField,
  idCursor,
  idField,
  idFilterField,
  keysFilterField,
  listAnswer,
  listShape,
  momentField,
  moneyField,
  namesOf,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { noRequest } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import { marginOf, requestCsv } from './request-csv.ts'

const MEMBER = '/app/api/accounts/{account_id}'

/** Activity: of all accounts for admins, of one for its members. */
export function requestOperations(parts: OperationParts) {
  return [list(parts), listOfKey(parts), download(parts), show(parts), settle(parts)]
}

/** The filters of requests that every query string has. */
const requestFilters = {
  key: keysFilterField.optional(),
  state: anyOf(z.enum(REQUEST_STATES), `must be ${oneOf(REQUEST_STATES)}`)
    .optional()
    .describe(`Only requests in these states, comma-separated: ${namesOf(REQUEST_STATES)}.`),
  model: anyOf(filterField, 'must be at most 50 model IDs')
    .optional()
    .describe('Only requests to these models, by ID, comma-separated.'),
  endpoint: anyOf(filterField, 'must be at most 50 names')
    .optional()
    .describe('Only requests to these endpoints, such as `chat,embeddings`, comma-separated.'),
  tag: anyOf(filterField, 'must be at most 50 tags')
    .optional()
    .describe('Only requests that the client sent with one of these tags, comma-separated.'),
  failed: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      '`true`: only requests that ended with an error; `false`: only requests without one.',
    ),
  since: momentField.optional().describe('Only requests that were opened at this time or later.'),
  until: momentField.optional().describe('Only requests that were opened before this time.'),
}

/** These filters, and those that only operators have. */
export const operatorFilters = {
  ...requestFilters,
  upstream: anyOf(filterField, 'must be at most 50 names')
    .optional()
    .describe('For operators: only requests to these upstreams, by name, comma-separated.'),
}

type RequestFilters = z.output<z.ZodObject<typeof requestFilters>> & {
  readonly upstream?: readonly string[] | undefined
}

/** Throws Problem `invalid_parameter` if a member filters by a field that customers do not have. */
export function checkFilters(caller: Caller, { upstream }: Pick<RequestFilters, 'upstream'>): void {
  if (caller.kind !== 'member' || upstream === undefined) return
  throw invalidParameter('upstream', 'Only operators can filter by `upstream`.')
}

/** The filter that a query string asks for. */
export function filterOf({ key, model, failed, since, until, ...same }: RequestFilters) {
  const { state, endpoint, upstream, tag } = same
  return {
    apiKeyId: key,
    state,
    modelId: model,
    endpoint,
    upstream,
    tag,
    failed: failed && failed === 'true',
    sinceMs: since,
    untilMs: until,
  } satisfies RequestFilter
}

/** The connection on which a list is read: a search may take longer than a page of the newest requests. */
export function readsOf(
  filter: RequestFilter,
  { pages, searches }: OperationParts['store'],
): PageReads {
  return Object.values(filter).every((value) => value === undefined) ? pages : searches
}

function list({ store }: OperationParts) {
  return operation({
    name: 'listRequests',
    method: 'GET',
    scope: 'read',
    paths: { admin: '/v1/admin/requests', member: `${MEMBER}/requests` },
    summary: 'Requests, newest first.',
    query: pageQuery('requests', {
      account: idFilterField('acct').optional(),
      ...operatorFilters,
    }),
    answers: { 200: foundShape },
    async run(call) {
      const { limit, cursor } = call.query
      const { caller, reader } = call
      checkFilters(caller, call.query)
      const account = caller.kind === 'member' ? caller.accountId : call.query.account
      const filter = filterOf(call.query)
      const found = await searchRequests(readsOf(filter, store)(reader), {
        limit,
        cursor,
        ...filter,
        accountId: account,
      })
      return foundAnswer(found)
    },
  })
}

function listOfKey({ store }: OperationParts) {
  const { key: _, ...filters } = requestFilters
  return operation({
    name: 'listKeyRequests',
    method: 'GET',
    paths: { key: '/v1/requests' },
    summary: 'Requests of the calling key, newest first.',
    query: pageQuery('requests', filters),
    answers: { 200: foundShape },
    async run({ reader, caller: { accountId, apiKeyId }, query }) {
      const { limit, cursor = null } = query
      const filter = filterOf(query)
      const own = { ...filter, accountId, apiKeyId }
      const found = await searchRequests(readsOf(filter, store)(reader), { limit, cursor, ...own })
      return foundAnswer(found)
    },
  })
}

function download({ store }: OperationParts) {
  return operation({
    name: 'downloadRequests',
    method: 'GET',
    paths: { member: `${MEMBER}/requests.csv`, operator: '/app/api/operator/requests.csv' },
    summary: 'Requests as CSV, newest first, with amounts in exact dollars.',
    query: z.strictObject({ account: idFilterField('acct').optional(), ...operatorFilters }),
    answers: { 200: z.string() },
    async run({ reader, caller, query }) {
      checkFilters(caller, query)
      const account = caller.kind === 'member' ? caller.accountId : query.account
      const filter = { ...filterOf(query), accountId: account }
      const isForOperators = caller.kind === 'operator'
      const rows = requestCsv(store.searches(reader), { filter, isForOperators })
      return Readable.from(rows)
    },
  })
}

function show({ store }: OperationParts) {
  return operation({
    name: 'getRequest',
    method: 'GET',
    scope: 'read',
    paths: {
      admin: '/v1/admin/requests/{request_id}',
      key: '/v1/requests/{request_id}',
      member: `${MEMBER}/requests/{request_id}`,
    },
    summary: 'One request with its hold, cost and charge.',
    answers: { 200: requestShape },
    problems: ['not_found'],
    async run({ reader, caller, param }) {
      const requestId = param('request_id')
      const row = await getRequest(readsFor({ caller, reader }, store), requestId)
      // Another key's request is answered like one that does not exist.
      const belongsToOtherKey = caller.kind === 'key' && caller.apiKeyId !== row?.apiKeyId
      if (row === null || belongsToOtherKey || !mayOpen(caller, row.accountId)) {
        throw await noRequest(store, requestId)
      }
      return requestAnswer(row)
    },
  })
}

function settle({ store, ledger }: OperationParts) {
  return operation({
    name: 'settleRequest',
    method: 'POST',
    scope: 'credit',
    paths: staffPaths('requests/{request_id}/settle'),
    summary:
      "Settle an unresolved or provisional request at the provider's cost. The charge is the cost plus the fee of its hold.",
    body: z.strictObject({ cost: costField }),
    example: { cost: '0.000123' },
    answers: { 200: requestShape },
    problems: ['not_found', 'request_not_settleable'],
    async run({ by, param, body: { cost: costUsd } }) {
      const requestId = param('request_id')
      const held = await getRequest(store.db, requestId)
      if (held === null) throw await noRequest(store, requestId)
      const chargeMicros = chargeForStatedCost(costUsd, held.feeBasisPoints)
      if (chargeMicros === null) {
        throw invalidParameter('cost', '`cost` is too large.')
      }
      const correction = { kind: 'final', chargeMicros, costUsd } as const
      const corrected = await ledger.correct({ requestId, correction }, by)
      switch (corrected.kind) {
        case 'corrected': {
          const row = await getRequest(store.db, requestId)
          if (row === null) throw await noRequest(store, requestId)
          return requestAnswer(row)
        }
        case 'unchanged':
          throw new Problem('request_not_settleable', {
            message: `The request is ${corrected.state}. Only an unresolved or provisional request can be settled.`,
          })
        case 'unknownRequest':
          throw await noRequest(store, requestId)
        default:
          return assertNever(corrected)
      }
    },
  })
}

const tokens = z.int()

const usageShape = z.object({
  input_tokens: tokens,
  cache_read_tokens: tokens,
  cache_write_tokens: tokens,
  cache_write_long_tokens: tokens,
  output_tokens: tokens,
  reasoning_tokens: tokens,
  image_output_tokens: tokens,
  searches: z.int().describe('The number of web searches.'),
})

/** A request in Activity, with its hold, cost and charge. */
export const requestShape = z
  .object({
    id: idField('req'),
    object: z.literal('request'),
    account_id: idField('acct'),
    key_id: idField('key'),
    endpoint: z.string(),
    upstream: z.string(),
    model: z.string(),
    stream: z.boolean().describe('Whether the client asked for a stream.'),
    state: z.enum(REQUEST_STATES),
    http_status: z.int().nullable(),
    error_code: z.string().nullable(),
    hold: moneyField.describe('The hold of the request, in micro-dollars.'),
    held: moneyField.describe('The part of the hold that is still held, in micro-dollars.'),
    charge: moneyField.describe('The charge with corrections, in micro-dollars.'),
    margin: moneyField
      .nullable()
      .describe(
        "The paid charge less the provider's cost, in micro-dollars, rounded half up; of an estimated charge, less the estimated cost. Null: the cost is not known.",
      ),
    provider_cost: z
      .string()
      .nullable()
      .describe("The provider's cost in dollars, an exact decimal; null: not known."),
    uncharged_provider_cost: z
      .string()
      .nullable()
      .describe(
        'The amount that the provider billed for a released request, in dollars. It is never charged; null: none is known.',
      ),
    fee_basis_points: feeShape.describe(
      "The platform fee of its hold and charge, in hundredths of a percent of the provider's cost.",
    ),
    overrun: moneyField.describe('The part of the charge above the hold, in micro-dollars.'),
    estimated: z
      .boolean()
      .describe('Whether the charge is an estimate, because the provider reported no cost.'),
    usage: usageShape.nullable().describe('Token counts; null: the provider reported none.'),
    generation_id: z
      .string()
      .nullable()
      .describe("The provider's ID of the generation; null: it has sent none."),
    price_snapshot: z.string(),
    tags: z
      .array(z.string())
      .describe(
        `The tags that its client sent in the header \`${TAGS_HEADER}\`, by which usage can be grouped.`,
      ),
    opened_at: timeField,
    first_byte_at: timeField.nullable(),
    ended_at: timeField
      .nullable()
      .describe('When the attempt at the upstream ended; null: it is still running.'),
    settled_at: timeField.nullable(),
  })
  .meta({ id: 'Request' })

/** A request as responses have it. */
export function requestAnswer(row: RequestRow): z.infer<typeof requestShape> {
  return {
    id: row.id,
    object: 'request',
    account_id: row.accountId,
    key_id: row.apiKeyId,
    endpoint: row.endpoint,
    upstream: row.upstream,
    model: row.modelId,
    stream: row.stream,
    state: row.state,
    http_status: row.httpStatus,
    error_code: row.errorCode,
    hold: row.backedGrantedMicros + row.freeGrantedMicros,
    held: row.backedHeldMicros + row.freeHeldMicros,
    charge: chargedMicros(row),
    margin: marginOf(row),
    provider_cost: row.costUsd,
    uncharged_provider_cost: row.lateCostUsd,
    fee_basis_points: row.feeBasisPoints,
    overrun: overrunMicros(row),
    estimated: isEstimated(row),
    usage: row.usage === null ? null : usageAnswer(row.usage),
    generation_id: row.generationId,
    price_snapshot: row.priceSnapshotId,
    tags: [...(row.tags ?? [])],
    opened_at: timeAnswer(row.openedAtMs),
    first_byte_at: timeOrNull(row.firstByteAtMs),
    ended_at: timeOrNull(row.endedAtMs),
    settled_at: timeOrNull(row.settledAtMs),
  }
}

function isEstimated({ state, costUsd }: RequestRow): boolean {
  return costUsd === null && (state === 'provisional' || state === 'final')
}

function usageAnswer(usage: TokenUsage): z.infer<typeof usageShape> {
  return {
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    cache_write_long_tokens: usage.cacheWriteLongTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    image_output_tokens: usage.imageOutputTokens,
    searches: usage.searches,
  }
}

/** A page of a search for requests. */
export const foundShape = listShape(requestShape).extend({
  searched_back_to: timeField
    .nullable()
    .describe(
      'Set if few requests match: the search has reached this time with fewer rows than `limit`, and `next_cursor` continues it. Otherwise null.',
    ),
})

function foundAnswer({ requests, nextCursor, searchedBackToMs }: FoundRequests) {
  return {
    ...listAnswer(requests.map(requestAnswer), idCursor('requests', nextCursor)),
    searched_back_to: timeOrNull(searchedBackToMs),
  }
}
