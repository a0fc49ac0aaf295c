import { z } from 'zod'
import { listApiKeys } from '../ledger/api-keys.ts'
import { filterField, idCursor, idField, listAnswer, listShape, pageQuery } from './fields.ts'
import { type OperationParts, operation } from './operation.ts'
import { readNames } from './usage-names.ts'

/** API keys of all accounts by their names, for operators on the page. */
export function findKeyOperations({ store }: OperationParts) {
  return [
    operation({
      name: 'findKeys',
      method: 'GET',
      paths: { operator: '/app/api/operator/keys' },
      summary: 'API keys of all accounts, newest first, without deleted ones.',
      query: pageQuery('keys', {
        search: filterField
          .max(200, 'must be at most 200 characters')
          .optional()
          .describe('A part of a name, a prefix or an ID.'),
      }),
      answers: { 200: listShape(foundKeyShape) },
      async run({ reader, query: { limit, cursor = null, search } }) {
        const db = store.pages(reader)
        const page = await listApiKeys(db, { accountId: null, search, limit, cursor })
        const accountIds = page.apiKeys.map(({ accountId }) => accountId)
        const accountNames = await readNames(db, 'accounts', accountIds)
        const rows = page.apiKeys.map(({ id, accountId, name, displayPrefix }) => ({
          id,
          object: 'found_key' as const,
          account_id: accountId,
          account_name: accountNames.get(accountId) ?? null,
          name,
          prefix: displayPrefix,
        }))
        return { httpStatus: 200, body: listAnswer(rows, idCursor('keys', page.nextCursor)) }
      },
    }),
  ]
}

const foundKeyShape = z
  .object({
    id: idField('key'),
    object: z.literal('found_key'),
    account_id: idField('acct'),
    account_name: z.string().nullable(),
    name: z.string(),
    prefix: z
      .string()
      .describe('The first and last characters of the key; empty for a key of the Playground.'),
  })
  .meta({ id: 'FoundKey' })
