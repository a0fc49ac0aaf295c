import type { DatabaseSync } from 'node:sqlite'
import { MEMBERS, OPERATOR_ACTIONS } from '../../store/people-tables.ts'
import { PURCHASES } from '../../store/sale-tables.ts'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  ENTRIES,
  REQUESTS,
  type RequestRow,
  type TABLES,
} from '../../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../../store/settings.ts'
import type { NamedColumn, StoredRow } from '../../store/table.ts'
import type { RedeemCodeInput } from '../ledger.ts'
import { type Uncounted, uncountedBy } from '../rules/allowance.ts'
import type { Terms } from '../rules/open-hold.ts'
import { applyCommand } from '../rules/rules.ts'
import {
  type CreditPlace,
  type RowChanges,
  standingRecord,
  UnitOfWork,
} from '../rules/unit-of-work.ts'
import { type LedgerCommand, type LedgerVerdict, type NamedRows, rowsNamedBy } from './commands.ts'
import { periodCountText, periodCountValues, readPeriodCount } from './period-count.ts'

const CACHED_ROWS_MAX = 10_000

/** The ledger in a SQLite store, on the one connection that writes it. */
export class SqliteEngine {
  readonly #connection: DatabaseSync
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #committed = new RowCache(CACHED_ROWS_MAX)
  #othersVersion: unknown = null

  constructor(connection: DatabaseSync) {
    this.#connection = connection
    this.#statements = prepareStatements(connection)
  }

  /**
   * Applies commands in order and commits them, all or none. Throws what SQLite or a rule throws, and
   * then the store is as it was.
   */
  apply(commands: readonly LedgerCommand[], terms: Terms): LedgerVerdict[] {
    this.#statements.begin.run()
    try {
      this.#forgetWhereOthersWrote()
      const work = new UnitOfWork()
      this.#load(work, rowsNamedBy(commands, { areOwnersKnown: true }))
      const saved: RowChanges[] = []
      const save = (): void => {
        const changes = work.changes()
        this.#save(changes)
        saved.push(changes)
      }
      const verdicts = commands.map((command) => {
        const uncounted = uncountedBy(work, command, terms.nowMs)
        if (uncounted.length > 0) {
          save()
          work.saved()
          for (const period of uncounted) this.#loadPeriodCount(work, period)
        }
        return applyCommand(work, command, terms)
      })
      save()
      this.#statements.commit.run()
      for (const changes of saved) this.#committed.commit(changes)
      return verdicts
    } catch (error) {
      // After a full disk or an I/O error SQLite may have rolled back by itself.
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
      this.#committed.clear()
      throw error
    }
  }

  /** Called under the write lock, so that no other process can write before the commit. */
  #forgetWhereOthersWrote(): void {
    // A number that changes when another connection, of this process or not, has committed.
    const version = this.#statements.othersVersion.get()?.['data_version']
    if (version === this.#othersVersion) return
    this.#othersVersion = version
    this.#committed.clear()
  }

  #load(work: UnitOfWork, named: NamedRows): void {
    for (const requestId of named.openedIds) this.#loadRequest(work, requestId)
    for (const requestId of named.requestIds) this.#loadRequest(work, requestId)
    for (const instanceId of named.instanceIds) {
      for (const { id } of this.#statements.openRequestIds.all(instanceId)) {
        this.#loadRequest(work, String(id))
      }
    }
    for (const requestId of named.standingIds) {
      if (work.request(requestId) !== undefined) continue
      const row = rowOf(REQUESTS, this.#statements.request.get(requestId))
      if (row !== undefined) work.loadRequest(row)
    }
    for (const accountId of named.accountIds) this.#loadAccount(work, accountId)
    for (const externalId of named.externalIds) {
      const found = this.#statements.accountOfExternalId.get(externalId)
      if (found !== undefined) this.#loadAccount(work, String(found['id']))
    }
    for (const apiKeyId of named.apiKeyIds) this.#loadApiKey(work, apiKeyId)
    for (const place of named.credits) this.#loadCredit(work, place)
    for (const code of named.codes) this.#loadCreditCode(work, code)
    for (const creditCodeId of named.creditCodeIds) {
      const row = rowOf(CREDIT_CODES, this.#statements.creditCodeOfId.get(creditCodeId))
      if (row !== undefined) work.loadCreditCode(row)
    }
    const { purchase, purchaseOfId } = this.#statements
    for (const stored of [
      ...[...named.purchaseSources].map((source) => purchase.get(source)),
      ...[...named.purchaseIds].map((purchaseId) => purchaseOfId.get(purchaseId)),
    ]) {
      const row = rowOf(PURCHASES, stored)
      if (row !== undefined) work.loadPurchase(row)
    }
  }

  #loadRequest(work: UnitOfWork, requestId: string): void {
    if (work.request(requestId) !== undefined) return
    const row =
      this.#committed.movingRequest(requestId) ??
      rowOf(REQUESTS, this.#statements.request.get(requestId))
    if (row === undefined) return
    work.loadRequest(row)
    this.#loadAccount(work, row.accountId)
    this.#loadApiKey(work, row.apiKeyId)
  }

  #loadAccount(work: UnitOfWork, accountId: string): void {
    if (work.account(accountId) !== undefined) return
    const row =
      this.#committed.account(accountId) ?? rowOf(ACCOUNTS, this.#statements.account.get(accountId))
    if (row !== undefined) work.loadAccount(row)
  }

