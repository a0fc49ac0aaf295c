import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkLedger, openLedgerReader } from './check-ledger.ts'
import { type ChildProgram, startProgram } from './child-program.ts'
import type { ProcessTree } from './process-tree.ts'
import { seedActivity } from './seed-activity.ts'
import { type SeededKey, seedStore } from './seed-store.ts'
import type { Probe, Target } from './target.ts'
import { Witness } from './witness.ts'

const ROOT = join(import.meta.dirname, '..')
const FIRST_ADDRESS = /^(http:\/\/\S+)$/m
// Refused by targets that forward nothing but inference.
const EMPTY_OBJECT: Probe = { method: 'POST', path: '/', body: '{}' }
const HEALTH: Probe = { method: 'GET', path: '/healthz', body: '' }
const BEARER = { authorization: 'Bearer bench' }

// As the Dockerfile and the systemd unit run the gateway. The bare proxy gets the same: they cost processor time.
const NODE_FLAGS = ['--max-semi-space-size=8']
const NODE_ENV = { MALLOC_ARENA_MAX: '2' }

/** A target with the means to end it. */
export interface RunningTarget extends Target {
  /** Ends it, and resolves with its faults: failed answers, a ledger that is not exact. */
  close(): Promise<string[]>
}

/** The simulator, which the gateway and the bare proxy forward to. */
export async function startSimulator(folder: string): Promise<RunningTarget> {
  const program = await startProgram({
    command: process.execPath,
    args: [join(ROOT, 'simulator', 'main.ts')],
    folder,
    env: { SIMULATOR_RECORD: '0' },
    logFile: join(folder, 'simulator.log'),
    findAddress: (written) => FIRST_ADDRESS.exec(written)?.[1]?.replace(/\/v1$/, '') ?? null,
  })
  return targetOf({ name: 'direct', program, callers: [BEARER] })
}

interface StartProxyInput {
  readonly folder: string
  /** Its cores, as for `taskset -c`; absent: those of the bench. */
  readonly cores?: string | undefined
  /** The address of the simulator, without `/v1`. */
  readonly upstreamAddress: string
}

/** The bare proxy. */
export async function startBareProxy(input: StartProxyInput): Promise<RunningTarget> {
  const program = await startProgram({
    command: process.execPath,
    args: [...NODE_FLAGS, join(ROOT, 'bench', 'bare-proxy.ts'), `${input.upstreamAddress}/v1`],
    folder: input.folder,
    cores: input.cores,
    env: NODE_ENV,
    logFile: join(input.folder, 'bare-proxy.log'),
    findAddress: (written) => FIRST_ADDRESS.exec(written)?.[1] ?? null,
  })
  return targetOf({ name: 'bare proxy', program, callers: [BEARER] })
}

export interface StartGatewayInput extends StartProxyInput {
  /** Its name among the gateways of the run. */
  readonly name: string
  /** The store, as in `DATABASE_URL`; absent: a SQLite store in the folder. */
  readonly databaseUrl?: string
  /** The processes of that database's server. */
  readonly server?: ProcessTree
  /** The checkout that it is started from; absent: this one. */
  readonly checkout?: string | undefined
  /** Whether it looks the cost of each request up. Default: as a gateway does by itself. */
  readonly looksAllUp?: boolean
  /** Options of Node. Absent: none. */
  readonly nodeArgs?: readonly string[]
  /** Settings in addition to those that a bench needs. */
  readonly settings?: Readonly<Record<string, string>>
  /** How many keys each account has. Default: 100 accounts with ten each. */
  readonly apiKeyCounts?: readonly number[]
  /** The credit of each account. Default: more than any run can spend. */
  readonly creditMicros?: readonly number[]
  /** Requests of the past in its Activity. Default 0; only on SQLite. */
  readonly activityRows?: number
  /** The place of the account that has all of them. Absent: each key has about as many. */
  readonly activityAccount?: number
}

/** A gateway that runs, with the keys that are in its store, account by account. All of them call it. */
export interface RunningGateway extends RunningTarget {
  readonly apiKeys: readonly SeededKey[]
  /** Resolves when its past requests are rolled up. */
  rolledUp(): Promise<void>
}

const API_KEY_COUNTS_DEFAULT = Array.from({ length: 100 }, () => 10)

