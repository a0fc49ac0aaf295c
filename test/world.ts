import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import type { VendorName } from '../simulator/vendors.ts'
import { type Config, readConfig } from '../src/app/config.ts'
import { oneUpstream } from '../src/app/configured-upstreams.ts'
import { type Gateway, startGateway } from '../src/app/gateway.ts'
import type { WireFormat } from '../src/formats/format.ts'
import { getRequest } from '../src/ledger/activity/activity.ts'
import { getBalance } from '../src/ledger/activity/balance.ts'
import { createApiKey } from '../src/ledger/api-keys.ts'
import { type Audit, auditStore } from '../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../src/operations/gateway/upkeep.ts'
import type { OperationSource } from '../src/operations/operations.ts'
import { makeScryptPasswords } from '../src/people/passwords.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { writeMadeStore } from '../src/store/testing/made-store.ts'
import { makeStoreFolder } from '../src/store/testing/store-folder.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import type { Dialect } from '../src/upstreams/upstream.ts'
import type { ConfiguredUpstreams } from '../src/upstreams/upstream-settings.ts'
import { type Clock, DAY_MS } from '../src/vocabulary/clock.ts'
import { type Micros, micros } from '../src/vocabulary/money.ts'
import type { PaymentJudgment } from '../src/vocabulary/purchase.ts'
import { vendorSettings } from './dialects/vendor-settings.ts'
import { MemoryLog } from './memory-log.ts'
import { chatAt } from './tollgate-process.ts'

export interface WorldInput {
  /** The formats of clients; default: the product's. */
  readonly formats?: readonly WireFormat[]
  /** The operations; default: the product's. */
  readonly operations?: readonly OperationSource[]
  /** The dialects that the gateway speaks to the simulator; default: the product's. */
  readonly dialect?: Dialect
  /** The vendor that the simulator plays, and so the dialect of the gateway. Default: OpenRouter. */
  readonly vendor?: VendorName
  /** Settings over the defaults: shorter timeouts, smaller limits. */
  readonly settings?: Readonly<Record<string, string>>
  /** Makes the database that the store is in, which goes with the world. Default: SQLite in the folder. */
  readonly database?: () => Promise<TestDatabase>
  /** `simulator`: play money, and so a sale of credit. Default `live`. */
  readonly mode?: 'simulator' | 'live'
  /** The upstreams, made from the usual one, which is the simulator. Default: it alone. */
  readonly configured?: (usual: ConfiguredUpstreams) => ConfiguredUpstreams
  /** The gateway's clock; default the system's. */
  readonly clock?: Clock
}

interface NewAccount {
  /** Paid credit in micro-dollars; default $10. Zero: none. */
  readonly creditMicros?: number
  /** How many keys; default 1. */
  readonly apiKeys?: number
}

export interface TestAccount {
  readonly id: string
  /** The first key's text. */
  readonly apiKey: string
  readonly apiKeys: readonly string[]
}

/** A gateway on a real port, in front of a simulator on another, with a store in its own folder. */
export interface World {
  readonly simulator: Simulator
  readonly gateway: Gateway
  readonly config: Config
  /** Every log line so far. */
  readonly log: readonly string[]
  /** Resolves with the first log line that has a text in it, from the start or to come. */
  logged(text: string): Promise<string>
  /** The folder that the store is in. */
  readonly folder: string
  url(path: string): string
  account(input?: NewAccount): Promise<TestAccount>
  /** Sends a body by a key: an object as JSON, text as it is. The path is that of chat by default. */
  send(apiKey: string, body: object | string, path?: string): Promise<Response>
  /** Sends a short chat by a key, with these fields of its body. */
  chat(apiKey: string, fields?: object): Promise<Response>
  /**
   * Makes a purchase of $25 by card, as a look at its provider does: paid and judged, or open without a
   * judgment. Resolves with its id.
   */
  purchase(accountId: string, judgment: PaymentJudgment | null): Promise<string>
  /** The record of a request, once nothing is in flight. */
  rowOf(requestId: string): Promise<RequestRow>
  backedBalanceMicros(accountId: string): Promise<Micros>
  audit(): Promise<Audit>
  /** Fails where the audit finds a difference once nothing is in flight. */
  expectExactLedger(): Promise<void>
  close(): Promise<void>
}