  #loadApiKey(work: UnitOfWork, apiKeyId: string): void {
    if (work.apiKey(apiKeyId) !== undefined) return
    const row =
      this.#committed.apiKey(apiKeyId) ?? rowOf(API_KEYS, this.#statements.apiKey.get(apiKeyId))
    if (row !== undefined) work.loadApiKey(row)
  }

  #loadCredit(work: UnitOfWork, place: CreditPlace): void {
    if (work.creditEntry(place) !== undefined) return
    const entry = rowOf(ENTRIES, this.#statements.credit.get(place.accountId, place.reference))
    if (entry !== undefined) work.loadCredit(entry)
  }

  #loadCreditCode(work: UnitOfWork, { accountId, codeHash }: RedeemCodeInput): void {
    if (work.creditCode(codeHash) === undefined) {
      const found = rowOf(CREDIT_CODES, this.#statements.creditCode.get(codeHash))
      if (found !== undefined) work.loadCreditCode(found)
    }
    const row = work.creditCode(codeHash)
    if (row !== undefined) this.#loadCredit(work, { accountId, reference: row.id })
  }

  #loadPeriodCount(work: UnitOfWork, { owner, id, span }: Uncounted): void {
    const { accountPeriod, apiKeyPeriod } = this.#statements
    const statement = owner === 'account' ? accountPeriod : apiKeyPeriod
    work.loadPeriodCount(id, readPeriodCount(statement.get(...periodCountValues(id, span))))
  }

  #save(changes: RowChanges): void {
    const { accounts, apiKeys, openedRequests, requests, entries, creditCodes } = changes
    const { openedPurchases, purchases } = changes
    const statements = this.#statements
    for (const row of changes.writtenAccounts) statements.writeAccount.run(...ACCOUNTS.values(row))
    for (const row of changes.writtenApiKeys) statements.writeApiKey.run(...API_KEYS.values(row))
    for (const row of changes.writtenCreditCodes) {
      statements.writeCreditCode.run(...CREDIT_CODES.values(row))
    }
    for (const row of accounts) statements.updateAccount.run(...ACCOUNTS.changedValues(row))
    for (const row of apiKeys) statements.updateApiKey.run(...API_KEYS.changedValues(row))
    for (const row of openedRequests) statements.insertRequest.run(...REQUESTS.values(row))
    for (const row of requests) statements.updateRequest.run(...REQUESTS.changedValues(row))
    if (changes.standing.length > 0) {
      statements.updateStanding.run(JSON.stringify(changes.standing.map(standingRecord)))
    }
    for (const row of openedPurchases) statements.insertPurchase.run(...PURCHASES.values(row))
    for (const row of purchases) statements.updatePurchase.run(...PURCHASES.changedValues(row))
    for (const entry of entries) statements.insertEntry.run(...ENTRIES.values(entry))
    for (const row of changes.members) statements.insertMember.run(...MEMBERS.values(row))
    for (const row of changes.operatorActions) {
      statements.insertOperatorAction.run(...OPERATOR_ACTIONS.values(row))
    }
    for (const row of creditCodes) statements.redeemCode.run(...CREDIT_CODES.changedValues(row))
    if (changes.changesCallers) statements.raiseCallersVersion.run()
  }
}

