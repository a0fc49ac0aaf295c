import { Readable } from 'node:stream'
import { z } from 'zod'
import {
  countHolds,
  heldByState,
  listWaiting,
  type WaitingRequest,
} from '../../ledger/activity/unsettled.ts'
import {
  type ActionFilter,
  listOperatorActions,
  type NamedAction,
} from '../../ledger/operator-actions.ts'
import { CSV_PAGE_ROWS, type CsvColumns, csvPages, dollarsCell } from '../csv.ts'
import {
  anyOf,
  filterField,
  formatField,
  idCursor,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  momentField,
  moneyField,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
  wantsCsv,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import { requestAnswer, requestShape } from '../requests/requests.ts'

/** The operations of operators on the page, in addition to those of admins. */
export function operatorDeskOperations(parts: OperationParts) {
  return [listActions(parts), listUnsettled(parts), showHealth(parts)]
}

const actionFilters = {
  account: idFilterField('acct').optional(),
  by: anyOf(filterField, 'must be at most 50 IDs')
    .optional()
    .describe(
      'IDs of users and of admin tokens, comma-separated: any of them. `ADMIN_API_TOKEN` stands for the token of the settings, and `command line` for commands of `tollgate`.',
    ),
  action: anyOf(filterField, 'must be at most 50 names')
    .optional()
    .describe('Names of operations such as `changeAccount`, comma-separated: any of them.'),
  field: anyOf(
    filterField.regex(/^[a-z][a-z0-9_]*$/),
    'must be at most 50 names of fields, such as fee_basis_points',
  )
    .optional()
    .describe(
      'Names of fields such as `fee_basis_points`, comma-separated: changes that set or removed any of them.',
    ),
  since: momentField.optional().describe('Only changes that were recorded at this time or later.'),
  until: momentField.optional().describe('Only changes that were recorded before this time.'),
}

function listActions({ store }: OperationParts) {
  return operation({
    name: 'listOperatorActions',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('actions'),
    summary:
      'The audit log, newest first: changes by operators on the page, by admin tokens and by commands, and sign-ins of operators; JSON or CSV. CSV has all of them.',
    query: pageQuery('actions', {
      ...actionFilters,
      format: formatField,
    }),
    answers: { 200: listShape(operatorActionShape) },
    async run({
      reader,
      query: { limit, cursor = null, account, by, action, field, since, until, format },
      acceptsCsv,
    }) {
      const range = { sinceMs: since, untilMs: until }
      const filter = { accountId: account, actorIds: by, actions: action, fields: field, ...range }
      if (wantsCsv(format, acceptsCsv)) {
        return Readable.from(actionCsv(store.pages(reader), filter))
      }
      const page = await listOperatorActions(store.pages(reader), { limit, cursor, ...filter })
      return listAnswer(page.rows.map(actionAnswer), idCursor('actions', page.nextCursor))
    },
  })
}

const CSV_COLUMNS: CsvColumns<NamedAction & ReturnType<typeof fieldsOfAction>> = {
  id: ({ id }) => id,
  created_at: ({ createdAtMs }) => timeAnswer(createdAtMs),
  by: ({ userId, tokenId }) => userId ?? tokenId,
  by_name: ({ userName, tokenName }) => userName ?? tokenName,
  by_email: ({ userEmail }) => userEmail,
  action: ({ action }) => action,
  account_id: ({ accountId }) => accountId,
  target_id: ({ targetId }) => targetId,
  amount: ({ amountMicros }) => (amountMicros === null ? null : dollarsCell(amountMicros)),
  detail: ({ detail }) => JSON.stringify(detail),
  before: ({ before }) => (before === null ? null : JSON.stringify(before)),
}

/** The audit log as CSV, newest first. */
function actionCsv(
  db: ReturnType<OperationParts['store']['pages']>,
  filter: ActionFilter,
): AsyncGenerator<string> {
  return csvPages(CSV_COLUMNS, async (cursor: string | null) => {
    const page = await listOperatorActions(db, { ...filter, cursor, limit: CSV_PAGE_ROWS })
    const rows = page.rows.map((row) => ({ ...row, ...fieldsOfAction(row) }))
    return { rows, next: page.nextCursor }
  })
}

const actionFields = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())

