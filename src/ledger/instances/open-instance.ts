import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import type { HoldLedger } from '../ledger.ts'
import { abandonEarlierInstances, heartbeat, registerInstance, stopInstance } from './instances.ts'
import { BEAT_LOOK_MS, Presence } from './presence.ts'

interface OpenInstanceInput {
  readonly store: Store
  readonly ledger: BatchedLedger
  /** An id of the prefix `inst`, new at each start. */
  readonly instanceId: string
  readonly clock: Clock
  /** Called with the number of holds that dead processes had left open and that are unresolved now. */
  readonly onAbandoned: (abandoned: number) => void
  /** Whether the store has taken no write since it failed: heartbeats then come each second. Default: it has. */
  readonly isStoreDown?: () => boolean
  /** Called after each heartbeat that was stored. */
  readonly onBeat?: () => void
  /** Called when a heartbeat could not be stored. */
  readonly onFailure: (cause: unknown) => void
}

/** This process among those that open holds. */
interface Instance {
  /** Whether it may forward: false while others may have taken it for dead. */
  isAlive(): boolean
  /** The time that is in the store's rows: on PostgreSQL the database's, and no clock of this machine. */
  nowMs(): number
  /** Records that the instance has stopped. */
  close(): Promise<void>
}

/**
 * Registers this process and stores its heartbeats. On SQLite it has the serve lock, so that all holds of
 * earlier processes are ended here. On PostgreSQL other instances may live; this one watches for dead ones.
 */
export function openInstance(input: OpenInstanceInput): Promise<Instance> {
  return input.store.location.kind === 'postgres' ? openAmongOthers(input) : openAlone(input)
}

async function openAlone(input: OpenInstanceInput): Promise<Instance> {
  const { store, ledger, instanceId, clock, onAbandoned, onFailure, onBeat = () => {} } = input
  const now = () => ({ id: instanceId, nowMs: clock.nowMs() })
  await registerInstance(store.db, now())
  const abandoned = await abandonEarlierInstances({ db: store.db, ledger, instanceId })
  if (abandoned > 0) onAbandoned(abandoned)
  const isDue = beatsDue(input)
  const timer = setInterval(() => {
    if (isDue()) heartbeat(store.db, now()).then(onBeat, onFailure)
  }, BEAT_LOOK_MS)
  timer.unref()
  return {
    isAlive: () => true,
    nowMs: () => clock.nowMs(),
    async close() {
      clearInterval(timer)
      await stopInstance(store.db, now())
    },
  }
}

async function openAmongOthers(input: OpenInstanceInput): Promise<Instance> {
  const { store, ledger, instanceId, onAbandoned, onFailure, onBeat = () => {} } = input
  const presence = new Presence({
    db: store.db,
    ledger,
    instanceId,
    onAbandoned: (_instanceId, abandoned) => onAbandoned(abandoned),
    isDue: beatsDue(input),
    onBeat,
    onFailure,
  })
  await presence.start()
  return presence
}

const BEATS_APART = 5

/** Whether the next heartbeat is due, asked each second: every fifth time, and each time while the store is down. */
function beatsDue({ isStoreDown = () => false }: OpenInstanceInput): () => boolean {
  let asked = 0
  return () => {
    asked++
    if (asked < BEATS_APART && !isStoreDown()) return false
    asked = 0
    return true
  }
}

/**
 * The ledger of an instance that opens holds only while no other can have taken it for dead. A hold
 * that was opened as that time ran out is released, and rejects with `StoreUnavailable`.
 */
export function whileAlive(ledger: BatchedLedger, isAlive: () => boolean): HoldLedger {
  const refuse = () => new StoreUnavailable('this instance may have been taken for dead')
  return {
    async openHold(input) {
      if (!isAlive()) throw refuse()
      const verdict = await ledger.openHold(input)
      if (verdict.kind !== 'opened' || isAlive()) return verdict
      ledger.releaseUnsure(input)
      throw refuse()
    },
    settle: (input) => ledger.settle(input),
    abandon: (requestId) => ledger.abandon(requestId),
    noteGeneration: (input) => ledger.noteGeneration(input),
  }
}
