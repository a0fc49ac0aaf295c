import type { Kysely } from 'kysely'
import { z } from 'zod'
import { getRequest } from '../../ledger/activity/activity.ts'
import { searchRequests } from '../../ledger/activity/search-requests.ts'
import { getNamedKeys, listApiKeys } from '../../ledger/api-keys.ts'
import type { RequestRow, Tables } from '../../store/schema.ts'
import {
  idCursor,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  pageQuery,
  searchField,
  timeOrNull,
} from '../fields.ts'
import { noRequest } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { readNames } from '../usage/usage-names.ts'
import {
  filterOf,
  foundShape,
  operatorFilters,
  readsOf,
  requestAnswer,
  requestShape,
} from './requests.ts'

/** Activity of all accounts, and their API keys by name, for operators on the page. */
export function operatorActivityOperations(parts: OperationParts) {
  const { store } = parts
  return [
    operation({
      name: 'listOperatorRequests',
      method: 'GET',
      paths: { operator: '/app/api/operator/requests' },
      summary:
        'Requests of all accounts or of one, newest first, with the names of account and key.',
      query: pageQuery('requests', {
        account: idFilterField('acct').optional(),
        ...operatorFilters,
      }),
      answers: { 200: foundNamedShape },
      async run({ reader, query }) {
        const { limit, cursor = null, account } = query
        const filter = { ...filterOf(query), accountId: account }
        const db = readsOf(filter, store)(reader)
        const found = await searchRequests(db, { limit, cursor, ...filter })
        const rows = await namedRows(db, found.requests)
        const list = listAnswer(rows, idCursor('requests', found.nextCursor))
        return { ...list, searched_back_to: timeOrNull(found.searchedBackToMs) }
      },
    }),
    operation({
      name: 'getOperatorRequest',
      method: 'GET',
      paths: { operator: '/app/api/operator/requests/{request_id}' },
      summary: 'One request with its hold, cost and charge, and the names of account and key.',
      answers: { 200: namedRequestShape },
      problems: ['not_found'],
      async run({ reader, param }) {
        const db = store.pages(reader)
        const row = await getRequest(db, param('request_id'))
        const [body] = row === null ? [] : await namedRows(db, [row])
        if (body === undefined) throw await noRequest(store, param('request_id'))
        return body
      },
    }),
    findKeys(parts),
  ]
}

/** A request in a list of all accounts. */
const namedRequestShape = requestShape
  .extend({
    account_name: z.string().nullable(),
    key_name: z.string().nullable(),
    key_deleted: z.boolean(),
  })
  .meta({ id: 'NamedRequest' })

const foundNamedShape = foundShape.extend({ data: z.array(namedRequestShape) })

async function namedRows(
  db: Kysely<Tables>,
  requests: readonly RequestRow[],
): Promise<z.infer<typeof namedRequestShape>[]> {
  const accountNames = await readNames(
    db,
    'accounts',
    requests.map(({ accountId }) => accountId),
  )
  const apiKeyIds = [...new Set(requests.map(({ apiKeyId }) => apiKeyId))]
  const apiKeys = await getNamedKeys(db, { accountId: null, apiKeyIds })
  return requests.map((row) => {
    const apiKey = apiKeys.get(row.apiKeyId)
    return {
      ...requestAnswer(row),
      account_name: accountNames.get(row.accountId) ?? null,
      key_name: apiKey?.name ?? null,
      key_deleted: apiKey === undefined || apiKey.deletedAtMs !== null,
    }
  })
}

function findKeys({ store }: OperationParts) {
  return operation({
    name: 'findKeys',
    method: 'GET',
    paths: { operator: '/app/api/operator/keys' },
    summary: 'API keys of all accounts, newest first; deleted keys are left out.',
    query: pageQuery('keys', {
      search: searchField.describe('Text that the name, the prefix or the ID of a key contains.'),
    }),
    answers: { 200: listShape(foundKeyShape) },
    async run({ reader, query: { limit, cursor = null, search } }) {
      const db = store.pages(reader)
      const page = await listApiKeys(db, { accountId: null, search, limit, cursor })
      const accountIds = page.rows.map(({ accountId }) => accountId)
      const accountNames = await readNames(db, 'accounts', accountIds)
      const answers = page.rows.map(({ id, accountId, name, displayPrefix }) => ({
        id,
        object: 'found_key' as const,
        account_id: accountId,
        account_name: accountNames.get(accountId) ?? null,
        name,
        prefix: displayPrefix,
      }))
      return listAnswer(answers, idCursor('keys', page.nextCursor))
    },
  })
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