/** Something that an operator changed on the page, or an admin by token. */
export const operatorActionShape = z
  .object({
    id: idField('act'),
    object: z.literal('operator_action'),
    user_id: idField('user')
      .nullable()
      .describe('The `id` of the operator; null: an admin token or a command made the change.'),
    user_name: z
      .string()
      .nullable()
      .describe(
        'The operator; of a failed sign-in, the operator whose email address was used. Null: an admin token or a command made the change.',
      ),
    user_email: z
      .string()
      .nullable()
      .describe('The email address of that operator, as it is now. Null: as for `user_name`.'),
    token_id: idField('atok')
      .nullable()
      .describe('The `id` of the admin token; null: the change was made without one.'),
    token_name: z
      .string()
      .nullable()
      .describe(
        'The admin token; without an ID, `ADMIN_API_TOKEN` or, for a command of `tollgate`, `command line`. Null: an operator made the change on the page.',
      ),
    action: z
      .string()
      .describe(
        'The name of the operation; `signIn` and `failedSignIn` for sign-ins of operators.',
      ),
    account_id: idField('acct')
      .nullable()
      .describe('The account that was changed; null: the change concerns no single account.'),
    account_name: z.string().nullable().describe('The name of that account; null: there is none.'),
    target_id: z
      .string()
      .nullable()
      .describe('The ID of the object that was changed or created; null: there is none.'),
    amount: moneyField
      .nullable()
      .describe('The amount that was added, removed or set, in micro-dollars; null: none.'),
    detail: actionFields.describe('The fields that were given, with their values.'),
    before: actionFields
      .nullable()
      .describe(
        'The earlier values of these fields, the `balance` of the purse before credit, and the `charge` of a request before it was settled; null: not recorded.',
      ),
    created_at: timeField,
  })
  .meta({ id: 'OperatorAction' })

const storedShape = z.looseObject({ before: actionFields.optional() })

/** The given fields, and their values before. Throws if the record is not valid. */
export function fieldsOfAction({
  detailJson,
}: NamedAction): Pick<z.infer<typeof operatorActionShape>, 'detail' | 'before'> {
  const { before = null, ...detail } = storedShape.parse(JSON.parse(detailJson))
  return { detail: actionFields.parse(detail), before }
}

function actionAnswer(row: NamedAction): z.infer<typeof operatorActionShape> {
  return {
    id: row.id,
    object: 'operator_action',
    user_id: row.userId,
    user_name: row.userName,
    user_email: row.userEmail,
    token_id: row.tokenId,
    token_name: row.tokenName,
    action: row.action,
    account_id: row.accountId,
    account_name: row.accountName,
    target_id: row.targetId,
    amount: row.amountMicros,
    ...fieldsOfAction(row),
    created_at: timeAnswer(row.createdAtMs),
  }
}

function listUnsettled({ store, server }: OperationParts) {
  return operation({
    name: 'listUnsettledRequests',
    method: 'GET',
    paths: { operator: '/app/api/operator/unsettled' },
    summary: 'Unsettled requests of all accounts, the oldest first.',
    query: pageQuery('unsettled', {}),
    answers: { 200: listShape(unsettledRequestShape) },
    async run({ reader, query: { limit, cursor } }) {
      if (server === null) throw new TypeError('the process serves nothing')
      const page = await listWaiting(store.pages(reader), { limit, cursor })
      const answers = page.rows.map((row) => unsettledAnswer(row, server.scheduleOf))
      return listAnswer(answers, idCursor('unsettled', page.nextCursor))
    },
  })
}

/** An unsettled request. */
const unsettledRequestShape = requestShape
  .extend({
    account_name: z.string(),
    next_lookup_by: timeField
      .nullable()
      .describe(
        'The latest time at which the provider is asked for its cost again; null: its cost cannot be looked up.',
      ),
    stands_at: timeField.describe(
      'When its charge becomes final, or its hold is released, unless the provider reports a cost before then; later if the provider does not answer.',
    ),
  })
  .meta({ id: 'UnsettledRequest' })

