import { takenKey, takenWords } from '../people/take-again.ts'
import { TakenAccess } from '../people/taken-access.ts'
import { Passes } from '../store/passes.ts'
import type { ServedStore } from './open-served-store.ts'
import type { Wiring } from './wiring.ts'

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
      log.warn(takenKey(row), `the database had lost ${takenWords(row)}: repeated`),
    onLastOperator: (row) =>
      log.warn(
        takenKey(row),
        `the database had lost ${takenWords(row)}, who is the last operator and stays one`,
      ),
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'the removal of access could not be repeated'),
  })
  const readings = new Passes({
    intervalMs: READ_MS,
    pass: () => takenAccess.catchUp(),
    onFailure: (cause) =>
      log.warn({ cause: String(cause) }, 'the removals of access could not be read'),
  })
  closing.defer(() => readings.stop())
  readings.start()
  return takenAccess
}
