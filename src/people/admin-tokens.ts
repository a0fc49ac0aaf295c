import { hash, randomBytes } from 'node:crypto'
import { type Kysely, sql, type Transaction } from 'kysely'
import { firstActionId, type OperatorAction, recordAction } from '../ledger/operator-actions.ts'
import { type ListPage, type Page, readPage } from '../store/list-page.ts'
import { ADMIN_TOKENS, type AdminTokenRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../store/settings.ts'
import { type DbWithClock, type DbWithIds, hasRow } from '../store/store.ts'
import { Problem } from '../vocabulary/problem.ts'
import { ADMIN_SCOPES, type AdminScope, LINK_MS } from '../vocabulary/role.ts'

const PREFIX = 'tollgate-admin-'
const RANDOM_BYTES = 32
const SHAPE = /^tollgate-admin-[\w-]{43}$/

/** Makes a token. Only this result ever has its text. Throws Problem `invalid_admin_token` if the token that asks was revoked meanwhile. */
export function createAdminToken(
  { db, ids, clock }: DbWithIds,
  {
    name,
    scopes,
    expiresAtMs,
    madeBy,
    by,
  }: {
    readonly name: string
    readonly scopes: readonly AdminScope[]
    /** Null: it does not expire. */
    readonly expiresAtMs: number | null
    /** The token that asks for it; null: the command line, or the token of the settings. */
    readonly madeBy: string | null
    readonly by: OperatorAction | null
  },
): Promise<{ readonly adminToken: AdminTokenRow; readonly text: string }> {
  const random = randomBytes(RANDOM_BYTES).toString('base64url')
  const text = `${PREFIX}${random}`
  const nowMs = clock.nowMs()
  const adminToken: AdminTokenRow = {
    ...ADMIN_TOKENS.start,
    id: ids.next('atok'),
    name,
    tokenHash: hashOf(text),
    displayPrefix: `${PREFIX}${random.slice(0, 3)}…${random.slice(-4)}`,
    scopes: ADMIN_SCOPES.filter((scope) => scopes.includes(scope)).join(),
    madeBy,
    createdAtMs: nowMs,
    expiresAtMs,
  }
  return db.transaction().execute(async (trx) => {
    if (madeBy !== null) await lockAdminToken(trx, madeBy)
    await trx.insertInto('admin_tokens').values(ADMIN_TOKENS.record(adminToken)).execute()
    const detail = {
      name,
      scopes: adminToken.scopes,
      expires_at: expiresAtMs === null ? null : new Date(expiresAtMs).toISOString(),
    }
    await recordAction(trx, { by, targetId: adminToken.id, detail, nowMs })
    await sql.raw(RAISE_CALLERS_VERSION).execute(trx)
    return { adminToken, text }
  })
}

/**
 * Keeps a token from being revoked before this transaction ends: what it makes here is found by its revocation. Throws
 * Problem `invalid_admin_token` if it was revoked meanwhile.
 */
export async function lockAdminToken(
  trx: Transaction<Tables>,
  adminTokenId: string,
): Promise<void> {
  const locked = trx
    .updateTable('admin_tokens')
    // Neither engine locks a row that is only read: SQLite has no such statement.
    .set(({ ref }) => ({ revoked_at_ms: ref('revoked_at_ms') }))
    .where('id', '=', adminTokenId)
    .where('revoked_at_ms', 'is', null)
  if (!(await hasRow(locked.returning('id')))) throw new Problem('invalid_admin_token')
}

/**
 * Revokes a token, the tokens that it made, their tokens, and so on, and ends the open links of all of them. Returns the
 * revoked token, and the IDs of all that were revoked; a repeat returns only its own, and ends links that are still open:
 * earlier releases left them. Null if there is no such token.
 */
export function revokeAdminToken(
  { db, clock }: DbWithClock,
  { adminTokenId, by }: { readonly adminTokenId: string; readonly by: OperatorAction | null },
) {
  return db.transaction().execute(async (trx) => {
    const nowMs = clock.nowMs()
    const revoke = trx
      .updateTable('admin_tokens')
      .set({ revoked_at_ms: nowMs })
      .where('revoked_at_ms', 'is', null)
      .returning('id')
    const own = await revoke.where('id', '=', adminTokenId).execute()
    const isRepeat = own.length === 0
    const revokedIds = [adminTokenId]
    const treeIds = [adminTokenId]
    for (let makers = [adminTokenId]; makers.length > 0; ) {
      const revoked = await revoke.where('made_by', 'in', makers).execute()
      revokedIds.push(...revoked.map(({ id }) => id))
      const made = trx.selectFrom('admin_tokens').select('id').where('made_by', 'in', makers)
      makers = (await made.execute()).map(({ id }) => id)
      treeIds.push(...makers)
    }
    const row = await trx
      .selectFrom('admin_tokens')
      .selectAll()
      .where('id', '=', adminTokenId)
      .executeTakeFirst()
    if (row === undefined) return null
    const adminToken = ADMIN_TOKENS.read(row)
    const links = await endLinksOf(trx, { adminTokenIds: treeIds, nowMs })
    if (!isRepeat || links > 0) {
      const others = revokedIds.length - 1
      const detail = {
        name: adminToken.name,
        ...(others > 0 ? { revoked_with_it: others } : {}),
        ...(links > 0 ? { links_ended: links } : {}),
      }
      await recordAction(trx, { by, targetId: adminTokenId, detail, nowMs })
      await sql.raw(RAISE_CALLERS_VERSION).execute(trx)
    }
    return { adminToken, revokedIds }
  })
}

// No link works for longer.
const LINKS_MADE_MS = Math.max(...Object.values(LINK_MS))

/** Ends the open invitations and password links that tokens have made, by the audit log. Returns how many. */
async function endLinksOf(
  trx: Transaction<Tables>,
  { adminTokenIds, nowMs }: { readonly adminTokenIds: readonly string[]; readonly nowMs: number },
): Promise<number> {
  const made = trx
    .selectFrom('operator_actions')
    .select('target_id')
    .where('id', '>=', firstActionId(nowMs - LINKS_MADE_MS))
    .where('token_id', 'in', adminTokenIds)
    .where('action', 'in', ['createInvitation', 'createResetLink'])
  const ended = await trx
    .updateTable('links')
    .set({ used_at_ms: nowMs })
    .where('id', 'in', made)
    .where('used_at_ms', 'is', null)
    .where('expires_at_ms', '>', nowMs)
    .returning('id')
    .execute()
  return ended.length
}

/** One page of the tokens of a store, newest first, expired and revoked ones too. */
export function listAdminTokens(db: Kysely<Tables>, page: Page): Promise<ListPage<AdminTokenRow>> {
  const query = db.selectFrom('admin_tokens').selectAll()
  return readPage(query, { ...page, read: ADMIN_TOKENS.read })
}

/** The scopes of a token. */
export function scopesOf({ scopes }: Pick<AdminTokenRow, 'scopes'>): readonly AdminScope[] {
  const names = scopes.split(',')
  return ADMIN_SCOPES.filter((scope) => names.includes(scope))
}

/** Null: the text is not shaped like a token. */
export function adminTokenHash(text: string): string | null {
  return SHAPE.test(text) ? hashOf(text) : null
}

/** A token is random, so a fast hash keeps it safe. */
function hashOf(text: string): string {
  return hash('sha256', text, 'hex')
}
