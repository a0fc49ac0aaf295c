import type { Transaction } from 'kysely'
import { AUTHENTICATOR_APPS, TAKEN_ACCESS } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { hasRow } from '../store/store.ts'
import { makeAppSecret } from './factors/authenticator-app.ts'
import { listFactors } from './factors/own-factors.ts'
import { endOwnLinks } from './links.ts'
import { noPassword } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { fieldsOf } from './taken-kinds.ts'
import { lockPassword } from './users.ts'

interface Own {
  /** The ID of the changed row. */
  readonly id: string
  readonly userId: string
  readonly nowMs: number
}

/**
 * Ends a password whose replacement the database has lost: it is not known which other one the user chose. Ends the sessions
 * and links of the user too. Returns false if the user has no password.
 */
export async function endLostPassword(
  trx: Transaction<Tables>,
  { id, userId, nowMs }: Own,
): Promise<boolean> {
  const ended = trx
    .updateTable('sign_ins')
    .set({ password_hash: noPassword() })
    .where('id', '=', id)
    .where('password_hash', 'not like', '!%')
  if (!(await hasRow(ended.returning('id')))) return false
  await endOwnLinks(trx, { userId, nowMs })
  await endOtherSessions(trx, { userId, keptSessionId: null })
  return true
}

/**
 * Ends an authenticator app whose replacement the database has lost. No app has the new secret, so that the user needs
 * another factor, or a link of the operator. Returns false if the user has another factor in its place.
 */
export async function replaceLostApp(
  trx: Transaction<Tables>,
  { newId, ...own }: Own & { readonly newId: string },
): Promise<boolean> {
  const ended = trx
    .updateTable('authenticator_apps')
    .set({ id: newId, secret: makeAppSecret() })
    .where('id', '=', own.id)
    .where('user_id', '=', own.userId)
  return (await hasRow(ended.returning('id'))) || endLostFactor(trx, { ...own, id: newId })
}

/**
 * Asks a user for a second factor again whose only one the database has lost: the password alone was refused before. No app
 * has the secret, so that the user needs a link of the operator. Returns false if the user has a factor.
 */
export async function endLostFactor(
  trx: Transaction<Tables>,
  { id, userId, nowMs }: Own,
): Promise<boolean> {
  // The user is lost too, or was removed.
  if ((await lockPassword(trx, userId)) === null) return false
  if ((await listFactors(trx, userId)).length > 0) return false
  const app = {
    userId,
    id,
    secret: makeAppSecret(),
    createdAtMs: nowMs,
    lastStep: 0,
    lastUsedAtMs: null,
  }
  await trx.insertInto('authenticator_apps').values(AUTHENTICATOR_APPS.record(app)).execute()
  return true
}

/**
 * Asks a user for a second factor whose last one was removed again, if the notes have one that was added and not removed:
 * the database has lost both the addition and the removal.
 */
export async function keepAskingForFactor(
  trx: Transaction<Tables>,
  { userId, nowMs }: Pick<Own, 'userId' | 'nowMs'>,
): Promise<void> {
  const notes = await trx
    .selectFrom('taken_access')
    .selectAll()
    .where('user_id', '=', userId)
    .where('table_name', 'in', ['authenticator_apps', 'passkeys'])
    .orderBy('id')
    .execute()
  let addedIds: readonly string[] = []
  for (const note of notes) {
    const { rowKey, set } = fieldsOf(TAKEN_ACCESS.read(note))
    const isAdded = set !== null && ('secret' in set || 'public_key' in set)
    if (set !== null && !isAdded) continue
    const factorId = String(rowKey['id'])
    addedIds = addedIds.filter((addedId) => addedId !== factorId)
    // An app that replaces another has an ID of its own.
    if (isAdded) addedIds = [...addedIds, String(set['id'] ?? factorId)]
  }
  const lastId = addedIds.at(-1)
  if (lastId !== undefined) await endLostFactor(trx, { id: lastId, userId, nowMs })
}
