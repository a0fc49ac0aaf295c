import { z } from 'zod'
import { getRequest, listRequests } from '../ledger/activity/activity.ts'
import { prunedUntilMs } from '../ledger/activity/prune-requests.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { chargeForSaidCost } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { REQUEST_STATES } from '../vocabulary/request-state.ts'
import { timeAnswer } from './answers/fields.ts'
import { listAnswer, listShape } from './answers/list.ts'
import { requestAnswer, requestShape } from './answers/request.ts'
import { notFound } from './not-found.ts'
import { type Operation, operation } from './operation.ts'
import type { OperationParts } from './operation-parts.ts'
import {
  costField,
  filterField,
  idCursor,
  idFilterField,
  momentField,
  pageQuery,
} from './request-fields.ts'

/** The Activity of all accounts. */
export function requestOperations(parts: OperationParts): readonly Operation[] {
  return [list(parts), show(parts), settle(parts)]
}

// A request that was refused has no record, and a settled one is pruned some day.
async function noRequest({ reports }: OperationParts['store'], requestId: string): Promise<Problem> {
  const problem = notFound('request that opened a hold', requestId)
  const untilMs = await prunedUntilMs(reports, requestId)
  if (untilMs === null) return problem
  const pruned = `Requests that were settled up to ${timeAnswer(untilMs)} have been pruned.`
  return new Problem('not_found', { message: `${problem.message} ${pruned}` })
}

function list({ store }: OperationParts): Operation {
  return operation({
    name: 'listRequests',
    method: 'GET',
    paths: { admin: '/v1/admin/requests' },
    summary: 'Requests, newest first.',
    query: pageQuery('requests', {
      account: idFilterField('acct').optional(),
      key: idFilterField('key').optional(),
      state: z.enum(REQUEST_STATES).optional(),
      model: filterField.optional(),
      since: momentField.optional().describe('Opened at this moment or later.'),
      until: momentField.optional().describe('Opened before this moment.'),
    }),
    answers: { 200: listShape(requestShape) },
    async run({ query: { limit, cursor, account, key: apiKeyId, state, model, since, until } }) {
      const { requests, nextCursor } = await listRequests(store.reports, {
        limit,
        cursor: cursor ?? null,
        ...(account === undefined ? {} : { accountId: account }),
        ...(apiKeyId === undefined ? {} : { apiKeyId }),
        ...(state === undefined ? {} : { state }),
        ...(model === undefined ? {} : { modelId: model }),
        ...(since === undefined ? {} : { sinceMs: since }),
        ...(until === undefined ? {} : { untilMs: until }),
      })
      const next = idCursor('requests', nextCursor)
      return { httpStatus: 200, body: listAnswer(requests.map(requestAnswer), next) }
    },
  })
}

function show({ store }: OperationParts): Operation {
  return operation({
    name: 'getRequest',
    method: 'GET',
    paths: { admin: '/v1/admin/requests/{request_id}' },
    summary: 'One request with its hold, cost and charge.',
    answers: { 200: requestShape },
    problems: ['not_found'],
    async run({ param }) {
      const requestId = param('request_id')
      const row = await getRequest(store.db, requestId)
      if (row === null) throw await noRequest(store, requestId)
      return { httpStatus: 200, body: requestAnswer(row) }
    },
  })
}

function settle({ store, books }: OperationParts): Operation {
  return operation({
    name: 'settleRequest',
    method: 'POST',
    paths: { admin: '/v1/admin/requests/{request_id}/settle' },
    summary:
      "Settle an unresolved or provisional request by the provider's cost; the charge is the cost plus the fee.",
    body: z.strictObject({ cost: costField }),
    example: { cost: '0.000123' },
    answers: { 200: requestShape },
    problems: ['not_found', 'request_not_settleable'],
    async run({ param, body: { cost: costUsd } }) {
      const chargeMicros = chargeForSaidCost(costUsd)
      if (chargeMicros === null) {
        throw new Problem('invalid_parameter', { message: '`cost` is too large.', param: 'cost' })
      }
      const requestId = param('request_id')
      const corrected = await books.correct({
        requestId,
        correction: { kind: 'final', chargeMicros, costUsd },
      })
      switch (corrected.kind) {
        case 'corrected': {
          const row = await getRequest(store.db, requestId)
          if (row === null) throw await noRequest(store, requestId)
          return { httpStatus: 200, body: requestAnswer(row) }
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
