import type { CommitPatience } from '../../store/group-commit.ts'
import type { StoredRow } from '../../store/table.ts'
import { rowsNamedBy } from '../apply-command.ts'
import type { LedgerCommand } from '../commands.ts'
import type { SettleStandingInput } from '../ledger.ts'
import {
  FOUND,
  type FoundRows,
  lookedForBy,
  type NamedRows,
  nameOpenRequest,
  type RowChanges,
  type UnitOfWork,
} from '../work.ts'
import { LOCK_FOUND, ROW_STATEMENTS, STATEMENTS } from './postgres-statements.ts'
import { NO_ROWS, type PostgresWriter, type Reply } from './postgres-writer.ts'

// The keys of FOUND are its kinds.
const FOUND_KINDS = Object.keys(FOUND) as FoundRows[]

/** The most requests that one commit abandons of an instance; it is repeated until there are none. */
const ABANDONED_REQUESTS_MAX = 500

// Long enough to be given the rows of a commit that is just ending.
const LITTLE_PATIENCE_MS = 100

/** A command was given before, or names another owner than its request: the batch runs again, with everything read. */
export class Repeated extends Error {}

interface LoadInput {
  readonly work: UnitOfWork
  readonly commands: readonly LedgerCommand[]
  readonly patience: CommitPatience
  /** Whether a command may be a repeat of one that has opened its hold, by another owner too. */
  readonly mayRepeat: boolean
  /** Whether to ask for the database's time. */
  readonly asksTime: boolean
}

/**
 * Begins the transaction of a batch: locks and reads its rows in one round trip, and resolves with the database's time,
 * or null if it was not asked for. Throws Repeated.
 */
export async function load(writer: PostgresWriter, input: LoadInput): Promise<number | null> {
  const { work, commands } = input
  const named = rowsNamedBy(commands, { areOwnersKnown: !input.mayRepeat })
  for (const instanceId of named.instanceIds) {
    await nameOpenRequests(writer, { named, instanceId })
  }
  const replies = await writer.replies(() => [
    writer.send('begin isolation level read committed'),
    input.patience === 'little'
      ? writer.send(`set local lock_timeout = ${LITTLE_PATIENCE_MS}`)
      : NO_ROWS,
    ...lockOwners(writer, named),
    ...readOthers(writer, named),
    ...readRequests(writer, { named, mayRepeat: input.mayRepeat }),
    ...FOUND_KINDS.map((of) => lockFound(writer, { named, of })),
    // Last, so that no locked row is newer.
    input.asksTime ? writer.run(STATEMENTS.read_time, []) : NO_ROWS,
  ])
  const [, , accounts, apiKeys, external, credits, codeCredits, taken, holds, requests, ...more] =
    replies
  // Rows without a lock are loaded first: locked rows are newer, and replace them.
  for (const row of external.rows) work.accounts.loadStored(row)
  for (const row of accounts.rows) work.accounts.loadStored(row)
  for (const row of apiKeys.rows) work.apiKeys.loadStored(row)
  for (const row of taken.rows) work.requests.loadHold(row, { isTaken: true })
  for (const row of holds.rows) work.requests.loadHold(row, { isTaken: false })
  for (const row of requests.rows) work.requests.loadStored(row)
  const others = await loadMissing(writer, { work, named })
  if (!input.mayRepeat) {
    const rows = [...taken.rows, ...holds.rows, ...requests.rows, ...others]
    refuseOtherOwners(named, { rows, accounts, apiKeys })
  }
  for (const row of [...credits.rows, ...codeCredits.rows]) work.entries.loadStored(row)
  for (const [place, of] of FOUND_KINDS.entries()) {
    for (const row of more[place]?.rows ?? []) work[of].loadStored(row)
  }
  return input.asksTime ? Number(more.at(-1)?.rows[0]?.['now_ms']) : null
}

