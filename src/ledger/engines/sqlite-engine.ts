import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  HOLDS,
  openRequest,
  REQUESTS,
  type RequestRow,
} from '../../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../../store/settings.ts'
import type { NamedColumn, StoredRow } from '../../store/table.ts'
import { applyCommand, rowsNamedBy, uncountedBy } from '../apply-command.ts'
import type { LedgerCommand } from '../commands.ts'
import type { Uncounted } from '../counts.ts'
import type { SettleStandingInput } from '../ledger.ts'
import type { Rows, StatedTable } from '../rows.ts'
import type { Terms } from '../rules/open-hold.ts'
import { type CreditPlace, FOUND, type NamedRows, type RowChanges, UnitOfWork } from '../work.ts'
import type { CommittedBatch } from './batched-ledger.ts'

const CACHED_ROWS_MAX = 10_000

/** Selects, from a JSON array of ids, the requests whose reported cost needs no look-up. */
const STANDING = `cost_stands = 1 and state = 'provisional' and id in (select value from json_each(?))`

/** The ledger in a SQLite store, on the one connection that writes it. */
export class SqliteEngine {
  readonly #connection: DatabaseSync
  readonly #statements: ReturnType<typeof prepareStatements>
  /** By the names of counts. */
  readonly #counts = new Map<string, StatementSync>()
  readonly #found: Readonly<Record<string, StatementSync>>
  readonly #saves = new Map<StatedTable, TableSaves>()
  readonly #committed = new RowCache(CACHED_ROWS_MAX)
  #othersVersion: unknown = null

  constructor(connection: DatabaseSync) {
    this.#connection = connection
    this.#statements = prepareStatements(connection)
    this.#found = prepareFound(connection)
  }

  /**
   * Applies commands in order and commits them, all or none. Throws the error of SQLite or of a rule, and
   * then the store is unchanged.
   */
  apply(commands: readonly LedgerCommand[], terms: Terms): CommittedBatch {
    this.#statements.begin.run()
    try {
      this.#dropRowsOthersWrote()
      const work = new UnitOfWork()
      this.#load(work, rowsNamedBy(commands, { areOwnersKnown: true }))
      const saved: RowChanges[] = []
      const save = (): void => {
        const changes = work.changes()
        this.#save(changes)
        saved.push(changes)
      }
      let unreadRows = 0
      const verdicts = commands.map((command) => {
        const uncounted = uncountedBy(work, command, terms.nowMs)
        if (uncounted.length > 0) {
          save()
          work.saved()
          for (const each of uncounted) this.#loadCount(work, each)
        }
        const verdict = applyCommand(work, command, terms)
        if (command.kind !== 'settleStanding') return verdict
        const rows = this.#settleUnread(work, command.input, terms)
        unreadRows += rows
        return Number(verdict) + rows
      })
      save()
      this.#statements.commit.run()
      for (const changes of saved) this.#committed.commit(changes)
      return { verdicts, hasWritten: work.writes + unreadRows > 0 }
    } catch (error) {
      // After a full disk or an I/O error SQLite may already have rolled back.
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
      this.#committed.clear()
      throw error
    }
  }

  /** Called under the write lock, so that no other process can write before the commit. */
  #dropRowsOthersWrote(): void {
    // This number changes when another connection, of this process or another one, has committed.
    const version = this.#statements.othersVersion.get()?.['data_version']
    if (version === this.#othersVersion) return
    this.#othersVersion = version
    this.#committed.clear()
  }

