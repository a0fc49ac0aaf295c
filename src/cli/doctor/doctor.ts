import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { countHolds } from '../../ledger/activity/unsettled.ts'
import { readAtWork } from '../../ledger/instances/open-instance.ts'
import { listStoreGaps } from '../../ledger/store-gaps.ts'
import { showDatabaseUrl } from '../../store/database-url.ts'
import { DATABASE_MS } from '../../store/is-postgres.ts'
import { readSetting, refuseOtherMoney } from '../../store/settings.ts'
import type { Store } from '../../store/store.ts'
import { DAY_MS, MINUTE_MS } from '../../vocabulary/clock.ts'
import { countInWords } from '../../vocabulary/count-in-words.ts'
import { messageOf } from '../../vocabulary/message-of.ts'
import {
  type CommandContext,
  type CommandInput,
  type CommandSettings,
  withStore,
} from '../command-context.ts'
import { addHelp } from '../help-text.ts'
import { counted, type FittingTable, sentenceTable } from '../table.ts'
import { CommandFailure } from '../terminal.ts'
import {
  checkMail,
  checkPrices,
  checkSale,
  checkServer,
  checkSignIn,
  checkUpstreams,
  checkWebhooks,
  durationText,
  type Finding,
} from './connection-checks.ts'

export interface DoctorInput extends CommandInput {
  readonly version: string
  /** The message of a failure that a person can mend; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
}

/**
 * `tollgate doctor`: everything that a gateway needs, in the order in which one part needs the other. It is no operation:
 * it runs where settings are wrong, the store is away or no server runs.
 */
export function doctorCommand(input: DoctorInput): Command {
  const command = new Command('doctor')
    .description(
      'check settings, server, upstreams, email, store, sale and webhooks, and say what to do',
    )
    .option('--json', 'print JSON')
  return addHelp(command, {
    help: `It changes no data, and nothing is billed. Run it in the folder of the server,
as its user. Exits 0 if no check failed, 1 if one did; warnings alone do not
count.`,
    examples: ['tollgate doctor'],
  }).action(async (options: { readonly json?: true }) => {
    const findings = await findingsOf(input)
    const failed = findings.filter(({ state }) => state === 'failed').length
    const answer = { object: 'doctor', ok: failed === 0, checks: findings }
    const { terminal } = input
    terminal.out(
      options.json === true ? JSON.stringify(answer) : tableOf(findings)(terminal.columnsMax),
    )
    if (failed > 0) throw new CommandFailure(counted(failed, 'check'))
  })
}

function tableOf(findings: readonly Finding[]): FittingTable {
  // The message names the webhook: its ID would leave little room for the results of all checks.
  const rows = findings.map(({ check, state, message }) => [
    state,
    check.replace(/^webhook .*/, 'webhook'),
    message,
  ])
  return sentenceTable(['STATE', 'CHECK', 'RESULT'], rows)
}

async function findingsOf(input: DoctorInput): Promise<readonly Finding[]> {
  const found: Finding[] = [
    {
      check: 'version',
      state: 'ok',
      message: `tollgate ${input.version} on Node ${process.versions.node}`,
    },
  ]
  const settings = await usableSettings(input).catch((error: unknown) => lineOf(error, input))
  if (typeof settings === 'string') {
    return [...found, { check: 'settings', state: 'failed', message: settings }]
  }
  found.push({ check: 'settings', state: 'ok', message: 'can be used' })
  /** Adds the findings of a check; a check that throws has failed. By position: its name, and the check. */
  const add = async (check: string, run: () => Promise<readonly Finding[]>): Promise<void> => {
    try {
      found.push(...(await run()))
    } catch (error) {
      found.push({ check, state: 'failed', message: lineOf(error, input) })
    }
  }
  const { upstreams } = settings
  await add('server', () => checkServer(settings.serverUrl))
  await add('upstreams', () => checkUpstreams(upstreams))
  await add('sign-in', () => checkSignIn(settings))
  await add('mail', () => checkMail(settings))
  await add('store', () =>
    withStore(input, async (opened) => {
      await add('store', () => checkStore(opened))
      await add('upstream of the store', () => checkMoney(opened, upstreams))
      if (upstreams !== undefined) await add('prices', () => checkPrices(opened, upstreams))
      await add('sale', () => checkSale(input, opened))
      await add('webhooks', () => checkWebhooks(opened))
      return []
    }),
  )
  return found
}

/** The settings, if the upstreams in them can be used too. Throws `ConfigError`. */
async function usableSettings(input: DoctorInput): Promise<CommandSettings> {
  const settings = input.settings()
  await settings.upstreams?.load()
  return settings
}

/** One line. By position: the error, and its explanation. */
function lineOf(error: unknown, { explain }: DoctorInput): string {
  const known = error instanceof CommandFailure ? error.message : explain(error)
  return (known ?? messageOf(error)).replace(/:\n\s*-\s*/, ': ').replace(/\n\s*-?\s*/g, '; ')
}

const GAPS_MS = 90 * DAY_MS
// The first look-up comes a second after the end of a request, and the next ones within minutes.
const UNRESOLVED_MS_MAX = 10 * MINUTE_MS
const CLOCK_WARNING_MS = 2_000
// Half of the time after which servers count each other as dead.
const CLOCK_FAILED_MS = 15_000
const DISK_FAILED_BYTES = 100_000_000
const DISK_WARNING_BYTES = 1_000_000_000

/** Checks that the store can be read and written, its disk or its clock, lost commits, and unresolved requests. */
async function checkStore(opened: CommandContext): Promise<readonly Finding[]> {
  const { store } = opened
  return [
    await checkWrites(opened),
    store.location.kind === 'sqlite' ? checkDisk(store.location.file) : await checkClock(opened),
    await checkLedger(opened),
    await checkHolds(opened),
    await checkMaintenance(store),
  ]
}

/** Finds nothing unless a server would refuse the store, because its credit is play money and the upstream is real, or the reverse. */
async function checkMoney(
  { store }: CommandContext,
  upstreams: CommandSettings['upstreams'],
): Promise<readonly Finding[]> {
  const owner = await readSetting(store.db, 'upstream')
  const [configured] = (await upstreams?.load())?.upstreams ?? []
  if (owner !== null) refuseOtherMoney(owner, configured?.baseUrl ?? 'simulator')
  return []
}

async function checkWrites({ store, clock }: CommandContext): Promise<Finding> {
  const { location, db } = store
  const { instances } = await readAtWork(db, clock.nowMs())
  const shown = showDatabaseUrl(
    location.kind === 'sqlite' ? `sqlite:${location.file}` : location.url,
  )
  const fault = location.kind === 'sqlite' ? faultOfFile(location.file) : null
  if (fault !== null) return { check: 'store', state: 'failed', message: `${shown} ${fault}` }
  // A restored backup has the heartbeat of the server that made it, which is dead for half a minute more.
  const running = location.kind === 'sqlite' ? Math.min(instances, 1) : instances
  const servers = `${running} running ${running === 1 ? 'server uses' : 'servers use'} it`
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
}: Readonly<Record<'freeBytes' | 'storeBytes', number>>): Finding {
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
  const { now_ms } = await store.db.selectNoFrom(DATABASE_MS.as('now_ms')).executeTakeFirstOrThrow()
  // The answer was made between the question and now.
  return clockFinding(now_ms - (askedAtMs + clock.nowMs()) / 2)
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
    message: `the database lost commits ${gaps.length === 1 ? 'once' : `${gaps.length} times`} in 90 days, and ${countInWords(lost, 'command')} could not be booked again: \`tollgate audit\` lists them (docs/scale.md)`,
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