/** Throws if a hold was opened before under another key, which still owns it. By position: rows named, rows read. */
function refuseOtherOwners(
  { requestIds }: NamedRows,
  {
    rows,
    accounts,
    apiKeys,
  }: Readonly<Record<'accounts' | 'apiKeys', Reply>> & { readonly rows: readonly StoredRow[] },
): void {
  const accountIds = new Set(accounts.rows.map((row) => row['id']))
  const apiKeyIds = new Set(apiKeys.rows.map((row) => row['id']))
  for (const row of rows) {
    if (!requestIds.has(String(row['id']))) continue
    if (!accountIds.has(row['account_id']) || !apiKeyIds.has(row['api_key_id']))
      throw new Repeated()
  }
}

/** Locks the accounts and keys of commands. If a command names only a request, the statement finds its owners. */
function lockOwners(
  writer: PostgresWriter,
  { accountIds, apiKeyIds, unownedIds }: NamedRows,
): [Promise<Reply>, Promise<Reply>] {
  if (unownedIds.size === 0) {
    return [
      ask(writer, STATEMENTS.lock_accounts, [...accountIds]),
      ask(writer, STATEMENTS.lock_api_keys, [...apiKeyIds]),
    ]
  }
  return [
    writer.run(STATEMENTS.lock_accounts_of, [[...accountIds], [...unownedIds]]),
    writer.run(STATEMENTS.lock_api_keys_of, [[...apiKeyIds], [...unownedIds]]),
  ]
}

/** Runs a statement on lists of the same length, unless they are empty. */
function ask(
  writer: PostgresWriter,
  statement: Parameters<PostgresWriter['run']>[0],
  ...values: readonly [readonly string[], ...(readonly string[])[]]
): Promise<Reply> {
  return values[0].length === 0 ? NO_ROWS : writer.run(statement, [...values])
}

/** Reads the rows that only some commands need: accounts by external ID, and credit by its reference or code. */
function readOthers(
  writer: PostgresWriter,
  { externalIds, codes, credits }: NamedRows,
): [Promise<Reply>, Promise<Reply>, Promise<Reply>] {
  return [
    ask(writer, STATEMENTS.read_external_accounts, [...externalIds]),
    ask(
      writer,
      STATEMENTS.read_credits,
      credits.map(({ accountId }) => accountId),
      credits.map(({ reference }) => reference),
    ),
    ask(
      writer,
      STATEMENTS.read_code_credits,
      codes.map(({ accountId }) => accountId),
      codes.map(({ codeHash }) => codeHash),
    ),
  ]
}

/** Locks and reads rows of a kind that commands look for. */
function lockFound(
  writer: PostgresWriter,
  { named, of }: { readonly named: NamedRows; readonly of: FoundRows },
): Promise<Reply> {
  const statement = LOCK_FOUND.get(of)
  const values = FOUND[of].by.map((by) => lookedForBy(named, of, by))
  const isAsked = values.some(({ length }) => length > 0)
  return statement === undefined || !isAsked ? NO_ROWS : writer.run(statement, values)
}

/** Reads requests, but not those about to be opened: if one exists, the insert fails and the batch runs again. */
function readRequests(
  writer: PostgresWriter,
  { named, mayRepeat }: { readonly named: NamedRows; readonly mayRepeat: boolean },
): [Promise<Reply>, Promise<Reply>, Promise<Reply>] {
  const { requestIds, endedIds, openIds, openedIds } = named
  const held = [...openIds].filter((id) => !endedIds.has(id))
  const others = [...requestIds].filter((id) => !endedIds.has(id) && !openIds.has(id))
  if (mayRepeat) {
    held.push(...openedIds)
    others.push(...openedIds)
  }
  return [
    ask(writer, STATEMENTS.take_holds, [...endedIds]),
    ask(writer, STATEMENTS.read_holds, held),
    ask(writer, STATEMENTS.lock_requests, others),
  ]
}

