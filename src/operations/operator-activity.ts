import type { Kysely } from 'kysely'
import { z } from 'zod'
import { type FoundRequests, searchRequests } from '../ledger/activity/search-requests.ts'
import { getNamedKeys } from '../ledger/api-keys.ts'
import type { Tables } from '../store/schema.ts'
import { idCursor, idFilterField, listAnswer, pageQuery, timeOrNull } from './fields.ts'
import { type OperationParts, operation } from './operation.ts'
import {
  filterOf,
  foundShape,
  readsOf,
  requestAnswer,
  requestFilters,
  requestShape,
} from './requests.ts'
import { readNames } from './usage-names.ts'

/** Activity of all accounts, for operators on the page. */
export function operatorActivityOperations({ store }: OperationParts) {
  return [
    operation({
      name: 'listOperatorRequests',
      method: 'GET',
      paths: { operator: '/app/api/operator/requests' },
      summary:
        'Requests of all accounts or of one, newest first, with the names of account and key.',
      query: pageQuery('requests', {
        account: idFilterField('acct').optional(),
        ...requestFilters,
      }),
      answers: { 200: foundNamedShape },
      async run({ reader, query }) {
        const { limit, cursor = null, account } = query
        const filter = {
          ...filterOf(query),
          ...(account === undefined ? {} : { accountId: account }),
        }
        const db = readsOf(filter, store)(reader)
        const found = await searchRequests(db, { limit, cursor, ...filter })
        return { httpStatus: 200, body: await namedAnswer(db, found) }
      },
    }),
  ]
}

/** A request in a list of all accounts. */
export const namedRequestShape = requestShape
  .extend({
    account_name: z.string().nullable(),
    key_name: z.string().nullable(),
    key_deleted: z.boolean(),
  })
  .meta({ id: 'NamedRequest' })

const foundNamedShape = foundShape.extend({ data: z.array(namedRequestShape) })

async function namedAnswer(
  db: Kysely<Tables>,
  { requests, nextCursor, searchedBackToMs }: FoundRequests,
): Promise<z.infer<typeof foundNamedShape>> {
  const accountNames = await readNames(
    db,
    'accounts',
    requests.map(({ accountId }) => accountId),
  )
  const apiKeyIds = [...new Set(requests.map(({ apiKeyId }) => apiKeyId))]
  const apiKeys = await getNamedKeys(db, { accountId: null, apiKeyIds })
  const rows = requests.map((row) => {
    const apiKey = apiKeys.get(row.apiKeyId)
    return {
      ...requestAnswer(row),
      account_name: accountNames.get(row.accountId) ?? null,
      key_name: apiKey?.name ?? null,
      key_deleted: apiKey === undefined || apiKey.deletedAtMs !== null,
    }
  })
  return {
    ...listAnswer(rows, idCursor('requests', nextCursor)),
    object: 'list',
    data: rows,
    searched_back_to: timeOrNull(searchedBackToMs),
  }
}
