import { z } from 'zod'
import type { Gate } from '../../journey/gate/gate.ts'
import { getAccount } from '../../ledger/accounts.ts'
import {
  createApiKey,
  getApiKey,
  getLastUses,
  hasText,
  listApiKeys,
  rotateApiKey,
} from '../../ledger/api-keys.ts'
import type { ApiKeyRow } from '../../store/schema.ts'
import { type Caller, isMember, mayOpen } from '../caller.ts'
import { given, hasOnly } from '../check-input.ts'
import {
  amountField,
  futureField,
  idCursor,
  idField,
  listAnswer,
  listShape,
  nameField,
  pageQuery,
  searchField,
} from '../fields.ts'
import { foundAccount, notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { accountPaths, sharedPaths } from '../paths.ts'
import { apiKeyAnswer, apiKeyShape, createdApiKeyShape } from './api-key-answer.ts'
import {
  allowanceGate,
  countAllowance,
  limitChanges,
  limitFields,
  refuseRaisedLimits,
} from './limits.ts'
import { metadataField } from './metadata.ts'
import { modelListsOf, modelsField } from './model-lists.ts'

const ALL_KEYS = accountPaths('/keys')
const ONE_KEY = sharedPaths('keys/{key_id}')

const GRACE_SECONDS_DEFAULT = 86_400
const GRACE_SECONDS_MAX = 604_800

/** API keys. */
export function apiKeyOperations(parts: OperationParts) {
  return [create(parts), list(parts), show(parts), change(parts), rotate(parts), remove(parts)]
}

function create(parts: OperationParts) {
  const { ledger, ids, clock, keyTag, keyLimits } = parts
  return operation({
    name: 'createKey',
    method: 'POST',
    scope: 'keys',
    paths: ALL_KEYS,
    summary: 'Create an API key. Its text is returned only in this answer.',
    body: z.strictObject({
      name: nameField,
      credit_limit: amountField
        .nullish()
        .describe(
          'The maximum that the key can spend in total, in micro-dollars. Absent or null: no limit.',
        ),
      expires_at: futureField(clock)
        .nullish()
        .describe('When the key expires. Absent or null: never.'),
      models: modelsField,
      ...limitFields,
      metadata: metadataField,
    }),
    example: { name: 'laptop', credit_limit: 10_000_000 },
    asksMembers: true,
    answers: { 201: createdApiKeyShape },
    problems: ['not_found'],
    async run({ caller, accountId, by, body }) {
      refuseRaisedLimits(caller, body, { defaults: keyLimits, own: null })
      const made = {
        id: ids.next('key'),
        accountId,
        name: body.name,
        keyTag,
        creditLimitMicros: body.credit_limit ?? null,
        expiresAtMs: body.expires_at ?? null,
        ...modelListsOf(body.models),
        ...limitChanges(body, null),
        metadataJson: body.metadata ?? null,
        keysMax: isMember(caller) ? keyLimits.accountKeysMax : null,
      }
      const created = await createApiKey(ledger, made, by)
      if (created === null) throw notFound('account', accountId)
      const answer = await answerOf(parts, created.apiKey)
      return { ...answer, key: created.text }
    },
  })
}

function list({ store, clock, keyLimits }: OperationParts) {
  return operation({
    name: 'listKeys',
    method: 'GET',
    scope: 'read',
    paths: ALL_KEYS,
    summary: "The account's API keys, newest first; deleted keys are left out.",
    query: pageQuery('keys', {
      search: searchField.describe('Text that the name, the prefix or the ID of a key contains.'),
    }),
    answers: { 200: listShape(apiKeyShape) },
    problems: ['not_found'],
    async run({ reader, caller, accountId, query: { limit, cursor, search } }) {
      const account = await foundAccount(readsFor({ caller, reader }, store), accountId)
      const reads = store.pages(reader)
      const page = await listApiKeys(reads, { accountId, search, limit, cursor })
      const ids = page.rows.map(({ id }) => id)
      const usedAtMs = await getLastUses(reads, ids)
      const nowMs = clock.nowMs()
      const answers = page.rows.map((each) =>
        apiKeyAnswer(each, {
          usedAtMs: usedAtMs.get(each.id) ?? null,
          isSuspended: account.disabled,
          nowMs,
          defaults: keyLimits,
        }),
      )
      return listAnswer(answers, idCursor('keys', page.nextCursor))
    },
  })
}

function show(parts: OperationParts) {
  return operation({
    name: 'getKey',
    method: 'GET',
    scope: 'read',
    paths: ONE_KEY,
    summary: 'One API key.',
    answers: { 200: apiKeyShape },
    problems: ['not_found'],
    async run(call) {
      const apiKey = await namedKey(parts.store, call)
      return await answerOf(parts, apiKey)
    },
  })
}

function change(parts: OperationParts) {
  const { store, ledger, clock, onCallersChanged, keyLimits } = parts
  // Lists of operations are also made without a process, only to read their descriptions.
  let allowances: Gate | null = null
  return operation({
    name: 'changeKey',
    method: 'PATCH',
    scope: 'keys',
    paths: ONE_KEY,
    summary: 'Change the given fields of an API key; null removes a limit or an expiry.',
    body: z.strictObject({
      name: nameField.optional(),
      disabled: z.boolean().optional(),
      credit_limit: amountField.nullable().optional(),
      expires_at: futureField(clock)
        .nullable()
        .optional()
        .describe('When the key expires; null: never.'),
      models: modelsField,
      ...limitFields,
      metadata: metadataField,
    }),
    example: { credit_limit: 20_000_000 },
    isHarmless: ({ disabled, ...rest }) =>
      disabled !== false && hasOnly(rest, ['name', 'metadata']),
    answers: { 200: apiKeyShape },
    problems: ['not_found'],
    async run(call) {
      const { body } = call
      const row = await namedKey(store, call)
      refuseRaisedLimits(call.caller, body, { defaults: keyLimits, own: row })
      allowances ??= allowanceGate(clock)
      countAllowance(allowances, call.caller, body)
      const apiKeyId = row.id
      const changes = {
        id: apiKeyId,
        ...given({
          name: body.name,
          disabled: body.disabled,
          creditLimitMicros: body.credit_limit,
          expiresAtMs: body.expires_at,
          ...modelListsOf(body.models),
          ...limitChanges(body, row),
          metadataJson: body.metadata,
        }),
      }
      const apiKey = await ledger.updateApiKey(changes, call.by)
      if (apiKey === null) throw notFound('API key', apiKeyId)
      await onCallersChanged({ apiKeyId })
      return await answerOf(parts, apiKey)
    },
  })
}

function rotate(parts: OperationParts) {
  const { store, ledger, keyTag, onCallersChanged } = parts
  return operation({
    name: 'rotateKey',
    method: 'POST',
    scope: 'keys',
    paths: sharedPaths('keys/{key_id}/rotate'),
    summary:
      'Rotate an API key: it gets a new text, which is returned only in this answer. The previous text works for `grace_seconds`, or until the next rotation.',
    body: z.strictObject({
      grace_seconds: z
        .int('must be whole seconds')
        .min(0, 'must be 0 or more')
        .max(GRACE_SECONDS_MAX, `must be at most ${GRACE_SECONDS_MAX}, a week`)
        .default(GRACE_SECONDS_DEFAULT)
        .describe(
          'How long the previous text still works, in seconds, at most a week. Default: 86400, a day. 0: it stops working at once.',
        ),
    }),
    example: { grace_seconds: 3_600 },
    asksMembers: true,
    answers: { 200: createdApiKeyShape },
    problems: ['not_found'],
    async run(call) {
      const row = await namedKey(store, call)
      const apiKeyId = row.id
      // The key of the Playground has no text that could be replaced.
      if (!hasText(row)) throw notFound('API key', apiKeyId)
      const graceMs = call.body.grace_seconds * 1_000
      const rotated = await rotateApiKey(ledger, { apiKeyId, keyTag, graceMs }, call.by)
      if (rotated === null) throw notFound('API key', apiKeyId)
      await onCallersChanged({ apiKeyId })
      const answer = await answerOf(parts, rotated.apiKey)
      return { ...answer, key: rotated.text }
    },
  })
}

function remove({ store, ledger, onCallersChanged }: OperationParts) {
  return operation({
    name: 'deleteKey',
    method: 'DELETE',
    scope: 'keys',
    paths: ONE_KEY,
    summary: 'Delete an API key. Its requests stay in Activity.',
    isHarmless: true,
    answers: {
      200: z.object({ id: idField('key'), object: z.literal('key'), deleted: z.literal(true) }),
    },
    problems: ['not_found'],
    async run(call) {
      const { id: apiKeyId } = await namedKey(store, call)
      const isDeleted = await ledger.deleteApiKey(apiKeyId, call.by)
      if (!isDeleted) throw notFound('API key', apiKeyId)
      await onCallersChanged({ apiKeyId })
      return { id: apiKeyId, object: 'key', deleted: true }
    },
  })
}

/** The key that a call names. Throws Problem `not_found`, for a member also if the key is another account's. */
async function namedKey(
  { db }: OperationParts['store'],
  { caller, param }: { readonly caller: Caller; param(name: string): string },
): Promise<ApiKeyRow> {
  const apiKeyId = param('key_id')
  const apiKey = await getApiKey(db, apiKeyId)
  if (apiKey === null || !mayOpen(caller, apiKey.accountId)) throw notFound('API key', apiKeyId)
  return apiKey
}

async function answerOf(
  { store: { db }, clock, keyLimits: defaults }: OperationParts,
  apiKey: ApiKeyRow,
): Promise<z.infer<typeof apiKeyShape>> {
  const usedAtMs = (await getLastUses(db, [apiKey.id])).get(apiKey.id) ?? null
  const account = await getAccount(db, apiKey.accountId)
  const isSuspended = account?.disabled ?? false
  return apiKeyAnswer(apiKey, { usedAtMs, isSuspended, defaults, nowMs: clock.nowMs() })
}
