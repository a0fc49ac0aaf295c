import { ActivityPruner } from '../ledger/activity/activity-pruner.ts'
import type { Store } from '../store/store.ts'
import type { IdHours } from '../usage/id-hours.ts'
import { UsageRoller } from '../usage/usage-roller.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { running, type Wiring, warning } from './wiring.ts'

interface UpkeepInput {
  readonly store: Store
  /** The time that is in the store's rows. */
  readonly storeClock: Clock
  /** The clock of the ids of requests. */
  readonly idHours: IdHours
}

/** Rolls requests up and, where the operator says how old, removes old ones from Activity. */
export function openUpkeep(wiring: Wiring, input: UpkeepInput): void {
  const pruner = openActivityPruner(wiring, input)
  openUsageRoller(wiring, { ...input, onRolled: () => pruner?.wake() })
}

function openUsageRoller(
  { log, closing }: Wiring,
  { store, storeClock: clock, idHours, onRolled }: UpkeepInput & { readonly onRolled: () => void },
): void {
  const roller = new UsageRoller({
    store,
    clock,
    takeIdHours: () => idHours.take(),
    readBusyShare: createBusyShare(),
    onRolled: (hours) => {
      log.debug({ hours }, 'requests rolled up for charts')
      onRolled()
    },
    onLate: (hour) =>
      log.warn({ hour }, 'a clock was set back: an hour that was rolled up is rolled up again'),
    onFailure: warning(log, 'requests could not be rolled up and will be tried again'),
  })
  running({ closing }, roller)
}

/** Reads in which share of the time since the last call the main thread was busy. */
function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}

/** Null: requests are kept for ever. */
function openActivityPruner(
  { config, log, closing }: Wiring,
  { store, storeClock: clock }: UpkeepInput,
): ActivityPruner | null {
  const keepDays = config.TOLLGATE_ACTIVITY_DAYS
  if (keepDays === null) return null
  const pruner = new ActivityPruner({
    store,
    clock,
    keepDays,
    onPruned: (requests) => log.info({ requests, keepDays }, 'requests pruned from Activity'),
    onFailure: warning(log, 'Activity could not be pruned and will be tried again'),
  })
  return running({ closing }, pruner)
}
