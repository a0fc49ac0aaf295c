import type { Client } from 'pg'
import { MEMBERS, OPERATOR_ACTIONS } from '../../store/people-tables.ts'
import {
  dropConnection,
  isCancelled,
  isGivenUp,
  isLockTimeout,
  openPostgresWriter,
  type PostgresWriterInput,
  postgresFailure,
  sendTogether,
} from '../../store/postgres/postgres-connection.ts'
import { PURCHASES } from '../../store/sale-tables.ts'
import { ACCOUNTS, API_KEYS, CREDIT_CODES, ENTRIES, REQUESTS } from '../../store/schema.ts'
import { StoreRefused, StoreUnavailable } from '../../store/store-failure.ts'
import type { StoredRow } from '../../store/table.ts'
import type { LedgerLimits } from '../ledger.ts'
import { type Uncounted, uncountedBy } from '../rules/allowance.ts'
import { applyCommand } from '../rules/rules.ts'
import { type RowChanges, standingRecord, UnitOfWork } from '../rules/unit-of-work.ts'
import type { LedgerEngine } from './batched-ledger.ts'
import { type LedgerCommand, type LedgerVerdict, type NamedRows, rowsNamedBy } from './commands.ts'
import { periodCountValues, readPeriodCount } from './period-count.ts'
import {
  INSERT_MEMBERS,
  INSERT_OPERATOR_ACTIONS,
  LOCK_ACCOUNTS,
  LOCK_API_KEYS,
  LOCK_CREDIT_CODES,
  LOCK_PURCHASES,
  type PlannedStatement,
  RAISE_VERSION,
  READ_ACCOUNT_PERIOD,
  READ_API_KEY_PERIOD,
  READ_CODE_CREDITS,
  READ_CREDITS,
  READ_EXTERNAL_ACCOUNTS,
  READ_OPEN_REQUEST_IDS,
  READ_REQUESTS,
  READ_TIME,
  SAVE,
  SAVE_CREDIT_CODES,
  SAVE_PURCHASES,
  SAVE_STANDING,
  WRITE_ACCOUNTS,
  WRITE_API_KEYS,
  WRITE_CREDIT_CODES,
} from './postgres-statements.ts'

interface PostgresEngineInput extends PostgresWriterInput {
  readonly limits: LedgerLimits
  /** Null: the database's own time. */
  readonly nowMs: (() => number) | null
}

/** The most requests that one commit abandons of an instance; it is repeated until there are none. */
const ABANDONED_REQUESTS_MAX = 500

// A deadlock lets one of its transactions continue, so this many in a row are not chance.
const TRIES_MAX = 20

/** The ledger in a PostgreSQL database, on a connection of its own, which is opened again after it is lost. */
export class PostgresEngine implements LedgerEngine {
  readonly #input: PostgresEngineInput
  #client: Client | null = null
  /** The server's last warning since the commit was sent; null: none. */
  #warning: string | null = null

  constructor(input: PostgresEngineInput) {
    this.#input = input
  }

  /**
   * Applies commands in order and commits them, all or none. A transaction that the database ends in favour
   * of another is run again. Rejects with `StoreUnavailable` if the reply to the commit is lost, or the rows
   * of a single command stay locked; with `StoreRefused` otherwise, and then the store is unchanged.
   */
  async commit(commands: readonly LedgerCommand[]): Promise<LedgerVerdict[]> {
    for (let tries = 1; ; tries++) {
      const client = await this.#connect()
      try {
        return await this.#transact(client, commands)
      } catch (error) {
        if (isRunAgain(error) && tries < TRIES_MAX) {
          await this.#rollBack(client)
          continue
        }
        const failure = failureOf(error, commands.length)
        if (failure instanceof StoreUnavailable) this.#drop(client)
        else await this.#rollBack(client)
        throw failure
      }
    }
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end()
  }