  /**
   * Settles provisional requests whose reported cost needs no look-up, without loading them, and returns their number.
   */
  #settleUnread(
    work: UnitOfWork,
    { requestIds, to }: SettleStandingInput,
    { nowMs }: Terms,
  ): number {
    const { stand, recall } = this.#statements
    const ids = JSON.stringify(requestIds.filter((id) => work.requests.get(id) === undefined))
    return Number((to === 'final' ? stand.run(nowMs, ids) : recall.run(ids)).changes)
  }

  #load(work: UnitOfWork, named: NamedRows): void {
    for (const requestId of named.openedIds) this.#loadOpened(work, requestId)
    for (const requestId of named.requestIds) this.#loadRequest(work, requestId)
    for (const instanceId of named.instanceIds) {
      for (const { id } of this.#statements.openRequestIds.all(instanceId, instanceId)) {
        this.#loadRequest(work, String(id))
      }
    }
    for (const accountId of named.accountIds) this.#loadAccount(work, accountId)
    for (const externalId of named.externalIds) {
      const found = this.#statements.accountOfExternalId.get(externalId)
      if (found !== undefined) this.#loadAccount(work, String(found['id']))
    }
    for (const apiKeyId of named.apiKeyIds) this.#loadApiKey(work, apiKeyId)
    for (const place of named.credits) this.#loadCredit(work, place)
    for (const { of, by, value } of named.looks) {
      loadIfThere(work[of], this.#found[`${of} ${by}`]?.get(value))
    }
    for (const { accountId, codeHash } of named.codes) {
      const code = work.creditCodes.get(codeHash)
      if (code !== undefined) this.#loadCredit(work, { accountId, reference: code.id })
    }
  }

  /** Loads a request that is about to be opened, if it exists. */
  #loadOpened(work: UnitOfWork, requestId: string): void {
    if (this.#statements.isThere.get(requestId, requestId) === undefined) return
    this.#loadRequest(work, requestId)
  }

  #loadRequest(work: UnitOfWork, requestId: string): void {
    if (work.requests.get(requestId) !== undefined) return
    const { hold, request } = this.#statements
    const known = this.#committed.movingRequest(requestId)
    const held = known === undefined ? rowOf(HOLDS, hold.get(requestId)) : undefined
    const row =
      known ?? (held === undefined ? rowOf(REQUESTS, request.get(requestId)) : openRequest(held))
    if (row === undefined) return
    // An open request in `requests` is not cached.
    if (held !== undefined || known?.state === 'open') work.requests.loadHeld(row)
    else work.requests.load(row)
    this.#loadAccount(work, row.accountId)
    this.#loadApiKey(work, row.apiKeyId)
  }

  #loadAccount(work: UnitOfWork, accountId: string): void {
    if (work.accounts.get(accountId) !== undefined) return
    const row =
      this.#committed.account(accountId) ?? rowOf(ACCOUNTS, this.#statements.account.get(accountId))
    if (row !== undefined) work.accounts.load(row)
  }

  #loadApiKey(work: UnitOfWork, apiKeyId: string): void {
    if (work.apiKeys.get(apiKeyId) !== undefined) return
    const row =
      this.#committed.apiKey(apiKeyId) ?? rowOf(API_KEYS, this.#statements.apiKey.get(apiKeyId))
    if (row !== undefined) work.apiKeys.load(row)
  }

  #loadCredit(work: UnitOfWork, place: CreditPlace): void {
    if (work.creditEntry(place) !== undefined) return
    loadIfThere(work.entries, this.#statements.credit.get(place.accountId, place.reference))
  }

  #loadCount(work: UnitOfWork, uncounted: Uncounted): void {
    const { count, id, span } = uncounted
    let statement = this.#counts.get(count.name)
    if (statement === undefined) {
      statement = this.#connection.prepare(count.text.replaceAll('$', '?'))
      this.#counts.set(count.name, statement)
    }
    work.loadCounted(uncounted, count.read(statement.get(...count.values(id, span))))
  }

  #save({ rows, changesCallers }: RowChanges): void {
    for (const row of rows.holds.deleted) this.#statements.deleteHold.run(row.id)
    for (const { table, inserted, written, updated } of Object.values(rows)) {
      if (inserted.length + written.length + updated.length === 0) continue
      const save = this.#savesOf(table)
      for (const row of written) save.write.run(...table.values(row))
      for (const row of inserted) save.insert.run(...table.values(row))
      for (const row of updated) save.update.run(...table.changedValues(row))
    }
    if (changesCallers) this.#statements.raiseCallersVersion.run()
  }

  #savesOf(table: StatedTable): TableSaves {
    const known = this.#saves.get(table)
    if (known !== undefined) return known
    const saves = new TableSaves(this.#connection, table)
    this.#saves.set(table, saves)
    return saves
  }
}

/** The statements that save rows of a table, each prepared when it is first needed. */
class TableSaves {
  readonly #connection: DatabaseSync
  readonly #table: StatedTable
  #insert: StatementSync | null = null
  #write: StatementSync | null = null
  #update: StatementSync | null = null

  constructor(connection: DatabaseSync, table: StatedTable) {
    this.#connection = connection
    this.#table = table
  }

  /** Inserts a row. Takes the row's `values`. */
  get insert(): StatementSync {
    this.#insert ??= this.#connection.prepare(insert(this.#table))
    return this.#insert
  }

  /** Inserts a row, or updates all of it. Takes the row's `values`. */
  get write(): StatementSync {
    this.#write ??= this.#connection.prepare(write(this.#table))
    return this.#write
  }

  /** Updates the columns of a row that change. Takes the row's `changedValues`. */
  get update(): StatementSync {
    this.#update ??= this.#connection.prepare(update(this.#table))
    return this.#update
  }
}

function loadIfThere(rows: Pick<Rows<object>, 'loadStored'>, stored: StoredRow | undefined): void {
  if (stored !== undefined) rows.loadStored(stored)
}

function rowOf<Row>(
  table: { readonly read: (stored: StoredRow) => Row },
  stored: StoredRow | undefined,
): Row | undefined {
  return stored === undefined ? undefined : table.read(stored)
}

