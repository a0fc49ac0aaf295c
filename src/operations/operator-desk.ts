import { z } from 'zod'
import { listOperatorActions, type NamedAction } from '../ledger/operator-actions.ts'
import {
  idCursor,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  moneyField,
  pageQuery,
  timeAnswer,
  timeField,
} from './fields.ts'
import { type Operation, type OperationParts, operation } from './operation.ts'

/** What operators have on the page beside the operations of admins. */
export function operatorDeskOperations(parts: OperationParts): readonly Operation[] {
  return [listActions(parts)]
}

function listActions({ store }: OperationParts): Operation {
  return operation({
    name: 'listOperatorActions',
    method: 'GET',
    paths: { operator: '/app/api/operator/actions' },
    summary: 'What operators changed on the page, newest first.',
    query: pageQuery('actions', { account: idFilterField('acct').optional() }),
    answers: { 200: listShape(operatorActionShape) },
    async run({ query: { limit, cursor, account } }) {
      const page = { limit, cursor: cursor ?? null, accountId: account ?? null }
      const { actions, nextCursor } = await listOperatorActions(store.pages, page)
      const next = idCursor('actions', nextCursor)
      return { httpStatus: 200, body: listAnswer(actions.map(actionAnswer), next) }
    },
  })
}

/** Something that an operator changed on the page. */
export const operatorActionShape = z
  .object({
    id: idField('act'),
    object: z.literal('operator_action'),
    user_id: idField('user'),
    user_name: z.string(),
    action: z.string().describe('The name of the operation.'),
    account_id: idField('acct').nullable(),
    target_id: z.string().nullable().describe('The id of what was changed or made.'),
    amount: moneyField.nullable(),
    detail: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())
      .describe('The fields that were given.'),
    created_at: timeField,
  })
  .meta({ id: 'OperatorAction' })

const detailShape = operatorActionShape.shape.detail

function actionAnswer(row: NamedAction): z.infer<typeof operatorActionShape> {
  return {
    id: row.id,
    object: 'operator_action',
    user_id: row.userId,
    user_name: row.userName,
    action: row.action,
    account_id: row.accountId,
    target_id: row.targetId,
    amount: row.amountMicros,
    detail: detailShape.parse(JSON.parse(row.detailJson)),
    created_at: timeAnswer(row.createdAtMs),
  }
}