  async #connect(): Promise<Client> {
    if (this.#client !== null) return this.#client
    try {
      const client = await openPostgresWriter(this.#input)
      client.once('end', () => this.#forget(client))
      client.once('error', () => this.#forget(client))
      client.on('notice', (notice) => this.#warn(notice))
      this.#client = client
      return client
    } catch (error) {
      throw postgresFailure(error)
    }
  }

  #forget(client: Client): void {
    if (this.#client === client) this.#client = null
  }

  /** Two round trips: everything is read and locked in the first, saved and committed in the second. */
  async #transact(client: Client, commands: readonly LedgerCommand[]): Promise<LedgerVerdict[]> {
    const work = new UnitOfWork()
    const nowMs = await this.#load(client, { work, commands })
    const terms = { nowMs, limits: this.#input.limits }
    const verdicts: LedgerVerdict[] = []
    for (const command of commands) {
      const uncounted = uncountedBy(work, command, nowMs)
      if (uncounted.length > 0) await this.#loadPeriodCounts(client, { work, uncounted })
      verdicts.push(applyCommand(work, command, terms))
    }
    const changes = work.changes()
    this.#warning = null
    await replies(client, () => [...save(client, changes), client.query('commit')])
    if (this.#warning !== null) throw new StatementFailed(new CommitDoubted(this.#warning))
    return verdicts
  }

  async #loadPeriodCounts(
    client: Client,
    { work, uncounted }: { readonly work: UnitOfWork; readonly uncounted: readonly Uncounted[] },
  ): Promise<void> {
    const changes = work.changes()
    await replies(client, () => save(client, changes))
    work.saved()
    for (const { owner, id, span } of uncounted) {
      const statement = owner === 'account' ? READ_ACCOUNT_PERIOD : READ_API_KEY_PERIOD
      const [reply] = await replies(client, () => [
        run(client, statement, periodCountValues(id, span)),
      ]).catch(refuseCancelled)
      work.loadPeriodCount(id, readPeriodCount(reply.rows[0]))
    }
  }

  async #load(
    client: Client,
    { work, commands }: { readonly work: UnitOfWork; readonly commands: readonly LedgerCommand[] },
  ): Promise<number> {
    const named = rowsNamedBy(commands)
    for (const instanceId of named.instanceIds) {
      await this.#nameOpenRequests(client, { named, instanceId })
    }
    const { accountIds, apiKeyIds, requestIds, credits, codes, creditCodeIds } = named
    const { purchaseSources, purchaseIds, standingIds, externalIds } = named
    const ownedIds = [...requestIds, ...standingIds]
    const [, accounts, apiKeys, external, creditCodes, purchases, requests, entries, ...more] =
      await replies(client, () => [
        client.query('begin isolation level read committed'),
        run(client, LOCK_ACCOUNTS, [[...accountIds], ownedIds]),
        run(client, LOCK_API_KEYS, [[...apiKeyIds], [...requestIds]]),
        externalIds.size === 0 ? NO_ROWS : run(client, READ_EXTERNAL_ACCOUNTS, [[...externalIds]]),
        codes.length + creditCodeIds.size === 0
          ? NO_ROWS
          : run(client, LOCK_CREDIT_CODES, [
              codes.map(({ codeHash }) => codeHash),
              [...creditCodeIds],
            ]),
        purchaseSources.size + purchaseIds.size === 0
          ? NO_ROWS
          : run(client, LOCK_PURCHASES, [[...purchaseSources], [...purchaseIds]]),
        ownedIds.length === 0 ? NO_ROWS : run(client, READ_REQUESTS, [ownedIds]),
        credits.length === 0
          ? NO_ROWS
          : run(client, READ_CREDITS, [
              credits.map(({ accountId }) => accountId),
              credits.map(({ reference }) => reference),
            ]),
        codes.length === 0
          ? NO_ROWS
          : run(client, READ_CODE_CREDITS, [
              codes.map(({ accountId }) => accountId),
              codes.map(({ codeHash }) => codeHash),
            ]),
        this.#input.nowMs === null ? run(client, READ_TIME, []) : NO_ROWS,
      ])
    const [codeEntries, time] = more
    // Those that are locked are newer.
    for (const row of external.rows) work.loadAccount(ACCOUNTS.read(row))
    for (const row of accounts.rows) work.loadAccount(ACCOUNTS.read(row))
    for (const row of apiKeys.rows) work.loadApiKey(API_KEYS.read(row))
    for (const row of requests.rows) work.loadRequest(REQUESTS.read(row))
    for (const row of creditCodes.rows) work.loadCreditCode(CREDIT_CODES.read(row))
    for (const row of purchases.rows) work.loadPurchase(PURCHASES.read(row))
    for (const row of [...entries.rows, ...codeEntries.rows]) work.loadCredit(ENTRIES.read(row))
    return this.#input.nowMs?.() ?? Number(time.rows[0]?.['now_ms'])
  }

  async #nameOpenRequests(
    client: Client,
    { named, instanceId }: { readonly named: NamedRows; readonly instanceId: string },
  ): Promise<void> {
    const [found] = await replies(client, () => [
      run(client, READ_OPEN_REQUEST_IDS, [instanceId, ABANDONED_REQUESTS_MAX]),
    ])
    // They are read again after their accounts are locked: those that have ended by then stay as they are.
    for (const row of found.rows) named.requestIds.add(String(row['id']))
  }

  // A success of a commit says nothing where a warning comes before it: after "canceling wait for synchronous
  // replication" the rows are on this server alone.
  #warn({ code, message }: ServerNotice): void {
    if (code !== NOTICE) this.#warning = message ?? 'without a text'
  }

  /** Ends the transaction, or drops the connection. */
  async #rollBack(client: Client): Promise<void> {
    try {
      await client.query('rollback')
    } catch {
      this.#drop(client)
    }
  }

  /** Ends the connection without a word to the server, which may not answer: the next commit makes another. */
  #drop(client: Client): void {
    this.#forget(client)
    dropConnection(client)
  }
}

/** What the driver rejected a statement with, apart from what a rule throws. */
class StatementFailed extends Error {
  override readonly cause: unknown

