import { randomFillSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { readConfig } from '../../src/app/config.ts'
import { oneUpstream } from '../../src/app/configured-upstreams.ts'
import { type Gateway, startGateway } from '../../src/app/gateway.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { createApiKey } from '../../src/ledger/api-keys.ts'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import type { BatchedLedger } from '../../src/ledger/engines/batched-ledger.ts'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import { Presence } from '../../src/ledger/instances/presence.ts'
import type { AddApiKeyInput } from '../../src/ledger/ledger.ts'
import { entriesOf } from '../../src/ledger/testing/entries-of.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Entry, RequestRow } from '../../src/store/schema.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import { createIdSource } from '../../src/vocabulary/ids.ts'
import { type Micros, micros } from '../../src/vocabulary/money.ts'
import { bundled } from '../bundled.ts'
import { chatAt, type ServeProcess, serve } from '../tollgate-process.ts'

/** The initial credit of a bench's account. */
export const CREDIT_MICROS = 1_000_000_000

/** As many as a key may have in flight. */
export const SENT_AT_ONCE = 8

/**
 * An account on a store of any engine, a simulator as its upstream, and between them `tollgate serve`
 * in processes that a test kills. The bench itself has the store open only while it looks, so that who
 * starts after a kill recovers alone.
 */
export interface CrashBench {
  readonly url: string
  readonly simulator: Simulator
  readonly accountId: string
  readonly apiKeys: readonly [CrashKey, ...CrashKey[]]
  /** Closed with the bench, in reverse. */
  readonly closing: AsyncDisposableStack
  /** Starts a gateway before the simulator; `settings` go over its environment. */
  serve(settings?: Readonly<Record<string, string>>): Promise<ServeProcess>
  /** Starts a gateway in this process, which no test kills, for a tenth of the work. */
  serveHere(settings?: Readonly<Record<string, string>>): Promise<Gateway>
  /**
   * Ends what dead gateways left open. On SQLite nothing: the next `serve` does. On PostgreSQL what
   * another gateway does once it has watched for long enough; no gateway may be alive meanwhile.
   */
  bury(): Promise<void>
  /** Sends so many chats by the first key, eight at once, half of them streams; fails if one is not answered. */
  sendAll(gateway: Pick<ServeProcess, 'address'>, requests: number): Promise<void>
  look<T>(read: (store: Store) => Promise<T>): Promise<T>
  /** Every request that opened a hold, newest first. */
  requests(): Promise<readonly RequestRow[]>
  /** Every entry, oldest first. */
  entries(): Promise<readonly Entry[]>
  /** Resolves with the requests once they are as wanted. */
  until(reached: (rows: readonly RequestRow[]) => boolean): Promise<readonly RequestRow[]>
  /** Fails unless every figure of the store is exact, as `tollgate audit` checks it. */
  audit(): Promise<void>
  close(): Promise<void>
}

/** A key of the account of a bench. */
interface CrashKey {
  readonly id: string
  /** The requests of clients. */
  readonly text: string
}

interface CrashBenchInput {
  readonly createDatabase: () => Promise<TestDatabase>
  /** How many keys; default 1. */
  readonly apiKeys?: number
  /** The limits of each of them, by its place. Default: none has any. */
  readonly limitsOf?: (place: number) => KeyLimits
  /** The credit of the account. Default: {@link CREDIT_MICROS} of paid credit. */
  readonly ofAccount?: AccountLimits
}

/** The spending limits of an account. */
interface AccountLimits extends Pick<AddApiKeyInput, 'allowance'> {
  /** Its paid credit. */
  readonly creditMicros: Micros
}

/** The limits of a key on what it spends. */
export type KeyLimits = Pick<AddApiKeyInput, 'creditLimitMicros' | 'allowance'>

/** Opens a bench with an account, whose credit is added before the first gateway starts. */
export async function openCrashBench(input: CrashBenchInput): Promise<CrashBench> {
  const closing = new AsyncDisposableStack()
  const database = await input.createDatabase()
  closing.defer(() => database.remove())
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-crash-'))
  closing.defer(() => rmSync(folder, { recursive: true }))
  const simulator = await startSimulator()
  closing.defer(() => simulator.close())
  const { url } = database
  const look: CrashBench['look'] = (read) => withStore(url, read)
  const account = await look((store) => makeAccount(store, input))
  return {
    url,
    simulator,
    ...account,
    closing,
    look,
    async serve(settings = {}) {
      const env = { ...environmentOf({ url, baseUrl: simulator.baseUrl }), ...settings }
      const gateway = await serve({ folder, env, page: 'off', program: bundled('tollgate') })
      // No process outlives its test, even if it fails in between.
      closing.defer(async () => {
        await gateway.stop('SIGKILL')
      })
      return gateway
    },
    async serveHere(settings = {}) {
      const env = { ...environmentOf({ url, baseUrl: simulator.baseUrl }), ...settings }
      const config = readConfig({ PORT: '0', ...env })
      // As `serve` does without an upstream, with the simulator of the bench in place of its own.
      const isPlay = env.UPSTREAM_BASE_URL === ''
      const address = {
        mode: isPlay ? 'simulator' : 'live',
        baseUrl: isPlay ? simulator.baseUrl : env.UPSTREAM_BASE_URL,
        apiKey: 'upstream-key',
      } as const
      const configured = oneUpstream(config, address)
      const gateway = await startGateway({ config, configured, log: pino({ level: 'silent' }) })
      closing.defer(() => gateway.close())
      return gateway
    },
    async sendAll(gateway, requests) {
      for (let sent = 0; sent < requests; sent += SENT_AT_ONCE) {
        const answers = Array.from({ length: SENT_AT_ONCE }, (_, place) =>
          chatAt(gateway, account.apiKeys[0].text, { stream: place % 2 === 0 }),
        )
        for (const answer of await Promise.all(answers)) {
          expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
        }
      }
    },
    bury: () => look(buryTheDead),
    requests: () => look(allRequests),
    entries: () => look((store) => entriesOf(store.db, account.accountId)),
    until: (reached) =>
      look(async (store) => {
        let rows: readonly RequestRow[] = []
        // Asking without a pause would take the time of the gateway that is waited for.
        const isReached = async () => {
          rows = await allRequests(store)
          return reached(rows)
        }
        await expect.poll(isReached, { interval: 10 }).toBe(true)
        return rows
      }),
    audit: () =>
      look(async (store) => {
        expect(await auditStore(store, { checks: AUDIT_CHECKS })).toMatchObject({
          ok: true,
          differences: [],
        })
      }),
    close: () => closing.disposeAsync(),
  }
}

function environmentOf({ url, baseUrl }: { readonly url: string; readonly baseUrl: string }) {
  return {
    DATABASE_URL: url,
    UPSTREAM_BASE_URL: baseUrl,
    UPSTREAM_API_KEY: 'upstream-key',
    TOLLGATE_REQUESTS_PER_MINUTE: '1000000',
    TOLLGATE_LOOKUPS: 'all',
  }
}

async function withStore<T>(url: string, read: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ url })
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}