// A sixteenth of the work: worlds hash thousands of passwords.
const QUICK_PASSWORDS = makeScryptPasswords({ N: 1_024, r: 16 })

export async function startWorld(input: WorldInput = {}): Promise<World> {
  const { settings = {}, formats, operations, dialect, vendor, clock, mode = 'live' } = input
  const folder = makeStoreFolder('test')
  const simulator = await startSimulator(vendor === undefined ? {} : { vendor })
  const file = join(folder, 'store.db')
  const database = await input.database?.()
  const url = database?.url ?? settings['DATABASE_URL']
  if (url === undefined) await writeMadeStore(file)
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: url ?? `sqlite:${file}`,
    LOG_LEVEL: 'trace',
    ...settings,
  })
  const address = { mode, baseUrl: simulator.baseUrl, apiKey: 'upstream-key' }
  const alone = oneUpstream(config, address)
  const [base] = alone.upstreams
  const { rows } = simulator.catalog
  const usual =
    vendor === undefined
      ? alone
      : { ...alone, upstreams: [vendorSettings(base, { vendor, rows })] as const }
  const log = new MemoryLog()
  let purchases = 0
  const remove = () => removeParts({ simulator, database, folder })
  const gateway = await startGateway({
    config,
    configured: input.configured?.(usual) ?? usual,
    log: pino({ level: 'trace' }, log),
    ...(formats === undefined ? {} : { formats }),
    ...(operations === undefined ? {} : { operations }),
    ...(dialect === undefined
      ? {}
      : { dialects: new Map([[vendor ?? 'openrouter', async () => dialect]]) }),
    ...(clock === undefined ? {} : { clock }),
    passwords: QUICK_PASSWORDS,
  }).catch((cause: unknown) => remove().then(() => Promise.reject(cause)))
  return {
    simulator,
    gateway,
    config,
    log: log.lines,
    logged: (text) => log.logged(text),
    folder,
    url: (path) => `${gateway.address}${path}`,
    account: (input = {}) => makeAccount(gateway, input),
    send: (apiKey, body, path) => send(`${gateway.address}${path ?? CHAT}`, { apiKey, body }),
    chat: (apiKey, fields) => chatAt(gateway, apiKey, fields),
    purchase: (accountId, judgment) =>
      makePurchase(gateway, { accountId, judgment, number: ++purchases }),
    async rowOf(requestId) {
      await gateway.settled()
      const row = await getRequest(gateway.store.db, requestId)
      if (row === null) throw new Error(`no request ${requestId}`)
      return row
    },
    async backedBalanceMicros(accountId) {
      const balance = await getBalance(gateway.store.db, { accountId, nowMs: Date.now() })
      if (balance === null) throw new Error(`no account ${accountId}`)
      return balance.backed.balanceMicros
    },
    audit: () => auditStore(gateway.store, { checks: AUDIT_CHECKS }),
    async expectExactLedger() {
      await gateway.settled()
      const audit = await auditStore(gateway.store, { checks: AUDIT_CHECKS })
      expect(audit).toMatchObject({ ok: true, differences: [] })
    },
    async close() {
      await gateway.close()
      await remove()
    },
  }
}

/** Removes everything of a world except its gateway. */
async function removeParts({
  simulator,
  database,
  folder,
}: Pick<World, 'simulator' | 'folder'> & {
  readonly database: TestDatabase | undefined
}): Promise<void> {
  await simulator.close()
  await database?.remove()
  rmSync(folder, { recursive: true, force: true })
}

const CHAT = '/v1/chat/completions'