  constructor(cause: unknown) {
    super('a statement failed')
    this.cause = cause
  }
}

/** The parts of a notice or warning of the server that are read. */
interface ServerNotice {
  readonly code: string | undefined
  readonly message: string | undefined
}

/** SQLSTATE of a notice that is no warning. */
const NOTICE = '00000'

/** The server warned while it committed: the commit may be on it alone. */
class CommitDoubted extends Error {
  override readonly name = 'CommitDoubted'
}

/** Whether the database ended the transaction in favour of another one, so that it is run again. */
function isRunAgain(error: unknown): boolean {
  return error instanceof StatementFailed && isGivenUp(error.cause)
}

/** The failure of a batch of so many commands. */
function failureOf(error: unknown, commands: number): StoreRefused | StoreUnavailable {
  if (!(error instanceof StatementFailed)) {
    return new StoreRefused('a command can not be', { cause: error })
  }
  const { cause } = error
  // Of many commands, those whose rows are not locked succeed one by one.
  if (isLockTimeout(cause) && commands > 1) {
    return new StoreRefused('a row of the batch stayed locked', { cause: error })
  }
  if (isGivenUp(cause) || isLockTimeout(cause)) {
    return new StoreUnavailable('the rows stayed locked', { cause: error })
  }
  return postgresFailure(cause)
}

/** A count that took too long is the fault of its command alone: the store works. */
function refuseCancelled(error: unknown): never {
  if (!(error instanceof StatementFailed && isCancelled(error.cause))) throw error
  throw new StoreRefused('adding up the requests of a period took too long', { cause: error.cause })
}

interface Reply {
  readonly rows: readonly StoredRow[]
}

const NO_ROWS: Promise<Reply> = Promise.resolve({ rows: [] })

function run(client: Client, statement: PlannedStatement, values: unknown[]): Promise<Reply> {
  return client.query<Record<string, unknown>>({ ...statement, values })
}

function save(client: Client, changes: RowChanges): Promise<Reply>[] {
  const { accounts, apiKeys, openedRequests, requests, entries, creditCodes } = changes
  const written = [
    ...runIfAny(client, WRITE_ACCOUNTS, changes.writtenAccounts.map(ACCOUNTS.record)),
    ...runIfAny(client, WRITE_API_KEYS, changes.writtenApiKeys.map(API_KEYS.record)),
    ...runIfAny(client, WRITE_CREDIT_CODES, changes.writtenCreditCodes.map(CREDIT_CODES.record)),
  ]
  const saved = run(client, SAVE, [
    JSON.stringify(accounts.map((row) => ACCOUNTS.changedRecord(row))),
    JSON.stringify(apiKeys.map((row) => API_KEYS.changedRecord(row))),
    JSON.stringify(openedRequests.map((row) => REQUESTS.record(row))),
    JSON.stringify(requests.map((row) => REQUESTS.changedRecord(row))),
    JSON.stringify(entries.map((entry) => ENTRIES.record(entry))),
  ])
  const redeemed = creditCodes.map((row) => CREDIT_CODES.changedRecord(row))
  const actions = changes.operatorActions.map((row) => OPERATOR_ACTIONS.record(row))
  return [
    ...written,
    saved,
    ...runIfAny(client, SAVE_STANDING, changes.standing.map(standingRecord)),
    ...runIfAny(client, SAVE_CREDIT_CODES, redeemed),
    ...runIfAny(client, INSERT_MEMBERS, changes.members.map(MEMBERS.record)),
    ...runIfAny(client, INSERT_OPERATOR_ACTIONS, actions),
    ...savePurchases(client, changes),
    ...(changes.changesCallers ? [run(client, RAISE_VERSION, [])] : []),
  ]
}

function savePurchases(
  client: Client,
  { openedPurchases, purchases }: RowChanges,
): Promise<Reply>[] {
  if (openedPurchases.length + purchases.length === 0) return []
  return [
    run(client, SAVE_PURCHASES, [
      JSON.stringify(openedPurchases.map((row) => PURCHASES.record(row))),
      JSON.stringify(purchases.map((row) => PURCHASES.changedRecord(row))),
    ]),
  ]
}

function runIfAny(
  client: Client,
  statement: PlannedStatement,
  records: readonly object[],
): Promise<Reply>[] {
  return records.length === 0 ? [] : [run(client, statement, [JSON.stringify(records)])]
}

/**
 * Sends statements together and waits for the replies. Where one fails, so do those behind it in its
 * transaction, and the first failure is the one that says why.
 */
async function replies<T extends readonly Promise<Reply>[]>(
  client: Client,
  send: () => readonly [...T],
): Promise<{ -readonly [Place in keyof T]: Reply }> {
  const sent = sendTogether(client, send)
  for (const reply of await Promise.allSettled<Reply>(sent)) {
    if (reply.status === 'rejected') throw new StatementFailed(reply.reason)
  }
  // Each is fulfilled by now.
  return (await Promise.all(sent)) as { -readonly [Place in keyof T]: Reply }
}
