import { Passes } from '../store/passes.ts'
import { type Replication, readReplication } from '../store/postgres/replication.ts'
import type { Store } from '../store/store.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { running, type Wiring } from './wiring.ts'

const INTERVAL_MS_DEFAULT = 15_000

/**
 * Logs at the start, and whenever it changes, whether commits of a PostgreSQL store wait for a standby. A store on SQLite has
 * no standby. `intervalMs`: between two looks, default 15,000.
 */
export function openReplicationWatch(
  { log, telemetry, closing }: Pick<Wiring, 'log' | 'telemetry' | 'closing'>,
  {
    store,
    intervalMs = INTERVAL_MS_DEFAULT,
  }: { readonly store: Pick<Store, 'db' | 'location'>; readonly intervalMs?: number },
): void {
  if (store.location.kind !== 'postgres') return
  let latest: Replication | null = null
  const passes = new Passes({
    intervalMs,
    async pass() {
      const replication = await readReplication(store.db)
      telemetry.metrics?.replicationRead(replication.kind)
      if (latest !== null && wordsOf(replication) === wordsOf(latest)) return
      const isWeaker = latest?.kind === 'synchronous' && replication.kind === 'none'
      latest = replication
      if (isWeaker) log.warn(`${wordsOf(replication)} now: ${LOSES}`)
      else if (replication.kind === 'asynchronous') log.warn(wordsOf(replication))
      else log.info(wordsOf(replication))
    },
    // The heartbeat reports a store that is away.
    onFailure: () => telemetry.metrics?.replicationRead(null),
  })
  running({ closing }, passes)
}

const LOSES =
  'a failover loses the last commits; docs/scale.md says how to make the standby synchronous'

function wordsOf(replication: Replication): string {
  switch (replication.kind) {
    case 'synchronous':
      return `commits wait for a standby (synchronous_standby_names = ${replication.standbyNames})`
    case 'none':
      return 'no standby follows this server'
    case 'asynchronous':
      return `${namedStandbys(replication.standbys)} asynchronously: ${LOSES}`
    default:
      return assertNever(replication)
  }
}

function namedStandbys(names: readonly string[]): string {
  return names.length === 1
    ? `the standby ${names.join()} follows`
    : `the standbys ${names.join(', ')} follow`
}