/** Reads the requests that were not found in the expected table, such as abandoned ones. */
async function loadMissing(
  writer: PostgresWriter,
  { work, named }: { readonly work: UnitOfWork; readonly named: NamedRows },
): Promise<readonly StoredRow[]> {
  const missing = [...named.requestIds].filter((id) => work.requests.get(id) === undefined)
  if (missing.length === 0) return []
  const [holds, requests] = await writer.replies(() => [
    writer.run(STATEMENTS.read_holds, [missing]),
    writer.run(STATEMENTS.lock_requests, [missing]),
  ])
  for (const row of holds.rows) work.requests.loadHold(row, { isTaken: false })
  for (const row of requests.rows) work.requests.loadStored(row)
  return [...holds.rows, ...requests.rows]
}

async function nameOpenRequests(
  writer: PostgresWriter,
  { named, instanceId }: { readonly named: NamedRows; readonly instanceId: string },
): Promise<void> {
  const [found] = await writer.replies(() => [
    writer.run(STATEMENTS.read_open_request_ids, [instanceId, ABANDONED_REQUESTS_MAX]),
  ])
  // They are read again after their accounts are locked, so requests that have ended meanwhile stay unchanged.
  for (const row of found.rows) {
    nameOpenRequest(named, String(row['id']), {
      accountId: String(row['account_id']),
      apiKeyId: String(row['api_key_id']),
    })
  }
}

const NONE: readonly Promise<Reply>[] = []

/** Sends the changes of a batch. One statement saves the rows that every settle changes. */
export function save(
  writer: PostgresWriter,
  { rows, changesCallers }: RowChanges,
): Promise<Reply>[] {
  const { accounts, apiKeys, holds, requests, entries, ...others } = rows
  return [
    ...Object.values(rows).flatMap(({ table, written }) =>
      written.length === 0
        ? NONE
        : saveRows(writer, `write_${table.name}`, written.map(table.record)),
    ),
    writer.run(STATEMENTS.save, [
      JSON.stringify(accounts.updated.map(accounts.table.changedRecord)),
      JSON.stringify(apiKeys.updated.map(apiKeys.table.changedRecord)),
      JSON.stringify(holds.inserted.map(holds.table.record)),
      JSON.stringify(requests.inserted.map(requests.table.record)),
      JSON.stringify(entries.inserted.map(entries.table.record)),
    ]),
    ...saveRows(writer, 'update_holds', holds.updated.map(holds.table.changedRecord)),
    ...saveRows(writer, 'update_requests', requests.updated.map(requests.table.changedRecord)),
    ...(holds.deleted.length === 0
      ? []
      : [writer.run(STATEMENTS.delete_holds, [holds.deleted.map(({ id }) => id)])]),
    ...Object.values(others).flatMap(({ table, inserted, updated }) =>
      inserted.length + updated.length === 0
        ? NONE
        : [
            ...saveRows(writer, `insert_${table.name}`, inserted.map(table.record)),
            ...saveRows(writer, `update_${table.name}`, updated.map(table.changedRecord)),
          ],
    ),
    ...(changesCallers ? [writer.run(STATEMENTS.raise_callers_version, [])] : []),
  ]
}

/**
 * Settles provisional requests whose reported cost needs no look-up, without loading them. By position: the connection,
 * the commands.
 */
export function settleUnread(
  writer: PostgresWriter,
  standing: readonly UnreadStanding[],
): Promise<Reply>[] {
  return standing.map(({ requestIds, to, nowMs }) =>
    to === 'final'
      ? writer.run(STATEMENTS.make_final, [requestIds, nowMs])
      : writer.run(STATEMENTS.recall, [requestIds]),
  )
}

/** Requests whose wait ends, none of them loaded. */
export interface UnreadStanding extends SettleStandingInput {
  readonly nowMs: number
}

/** By position: the connection, the name of the statement, and the rows. */
function saveRows(
  writer: PostgresWriter,
  name: string,
  records: readonly object[],
): Promise<Reply>[] {
  if (records.length === 0) return []
  const statement = ROW_STATEMENTS.get(name)
  if (statement === undefined) throw new Error(`there is no statement ${name}`)
  return writer.runIfAny(statement, records)
}
