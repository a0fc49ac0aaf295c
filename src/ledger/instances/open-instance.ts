import type { Kysely } from 'kysely'
import { PROGRAM_SCHEMA } from '../../store/migrations/migrations.ts'
import type { Tables } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { isUnsettled } from '../activity/unsettled.ts'
import type { Ledger } from '../commands.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import type { HoldLedger } from '../ledger.ts'
import { BEAT_LOOK_MS, Presence } from './presence.ts'

interface InstanceInput {
  /** An id of the prefix `inst`, new at each start. */
  readonly id: string
  readonly nowMs: number
}

/** Records that an instance has started. */
export async function registerInstance(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .insertInto('instances')
    .values({
      id: input.id,
      started_at_ms: input.nowMs,
      heartbeat_at_ms: input.nowMs,
      stopped_at_ms: null,
      program_schema: PROGRAM_SCHEMA,
    })
    .execute()
}

/** Records that an instance is running, at this moment. */
export async function heartbeat(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .updateTable('instances')
    .set({ heartbeat_at_ms: input.nowMs })
    .where('id', '=', input.id)
    .execute()
}

/** Records that an instance has stopped. */
export async function stopInstance(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .updateTable('instances')
    .set({ heartbeat_at_ms: input.nowMs, stopped_at_ms: input.nowMs })
    .where('id', '=', input.id)
    .execute()
}

/**
 * Makes every open hold of any other instance unresolved, and returns how many. Only for the
 * process with the serve lock, which proves that the other instances are gone.
 */
export async function abandonEarlierInstances(input: {
  readonly db: Kysely<Tables>
  readonly ledger: Ledger
  /** The instance that asks, whose own holds are alive. */
  readonly instanceId: string
}): Promise<number> {
  const rows = await input.db
    .selectFrom('all_requests')
    .select('instance_id')
    .distinct()
    .where(isUnsettled('open'))
    .where('instance_id', '!=', input.instanceId)
    .execute()
  let abandoned = 0
  for (const { instance_id } of rows) abandoned += await input.ledger.abandonInstance(instance_id)
  return abandoned
}

/** Whether a server works with a store. */
export interface AtWork {
  /** Instances with a heartbeat in the last half minute that have not stopped. */
  readonly instances: number
  /** Holds whose attempts are running, or whose instance is gone. */
  readonly openHolds: number
}

const HEARTBEAT_AGE_MS_MAX = 30_000

/** Counts the live instances and open holds of a store. */
export async function readAtWork(view: Kysely<Tables>, nowMs: number): Promise<AtWork> {
  const alive = await view
    .selectFrom('instances')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('stopped_at_ms', 'is', null)
    .where('heartbeat_at_ms', '>', nowMs - HEARTBEAT_AGE_MS_MAX)
    .executeTakeFirst()
  const open = await view
    .selectFrom('all_requests')
    .select(({ fn }) => fn.countAll().as('count'))
    .where(isUnsettled('open'))
    .executeTakeFirst()
  return { instances: Number(alive?.count ?? 0), openHolds: Number(open?.count ?? 0) }
}

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
  /** Called after each heartbeat that was stored, with its time; on SQLite also after the start was. */
  readonly onBeat?: (beatAtMs: number) => void
  /** Called when a heartbeat could not be stored. */
  readonly onFailure: (cause: unknown) => void
}

/** This process as one of the instances that open holds. */
interface Instance {
  /** Whether the instance may forward requests: false while others may have taken it for dead. */
  isAlive(): boolean
  /** The clock of the times in the store's rows: on PostgreSQL the database's, not this machine's. */
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
  const started = now()
  await registerInstance(store.db, started)
  onBeat(started.nowMs)
  const abandoned = await abandonEarlierInstances({ db: store.db, ledger, instanceId })
  if (abandoned > 0) onAbandoned(abandoned)
  const isDue = beatsDue(input)
  const timer = setInterval(() => {
    if (!isDue()) return
    const beat = now()
    heartbeat(store.db, beat).then(() => onBeat(beat.nowMs), onFailure)
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