function rowOf<Row>(
  table: { readonly read: (stored: StoredRow) => Row },
  stored: StoredRow | undefined,
): Row | undefined {
  return stored === undefined ? undefined : table.read(stored)
}

/**
 * Rows as they were last committed, so that a busy key's are not read again for every request. True
 * only while no other process has written to the store. The engine checks this first, under the write
 * lock, and clears the cache otherwise.
 */
class RowCache {
  readonly #rowsMax: number
  readonly #accounts = new Map<string, AccountRow>()
  readonly #apiKeys = new Map<string, ApiKeyRow>()
  // Those alone that will be asked for again within seconds, to be settled or looked up.
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

  /** Takes in what a batch has changed, once it is committed. */
  commit(changes: RowChanges): void {
    for (const row of changes.writtenAccounts) put(this.#accounts, row, this.#rowsMax)
    for (const row of changes.writtenApiKeys) put(this.#apiKeys, row, this.#rowsMax)
    for (const row of changes.accounts) put(this.#accounts, row, this.#rowsMax)
    for (const row of changes.apiKeys) put(this.#apiKeys, row, this.#rowsMax)
    for (const rows of [changes.openedRequests, changes.requests]) {
      for (const row of rows) {
        if (row.state === 'open' || (row.state === 'provisional' && !row.costStands))
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
    openRequestIds: connection.prepare(
      "select id from requests where cost_stands = 0 and state = 'open' and instance_id = ?",
    ),
    credit: connection.prepare('select * from entries where account_id = ? and reference = ?'),
    creditCode: connection.prepare('select * from credit_codes where code_hash = ?'),
    creditCodeOfId: connection.prepare('select * from credit_codes where id = ?'),
    purchase: connection.prepare('select * from purchases where source = ?'),
    purchaseOfId: connection.prepare('select * from purchases where id = ?'),
    accountPeriod: connection.prepare(periodCountText('account_id').replaceAll('$', '?')),
    apiKeyPeriod: connection.prepare(periodCountText('api_key_id').replaceAll('$', '?')),
    writeAccount: connection.prepare(write(ACCOUNTS)),
    writeApiKey: connection.prepare(write(API_KEYS)),
    writeCreditCode: connection.prepare(write(CREDIT_CODES)),
    insertPurchase: connection.prepare(insert(PURCHASES)),
    updatePurchase: connection.prepare(update(PURCHASES)),
    updateAccount: connection.prepare(update(ACCOUNTS)),
    updateApiKey: connection.prepare(update(API_KEYS)),
    insertRequest: connection.prepare(insert(REQUESTS)),
    updateRequest: connection.prepare(update(REQUESTS)),
    updateStanding: connection.prepare(
      `update requests set state = changed.value ->> 'state',
        cost_stands = changed.value ->> 'cost_stands', settled_at_ms = changed.value ->> 'settled_at_ms'
        from json_each(?) as changed where requests.id = changed.value ->> 'id'`,
    ),
    insertEntry: connection.prepare(insert(ENTRIES)),
    redeemCode: connection.prepare(update(CREDIT_CODES)),
    insertMember: connection.prepare(insert(MEMBERS)),
    insertOperatorAction: connection.prepare(insert(OPERATOR_ACTIONS)),
    raiseCallersVersion: connection.prepare(RAISE_CALLERS_VERSION),
  }
}

type Statable = Pick<(typeof TABLES)[number], 'name' | 'columns' | 'key' | 'moving'>

/** Takes a row's `changedValues`. */
function update({ name, key, moving }: Statable): string {
  const is = (column: NamedColumn): string => `${column.name} = ?`
  return `update ${name} set ${moving.map(is).join(', ')} where ${key.map(is).join(' and ')}`
}

/** Takes a row's `values`. */
function insert({ name, columns }: Statable): string {
  const places = columns.map(() => '?').join(', ')
  return `insert into ${name} (${columns.map((column) => column.name).join(', ')}) values (${places})`
}

/** Inserts a row, or updates all of it. Takes the row's `values`. */
function write(table: Statable): string {
  const others = table.columns.filter((column) => !table.key.includes(column))
  const sets = others.map(({ name }) => `${name} = excluded.${name}`)
  return `${insert(table)} on conflict (id) do update set ${sets.join(', ')}`
}
