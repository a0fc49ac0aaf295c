import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import { type Config, readConfig } from '../src/config.ts'
import { type Gateway, startGateway } from '../src/gateway.ts'
import { createAccount } from '../src/identity/accounts.ts'
import { createApiKey } from '../src/identity/api-keys.ts'
import { getBalance } from '../src/ledger/activity.ts'
import { type Audit, auditStore } from '../src/ledger/audit.ts'
import type { Clock } from '../src/vocabulary/clock.ts'
import { type Micros, micros } from '../src/vocabulary/money.ts'

export interface WorldInput {
  /** Settings over the defaults: shorter timeouts, smaller limits. */
  readonly settings?: Readonly<Record<string, string>>
  /** The gateway's clock; default the system's. */
  readonly clock?: Clock
}

export interface NewAccount {
  /** Backed credit in micro-dollars; default $10. Zero: none. */
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

/** A gateway on a real port, before a simulator on another, over a store in a folder of its own. */
export interface World {
  readonly simulator: Simulator
  readonly gateway: Gateway
  readonly config: Config
  /** Every log line so far. */
  readonly log: readonly string[]
  /** The folder that the store is in. */
  readonly folder: string
  url(path: string): string
  account(input?: NewAccount): Promise<TestAccount>
  backedBalanceMicros(accountId: string): Promise<Micros>
  audit(): Promise<Audit>
  close(): Promise<void>
}

export async function startWorld({ settings = {}, clock }: WorldInput = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const simulator = await startSimulator()
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'store.db')}`,
    LOG_LEVEL: 'trace',
    ...settings,
  })
  const log: string[] = []
  const gateway = await startGateway({
    config,
    upstream: { baseUrl: simulator.baseUrl, apiKey: 'upstream-key', mode: 'live' },
    log: memoryLog(log),
    writeLog: (lines) => void log.push(...lines.trimEnd().split('\n')),
    ...(clock === undefined ? {} : { clock }),
  })
  return {
    simulator,
    gateway,
    config,
    log,
    folder,
    url: (path) => `${gateway.address}${path}`,
    account: (input = {}) => makeAccount(gateway, input),
    async backedBalanceMicros(accountId) {
      const balance = await getBalance(gateway.store.db, { accountId, nowMs: Date.now() })
      if (balance === null) throw new Error(`no account ${accountId}`)
      return balance.backed.balanceMicros
    },
    audit: () => auditStore(gateway.store),
    async close() {
      await gateway.close()
      await simulator.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function memoryLog(lines: string[]): Logger {
  return pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
}

async function makeAccount(
  { store, ledger, ids }: Gateway,
  { creditMicros = 10_000_000, apiKeys = 1 }: NewAccount,
): Promise<TestAccount> {
  const nowMs = Date.now()
  const { id } = await createAccount(store.db, { id: ids.next('acct'), name: 'test', nowMs })
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
    const created = await createApiKey(store.db, {
      id: ids.next('key'),
      accountId: id,
      name: `test ${i}`,
      keyTag: 'tollgate',
      nowMs,
    })
    if (created !== null) texts.push(created.text)
  }
  const [apiKey = ''] = texts
  return { id, apiKey, apiKeys: texts }
}