/**
 * The last committed rows, so that the rows of a busy key are not read again for every request.
 * They are valid only while no other process has written to the store. The engine checks this first, under the
 * write lock, and otherwise clears the cache.
 */
class RowCache {
  readonly #rowsMax: number
  readonly #accounts = new Map<string, AccountRow>()
  readonly #apiKeys = new Map<string, ApiKeyRow>()
  // Only requests that are asked for again within seconds, to be settled or looked up.
  readonly #movingRequests = new Map<string, RequestRow>()

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax
  }

  account(id: string): AccountRow | undefined {
    return this.#accounts.get(id)
  }

  apiKey(id: string): ApiKeyRow | undefined {
    return this.#apiKeys.get(id)
  }

  movingRequest(id: string): RequestRow | undefined {
    return this.#movingRequests.get(id)
  }

  clear(): void {
    this.#accounts.clear()
    this.#apiKeys.clear()
    this.#movingRequests.clear()
  }

  /** Adds the changes of a batch, once it is committed. */
  commit(changes: RowChanges): void {
    const { accounts, apiKeys, holds, requests } = changes.rows
    for (const row of accounts.written) put(this.#accounts, row, this.#rowsMax)
    for (const row of accounts.updated) put(this.#accounts, row, this.#rowsMax)
    for (const row of apiKeys.written) put(this.#apiKeys, row, this.#rowsMax)
    for (const row of apiKeys.updated) put(this.#apiKeys, row, this.#rowsMax)
    for (const row of holds.inserted) put(this.#movingRequests, row, this.#rowsMax)
    for (const row of holds.updated) put(this.#movingRequests, row, this.#rowsMax)
    for (const rows of [requests.inserted, requests.updated]) {
      for (const row of rows) {
        if (row.state === 'provisional' && !row.costStands)
          put(this.#movingRequests, row, this.#rowsMax)
        else this.#movingRequests.delete(row.id)
      }
    }
  }
}

/** When full, clear it: the next requests reload the rows that are in use. */
function put<Row extends { readonly id: string }>(
  rows: Map<string, Row>,
  row: Row,
  rowsMax: number,
): void {
  if (rows.size >= rowsMax && !rows.has(row.id)) rows.clear()
  rows.set(row.id, row)
}

/** The statements of a batch, prepared on the writer's connection. Parameters are in the order of the schema. */
function prepareStatements(connection: DatabaseSync) {
  return {
    begin: connection.prepare('begin immediate'),
    commit: connection.prepare('commit'),
    othersVersion: connection.prepare('pragma data_version'),
    account: connection.prepare('select * from accounts where id = ?'),
    accountOfExternalId: connection.prepare('select id from accounts where external_id = ?'),
    apiKey: connection.prepare('select * from api_keys where id = ?'),
    request: connection.prepare('select * from requests where id = ?'),
    hold: connection.prepare('select * from holds where id = ?'),
    isThere: connection.prepare(
      'select 1 from requests where id = ? union all select 1 from holds where id = ?',
    ),
    deleteHold: connection.prepare('delete from holds where id = ?'),
    openRequestIds: connection.prepare(
      `select id from holds where instance_id = ?
        union all select id from requests where cost_stands = 0 and state = 'open' and instance_id = ?`,
    ),
    credit: connection.prepare('select * from entries where account_id = ? and reference = ?'),
    stand: connection.prepare(
      `update requests set state = 'final', settled_at_ms = ? where ${STANDING}`,
    ),
    recall: connection.prepare(`update requests set cost_stands = 0 where ${STANDING}`),
    raiseCallersVersion: connection.prepare(RAISE_CALLERS_VERSION),
  }
}

/** Statements that find a row by one of its columns, by kind of row and column. */
function prepareFound(connection: DatabaseSync): Record<string, StatementSync> {
  const found: Record<string, StatementSync> = {}
  for (const [of, { table, by }] of Object.entries(FOUND)) {
    for (const column of by) {
      found[`${of} ${column}`] = connection.prepare(
        `select * from ${table.name} where ${column} = ?`,
      )
    }
  }
  return found
}

function update({ name, key, moving }: StatedTable): string {
  const is = (column: NamedColumn): string => `${column.name} = ?`
  return `update ${name} set ${moving.map(is).join(', ')} where ${key.map(is).join(' and ')}`
}

function insert({ name, columns }: StatedTable): string {
  const places = columns.map(() => '?').join(', ')
  return `insert into ${name} (${columns.map((column) => column.name).join(', ')}) values (${places})`
}

function write(table: StatedTable): string {
  const others = table.columns.filter((column) => !table.key.includes(column))
  const sets = others.map(({ name }) => `${name} = excluded.${name}`)
  return `${insert(table)} on conflict (id) do update set ${sets.join(', ')}`
}
