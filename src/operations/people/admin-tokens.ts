import { z } from 'zod'
import {
  createAdminToken,
  listAdminTokens,
  revokeAdminToken,
  scopesOf,
} from '../../people/admin-tokens.ts'
import type { AdminTokenRow } from '../../store/people-tables.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { ADMIN_SCOPES } from '../../vocabulary/role.ts'
import { type Caller, requireScope } from '../caller.ts'
import {
  idCursor,
  idField,
  listAnswer,
  listShape,
  nameField,
  pageQuery,
  timeAnswer,
  timeField,
  timeOrNull,
} from '../fields.ts'
import { notFound } from '../not-found.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'

/** Tokens of the admin API, in addition to the token of the settings. */
export function adminTokenOperations(parts: OperationParts) {
  return [create(parts), list(parts), revoke(parts)]
}

/** Ten years. */
const EXPIRES_SECONDS_MAX = 10 * 366 * 24 * 60 * 60

const NO_SCOPES = `is required: one or more of ${ADMIN_SCOPES.join(', ')}`

function create({ store, ids, clock, onAdminTokensChanged }: OperationParts) {
  return operation({
    name: 'createAdminToken',
    method: 'POST',
    scope: 'everything',
    paths: { admin: '/v1/admin/tokens' },
    summary:
      'Create an admin token. Its text is returned only in this answer. It expires no later than the token that creates it, and is revoked with it.',
    body: z.strictObject({
      name: nameField,
      scopes: z
        .array(z.enum(ADMIN_SCOPES), {
          error: ({ input }) => (input === undefined ? NO_SCOPES : undefined),
        })
        .min(1, 'must name at least one scope')
        .max(ADMIN_SCOPES.length, 'must name each scope once')
        .describe(SCOPE_WORDS),
      expires_in_seconds: z
        .int()
        .min(1, 'must be at least 1')
        .max(EXPIRES_SECONDS_MAX, 'must be at most ten years')
        .nullish()
        .describe(
          'How long it is valid, in seconds, at most ten years. Absent or null: as long as the token that creates it.',
        ),
    }),
    example: { name: 'shop', scopes: ['keys', 'credit'], expires_in_seconds: 7_776_000 },
    answers: { 201: createdAdminTokenShape },
    async run({ caller, by, body: { name, scopes, expires_in_seconds: seconds } }) {
      for (const scope of scopes) requireScope(caller, scope)
      const asked = seconds == null ? null : clock.nowMs() + seconds * 1_000
      const made = { name, scopes, expiresAtMs: expiryOf(caller, asked), by }
      const madeBy = caller.token.id
      const { adminToken, text } = await createAdminToken(
        { db: store.db, ids, clock },
        { ...made, madeBy },
      )
      await onAdminTokensChanged([])
      return { ...adminTokenAnswer(adminToken), token: text }
    },
  })
}

/**
 * By position: the caller, and the expiry of the new token. Throws Problem `invalid_parameter` if the caller's
 * own token expires earlier.
 */
function expiryOf(
  { token }: Extract<Caller, { kind: 'admin' }>,
  askedAtMs: number | null,
): number | null {
  const ownAtMs = token.expiresAtMs
  if (ownAtMs === null || askedAtMs === null) return askedAtMs ?? ownAtMs
  if (askedAtMs <= ownAtMs) return askedAtMs
  const until = timeAnswer(ownAtMs)
  throw invalidParameter(
    'expires_in_seconds',
    `\`expires_in_seconds\` must not go past ${until}, when the calling token expires.`,
  )
}

function list({ store }: OperationParts) {
  return operation({
    name: 'listAdminTokens',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('tokens'),
    summary: 'Admin tokens, newest first, including expired and revoked ones.',
    query: pageQuery('admin_tokens', {}),
    answers: { 200: listShape(adminTokenShape) },
    async run({ reader, caller, query: { limit, cursor } }) {
      const page = await listAdminTokens(readsFor({ caller, reader }, store), { limit, cursor })
      return listAnswer(page.rows.map(adminTokenAnswer), idCursor('admin_tokens', page.nextCursor))
    },
  })
}

function revoke({ store, clock, onAdminTokensChanged }: OperationParts) {
  return operation({
    name: 'revokeAdminToken',
    method: 'DELETE',
    scope: 'everything',
    paths: staffPaths('tokens/{token_id}'),
    summary:
      'Revoke an admin token for good, with all tokens that it created. Open invitations and password links that they created end too.',
    isHarmless: true,
    answers: { 200: adminTokenShape },
    problems: ['not_found'],
    takesAccess: true,
    async run({ by, param }) {
      const adminTokenId = param('token_id')
      const revoked = await revokeAdminToken({ db: store.db, clock }, { adminTokenId, by })
      if (revoked === null) throw notFound('admin token', adminTokenId)
      await onAdminTokensChanged(revoked.revokedIds)
      return adminTokenAnswer(revoked.adminToken)
    },
  })
}

const SCOPE_WORDS =
  '`read`: calls that change nothing. `keys`: accounts and API keys. `credit`: credit, codes, purchases and settling. `everything`: all of these, and all other calls.'

/** An admin token, never with its text. */
export const adminTokenShape = z
  .object({
    id: idField('atok'),
    object: z.literal('admin_token'),
    name: z.string(),
    prefix: z.string().describe('The first and last characters of the token.'),
    scopes: z.array(z.enum(ADMIN_SCOPES)).describe(SCOPE_WORDS),
    made_by: idField('atok')
      .nullable()
      .describe('The token that created it; null: the command line, or `ADMIN_API_TOKEN`.'),
    created_at: timeField,
    expires_at: timeField.nullable().describe('When the token expires; null: never.'),
    revoked_at: timeField.nullable(),
    last_used_at: timeField
      .nullable()
      .describe('When the token was last used, rounded down to the hour; null: never.'),
  })
  .meta({ id: 'AdminToken' })

/** An admin token that has just been made: the only answer with its text. */
export const createdAdminTokenShape = adminTokenShape
  .extend({ token: z.string().describe('The token. It is not returned again.') })
  .meta({ id: 'CreatedAdminToken' })

function adminTokenAnswer(row: AdminTokenRow): z.infer<typeof adminTokenShape> {
  return {
    id: row.id,
    object: 'admin_token',
    name: row.name,
    prefix: row.displayPrefix,
    scopes: [...scopesOf(row)],
    made_by: row.madeBy,
    created_at: timeAnswer(row.createdAtMs),
    expires_at: timeOrNull(row.expiresAtMs),
    revoked_at: timeOrNull(row.revokedAtMs),
    last_used_at: timeOrNull(row.lastUsedAtMs),
  }
}