/** `tollgate serve` on a store of its own, every commit synced to the disk, with many keys. */
export async function startGateway(input: StartGatewayInput): Promise<RunningGateway> {
  const { name, apiKeyCounts = API_KEY_COUNTS_DEFAULT, creditMicros } = input
  const folder = join(input.folder, name.replaceAll(/\W+/g, '-'))
  mkdirSync(folder)
  const url = input.databaseUrl ?? `sqlite:${join(folder, 'tollgate.db')}`
  const stores = await storePartsOf(input.checkout)
  const seeds = { url, apiKeyCounts, ...(creditMicros && { creditMicros }) }
  const apiKeys = await stores.seedStore(seeds)
  const file = join(folder, 'tollgate.db')
  const accountIds = [...new Set(apiKeys.map(({ accountId }) => accountId))]
  const active = input.activityAccount === undefined ? null : accountIds[input.activityAccount]
  const seeded = stores.seedActivity({
    file,
    apiKeys: apiKeys.filter(({ accountId }) => active === null || accountId === active),
    requests: input.activityRows ?? 0,
  })
  const program = await startProgram({
    command: process.execPath,
    args: [
      ...NODE_FLAGS,
      ...(input.nodeArgs ?? []),
      join(input.checkout ?? ROOT, 'bin', 'tollgate.js'),
      'serve',
    ],
    folder,
    cores: input.cores,
    env: {
      ...NODE_ENV,
      PORT: '0',
      DATABASE_URL: url,
      UPSTREAM_BASE_URL: `${input.upstreamAddress}/v1`,
      UPSTREAM_API_KEY: 'bench',
      // So soon that it counts to the round.
      TOLLGATE_STANDS_AFTER_MS: '1000',
      ...(input.looksAllUp === true && { TOLLGATE_LOOKUPS: 'all' }),
      ...input.settings,
    },
    logFile: join(folder, 'gateway.log'),
    findAddress: (written) => /"address":"([^"]+)"/.exec(written)?.[1] ?? null,
  })
  const callers = callersOf(apiKeys)
  const reader = await stores.openLedgerReader(url)
  const target = targetOf({ name, program, callers, givesRequestIds: true, probe: HEALTH })
  return {
    ...target,
    apiKeys,
    server: input.server ?? null,
    countUnsettled: reader.countUnsettled,
    rolledUp: reader.rolledUp,
    async close() {
      await reader.close()
      const failures = await target.close()
      const { witness } = target
      return [...failures, ...(await stores.checkLedger({ url, witness, seeded }))]
    },
  }
}

const STORE_PARTS = { seedStore, seedActivity, openLedgerReader, checkLedger }

/** The parts of a checkout's bench that write and read stores, whose schema may be another one there. */
async function storePartsOf(checkout: string | undefined): Promise<typeof STORE_PARTS> {
  if (checkout === undefined) return STORE_PARTS
  const files = ['seed-store.ts', 'seed-activity.ts', 'check-ledger.ts']
  const parts = files.map((file) => import(pathToFileURL(join(checkout, 'bench', file)).href))
  return Object.assign({}, ...(await Promise.all(parts)))
}

/** Keys as callers, in turns over the accounts: who calls next has mostly nothing to do with who called. */
export function callersOf(apiKeys: readonly SeededKey[]): Target['callers'] {
  const ofAccounts = new Map<string, SeededKey[]>()
  for (const apiKey of apiKeys) {
    const ofAccount = ofAccounts.get(apiKey.accountId)
    if (ofAccount === undefined) ofAccounts.set(apiKey.accountId, [apiKey])
    else ofAccount.push(apiKey)
  }
  const inTurns = [...ofAccounts.values()].flatMap((ofAccount) => [...ofAccount.entries()])
  return inTurns
    .sort(([a], [b]) => a - b)
    .map(([, { text }]) => ({ authorization: `Bearer ${text}` }))
}

interface TargetOfInput {
  readonly name: string
  readonly program: ChildProgram
  readonly callers: Target['callers']
  readonly givesRequestIds?: boolean
  /** Default: an empty object, which is refused. */
  readonly probe?: Probe
}

/** A program as a target that sees what it answers. */
function targetOf(input: TargetOfInput): RunningTarget {
  const { name, program, callers, givesRequestIds = false } = input
  const witness = new Witness({ name, givesRequestIds })
  return {
    name,
    address: program.address,
    tree: program.tree,
    callers,
    witness,
    server: null,
    probe: input.probe ?? EMPTY_OBJECT,
    countUnsettled: null,
    async close() {
      try {
        await program.stop()
      } catch (error) {
        witness.failed(String(error))
      }
      return [...witness.failures]
    },
  }
}