interface Sent {
  readonly apiKey: string
  readonly body: object | string
}

function send(url: string, { apiKey, body }: Sent): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Reads an answer to its end, with the id of its request. */
export async function readToEnd(answered: Promise<Response>) {
  const answer = await answered
  const { status: httpStatus, headers } = answer
  const requestId = headers.get('x-request-id') ?? ''
  return { httpStatus, headers, text: await answer.text(), requestId }
}

const FAR_MS = Date.parse('2999-01-01')

/** A stopped clock: no minute ends between two steps of a test, however slow the machine is. */
export function standingClock(): Clock {
  const nowMs = Date.now()
  return { nowMs: () => nowMs }
}

/** A clock that runs from noon: no day and no month ends between two steps of a test, whenever it begins. */
export function noonClock(): Clock {
  const startedMs = Date.now()
  const noonMs = startedMs - (startedMs % DAY_MS) + DAY_MS / 2
  return { nowMs: () => noonMs + Date.now() - startedMs }
}

/** A world that is there for all tests of a file or a `describe`, with what its input says before the first. */
export function worldOfFile(input: WorldInput | (() => WorldInput) = {}): World {
  const world = {} as World
  beforeAll(async () => Object.assign(world, await startWorld(inputOf(input))))
  afterAll(() => world.close())
  return world
}

/** A separate world for each test. */
export function worldOfEach(input: WorldInput | (() => WorldInput) = {}): World {
  const world = {} as World
  beforeEach(async () => Object.assign(world, await startWorld(inputOf(input))))
  afterEach(() => world.close())
  return world
}

const inputOf = (input: WorldInput | (() => WorldInput)) =>
  typeof input === 'function' ? input() : input

interface NewPurchase {
  readonly accountId: string
  readonly judgment: PaymentJudgment | null
  readonly number: number
}

async function makePurchase({ ledger, store }: Gateway, input: NewPurchase): Promise<string> {
  const { accountId, judgment } = input
  const number = String(input.number).padStart(26, '0')
  const paid = { currency: 'usd', units: 2_500n }
  // The result of a look at the provider.
  const state = judgment === null ? 'open' : 'paid'
  const checkout = { id: `pur_${number}`, cents: 2_500, state, expires_at_ms: FAR_MS } as const
  await store.db.insertInto('play_checkouts').values(checkout).execute()
  const verdict = await ledger.postPurchase({
    id: `pur_${number}`,
    accountId,
    method: 'card',
    source: `play:pur_${number}`,
    creditMicros: micros(25_000_000),
    priceUnits: 2_500n,
    seenReversals: 0,
    fact:
      judgment === null
        ? { kind: 'open', expiresAtMs: null }
        : {
            kind: 'paid',
            paid,
            reversedUnits: 0n,
            paymentRef: `pay_${number}`,
            dispute: null,
            judgment,
          },
    approved: false,
  })
  if (verdict.kind !== 'posted') throw new Error(`a purchase was ${verdict.kind}`)
  return verdict.purchase.id
}

async function makeAccount(
  { ledger, ids }: Gateway,
  { creditMicros = 10_000_000, apiKeys = 1 }: NewAccount,
): Promise<TestAccount> {
  const { id } = await ledger.createAccount({ id: ids.next('acct'), name: 'test' })
  if (creditMicros !== 0) {
    await ledger.addCredit({
      accountId: id,
      purse: 'backed',
      amountMicros: micros(creditMicros),
      expiresAtMs: null,
      reference: 'test',
    })
  }
  const texts: string[] = []
  for (let i = 0; i < apiKeys; i++) {
    const created = await createApiKey(ledger, {
      id: ids.next('key'),
      accountId: id,
      name: `test ${i}`,
      keyTag: 'tollgate',
    })
    if (created !== null) texts.push(created.text)
  }
  const [apiKey = ''] = texts
  return { id, apiKey, apiKeys: texts }
}
