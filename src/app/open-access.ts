import { KnownTokens } from '../people/known-tokens.ts'
import { TakenAccess } from '../people/taken-access.ts'
import { takenKey, takenResult, takenWords } from '../people/taken-kinds.ts'
import { Passes } from '../store/passes.ts'
import type { ServedStore } from './open-served-store.ts'
import { running, type Wiring, warning } from './wiring.ts'

const READ_MS = 1_000

/** Takes access again whose removal the database loses; null: the store is on SQLite, which loses no commit. */
export function openTakenAccess(
  { log, ids, closing }: Pick<Wiring, 'log' | 'ids' | 'closing'>,
  { store, storeClock: clock }: Pick<ServedStore, 'store' | 'storeClock'>,
): TakenAccess | null {
  if (store.location.kind !== 'postgres') return null
  const takenAccess = new TakenAccess({
    db: store.db,
    ids,
    clock,
    onTakenAgain: (row) =>
      log.warn(takenKey(row), `the database had lost ${takenWords(row)}: ${takenResult(row)}`),
    onLast: (row) =>
      log.warn(
        takenKey(row),
        `the database had lost ${takenWords(row)}, who is the last ${row.tableName === 'users' ? 'operator' : 'owner'} and stays one`,
      ),
    onFailure: (row, cause) =>
      log.warn(
        { ...takenKey(row), cause: String(cause) },
        `the database has lost ${takenWords(row)}, which could not be repeated yet`,
      ),
  })
  const readings = new Passes({
    intervalMs: READ_MS,
    pass: () => takenAccess.catchUp(),
    onFailure: warning(log, 'the removals of access could not be read'),
  })
  running({ closing }, readings)
  return takenAccess
}

/** Knows the admin tokens that callers send, and reads again and again which of them were revoked. */
export function openKnownTokens(
  { log, closing }: Pick<Wiring, 'log' | 'closing'>,
  {
    store,
    storeClock: clock,
    takenAccess,
  }: Pick<ServedStore, 'store' | 'storeClock'> & { readonly takenAccess: TakenAccess | null },
): KnownTokens {
  const onFailure = warning(log, 'admin tokens could not be read, or not noted as used')
  const knownTokens = new KnownTokens({
    db: store.db,
    clock,
    hasRevoked: (adminTokenId) => takenAccess?.hasRevoked(adminTokenId) ?? false,
    onFailure,
  })
  const readings = new Passes({
    intervalMs: READ_MS,
    pass: () => knownTokens.readChanges(),
    onFailure,
  })
  running({ closing }, readings)
  return knownTokens
}