const ids = createIdSource({ clock: systemClock, fillRandom: (bytes) => randomFillSync(bytes) })

async function makeAccount(
  store: Store,
  {
    apiKeys = 1,
    limitsOf = () => ({}),
    ofAccount: { creditMicros, ...limits } = { creditMicros: micros(CREDIT_MICROS) },
  }: CrashBenchInput,
): Promise<Pick<CrashBench, 'accountId' | 'apiKeys'>> {
  return withLedger(store, async (ledger) => {
    const created = { id: ids.next('acct'), name: 'crowd', ...limits }
    const { id: accountId } = await ledger.createAccount(created)
    await ledger.addCredit({
      accountId,
      purse: 'backed',
      amountMicros: creditMicros,
      expiresAtMs: null,
      reference: 'first',
    })
    const create = async (place: number): Promise<CrashKey> => {
      const created = await createApiKey(ledger, {
        id: ids.next('key'),
        accountId,
        name: `key ${place}`,
        keyTag: 'tollgate',
        ...limitsOf(place),
      })
      if (created === null) throw new Error('there is no such account')
      return { id: created.apiKey.id, text: created.text }
    }
    const made: [CrashKey, ...CrashKey[]] = [await create(0)]
    while (made.length < apiKeys) made.push(await create(made.length))
    return { accountId, apiKeys: made }
  })
}

async function withLedger<T>(store: Store, use: (ledger: BatchedLedger) => Promise<T>): Promise<T> {
  const ledger = createLedger({ location: store.location })
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

async function allRequests(store: Store): Promise<readonly RequestRow[]> {
  return (await listRequests(store.db, { limit: 100_000 })).requests
}

async function buryTheDead(store: Store): Promise<void> {
  if (store.location.kind === 'sqlite') return
  await withLedger(store, async (ledger) => {
    const failures: unknown[] = []
    const presence = new Presence({
      db: store.db,
      ledger,
      instanceId: ids.next('inst'),
      // One look is enough to watch, and the next to know.
      deadAfterMs: 0,
      onAbandoned: () => {},
      onFailure: (cause) => failures.push(cause),
    })
    await presence.beat()
    await presence.beat()
    await presence.close()
    expect(failures).toEqual([])
  })
}