function unsettledAnswer(
  row: WaitingRequest,
  scheduleOf: NonNullable<OperationParts['server']>['scheduleOf'],
): z.infer<typeof unsettledRequestShape> {
  const { generationId, openedAtMs, endedAtMs } = row
  const state = row.state === 'provisional' ? row.state : 'unresolved'
  const request = { state, generationId, endedAtMs: endedAtMs ?? openedAtMs } as const
  const { standsAtMs, nextLookupAtMs } = scheduleOf(request, row.upstream)
  return {
    ...requestAnswer(row),
    account_name: row.accountName,
    next_lookup_by: timeOrNull(nextLookupAtMs),
    stands_at: timeAnswer(standsAtMs),
  }
}

function showHealth({ store, server, clock }: OperationParts) {
  return operation({
    name: 'getHealth',
    method: 'GET',
    paths: { operator: '/app/api/operator/health' },
    summary: 'The state of the process, its catalog and unsettled holds.',
    answers: { 200: healthShape },
    async run({ reader }) {
      if (server === null) throw new TypeError('the process serves nothing')
      const { refreshedAtMs, ...catalog } = server.catalog()
      const holds = await countHolds(store.pages(reader))
      const held = await heldByState(store.pages(reader))
      const checks = server.checks()
      const verification = server.verification()
      return {
        object: 'health',
        version: server.version,
        mode: server.mode,
        store: store.location.kind,
        ready: checks.every(({ fault }) => fault === null),
        checks: checks.map(({ name, fault, warning }) => ({
          name,
          ok: fault === null,
          message: fault ?? warning ?? null,
        })),
        catalog: {
          models: catalog.models,
          refreshed_at: timeOrNull(refreshedAtMs),
          doubted: [...catalog.doubtedIds],
          fee_basis_points: leastAndMost(
            server.catalogRows().map(({ offer }) => offer.feeBasisPoints),
          ),
        },
        costs: {
          lookups: verification.lookups,
          doubted: [...verification.doubted],
          key_usage_agrees: verification.keyUsageAgrees,
        },
        holds: holds.map(({ state, holds: count, oldestOpenedAtMs }) => ({
          state,
          requests: count,
          held: held.get(state) ?? 0,
          oldest_opened_at: timeOrNull(oldestOpenedAtMs),
        })),
        as_of: timeAnswer(clock.nowMs()),
      } satisfies z.infer<typeof healthShape>
    },
  })
}

function leastAndMost(values: readonly number[]): { least: number; most: number } | null {
  return values.length === 0 ? null : { least: Math.min(...values), most: Math.max(...values) }
}

/** The state of a process and its store. */
const healthShape = z
  .object({
    object: z.literal('health'),
    version: z.string(),
    mode: z.enum(['simulator', 'live']),
    store: z.enum(['sqlite', 'postgres']),
    ready: z.boolean(),
    checks: z.array(
      z.object({ name: z.string(), ok: z.boolean(), message: z.string().nullable() }),
    ),
    catalog: z.object({
      models: z.int(),
      refreshed_at: timeField.nullable(),
      doubted: z.array(z.string()),
      fee_basis_points: z
        .object({ least: z.int(), most: z.int() })
        .nullable()
        .describe(
          'The platform fees of models, in hundredths of a percent, which accounts without their own fee are charged. Null: no model is offered.',
        ),
    }),
    costs: z
      .object({
        lookups: z.enum(['verify', 'all']).describe('`TOLLGATE_LOOKUPS`.'),
        doubted: z
          .array(z.string())
          .describe(
            'The models and endpoints whose reported costs are all looked up, because one was wrong.',
          ),
        key_usage_agrees: z
          .boolean()
          .nullable()
          .describe(
            "Whether the usage of the provider's key rose by the booked costs; null: it was not compared.",
          ),
      })
      .describe("How reported costs are compared with the provider's records."),
    holds: z.array(
      z.object({
        state: z.enum(['open', 'provisional', 'unresolved']),
        requests: z.int(),
        held: moneyField,
        oldest_opened_at: timeField.nullable(),
      }),
    ),
    as_of: timeField,
  })
  .meta({ id: 'Health' })
