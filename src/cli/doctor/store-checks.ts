import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { countHolds } from '../../ledger/activity/unsettled.ts'
import { readAtWork } from '../../ledger/instances/open-instance.ts'
import { listStoreGaps } from '../../ledger/store-gaps.ts'
import { showDatabaseUrl } from '../../store/database-url.ts'
import { readSetting } from '../../store/settings.ts'
import type { Store } from '../../store/store.ts'
import type { CommandContext } from '../command-context.ts'
import { counted } from '../table.ts'
import { durationText, type Finding } from './finding.ts'

const GAPS_MS = 90 * 24 * 60 * 60_000
// The first look-up comes a second after the end of a request, and the next ones within minutes.
const UNRESOLVED_MS_MAX = 10 * 60_000
const CLOCK_WARNING_MS = 2_000
// Half of the time after which servers count each other as dead.
const CLOCK_FAILED_MS = 15_000
const DISK_FAILED_BYTES = 100_000_000
const DISK_WARNING_BYTES = 1_000_000_000

/** Checks that the store can be read and written, its disk or its clock, lost commits, and unresolved requests. */
export async function checkStore(opened: CommandContext): Promise<readonly Finding[]> {
  const { store } = opened
  return [
    await checkWrites(opened),
    store.location.kind === 'sqlite' ? checkDisk(store.location.file) : await checkClock(opened),
    await checkLedger(opened),
    await checkHolds(opened),
    await checkMaintenance(store),
  ]
}

async function checkWrites({ store, clock }: CommandContext): Promise<Finding> {
  const { location, db } = store
  const { instances } = await readAtWork(db, clock.nowMs())
  const shown = showDatabaseUrl(
    location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url,
  )
  const fault = location.kind === 'sqlite' ? faultOfFile(location.file) : null
  if (fault !== null) return { check: 'store', state: 'failed', message: `${shown} ${fault}` }
  const servers = `${instances} running ${instances === 1 ? 'server uses' : 'servers use'} it`
  return { check: 'store', state: 'ok', message: `${shown} can be used; ${servers}` }
}

// A database that takes no writes has refused the connection.
function faultOfFile(file: string): string | null {
  for (const path of [dirname(file), file]) {
    try {
      accessSync(path, constants.W_OK)
    } catch {
      return `takes no writes: this user may not write to ${path}. Run as the user of the server`
    }
  }
  return null
}

function checkDisk(file: string): Finding {
  const { bavail, bsize } = statfsSync(dirname(file))
  const { size: storeBytes } = statSync(file)
  return diskFinding({ freeBytes: bavail * bsize, storeBytes })
}

/** Whether the disk of a SQLite store has room for its log, and for a copy by a backup or an upgrade. */
export function diskFinding({
  freeBytes,
  storeBytes,
}: {
  readonly freeBytes: number
  readonly storeBytes: number
}): Finding {
  const free = `${megabytes(freeBytes)} are free for a store of ${megabytes(storeBytes)}`
  if (freeBytes < DISK_FAILED_BYTES) {
    return { check: 'disk', state: 'failed', message: `${free}: make room before writes fail` }
  }
  if (freeBytes < Math.max(DISK_WARNING_BYTES, storeBytes)) {
    const message = `${free}: make room, because backups and upgrades copy the store`
    return { check: 'disk', state: 'warning', message }
  }
  return { check: 'disk', state: 'ok', message: free }
}

function megabytes(bytes: number): string {
  return `${counted(Math.floor(bytes / 1_000_000), 'megabyte')}`
}

async function checkClock({ store, clock }: CommandContext): Promise<Finding> {
  const askedAtMs = clock.nowMs()
  const { rows } = await sql<{
    now_ms: string
  }>`select extract(epoch from clock_timestamp()) * 1000 as now_ms`.execute(store.db)
  // The answer was made between the question and now.
  return clockFinding(Number(rows[0]?.now_ms) - (askedAtMs + clock.nowMs()) / 2)
}

/** Whether the clocks of this machine and of the database agree. By position: the database's lead, in milliseconds. */
export function clockFinding(leadMs: number): Finding {
  const offMs = Math.abs(leadMs)
  if (offMs < CLOCK_WARNING_MS) {
    return { check: 'clock', state: 'ok', message: 'agrees with the clock of the database' }
  }
  return {
    check: 'clock',
    state: offMs < CLOCK_FAILED_MS ? 'warning' : 'failed',
    message: `is ${durationText(offMs)} ${leadMs > 0 ? 'behind' : 'ahead of'} the clock of the database: synchronize both machines (NTP)`,
  }
}

async function checkLedger({ store: { db }, clock }: CommandContext): Promise<Finding> {
  const gaps = await listStoreGaps(db, clock.nowMs() - GAPS_MS)
  if (gaps.length === 0) {
    const message = 'no commits were lost in 90 days; `tollgate audit` recomputes every figure'
    return { check: 'ledger', state: 'ok', message }
  }
  const lost = gaps.reduce((sum, gap) => sum + gap.lost, 0)
  return {
    check: 'ledger',
    state: 'warning',
    message: `the database lost commits ${gaps.length === 1 ? 'once' : `${gaps.length} times`} in 90 days, and ${lost} commands could not be booked again: \`tollgate audit\` lists them (docs/scale.md)`,
  }
}

async function checkHolds({ store: { db }, clock }: CommandContext): Promise<Finding> {
  const { holds = 0, oldestOpenedAtMs = null } =
    (await countHolds(db)).find(({ state }) => state === 'unresolved') ?? {}
  if (holds === 0 || oldestOpenedAtMs === null) {
    return { check: 'holds', state: 'ok', message: 'no unresolved requests' }
  }
  const ageMs = clock.nowMs() - oldestOpenedAtMs
  return {
    check: 'holds',
    state: ageMs > UNRESOLVED_MS_MAX ? 'warning' : 'ok',
    message: `${counted(holds, 'request')} unresolved, the oldest for ${durationText(ageMs)}: see \`tollgate request list --state unresolved\``,
  }
}

async function checkMaintenance({ db }: Store): Promise<Finding> {
  return (await readSetting(db, 'maintenance')) === 'on'
    ? {
        check: 'maintenance',
        state: 'warning',
        message: 'on: requests are answered 503 until `tollgate maintenance off`',
      }
    : { check: 'maintenance', state: 'ok', message: 'off' }
}
