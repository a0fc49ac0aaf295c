import { MEMBERS, OPERATOR_ACTIONS } from '../../store/people-tables.ts'
import { PURCHASES } from '../../store/sale-tables.ts'
import { ACCOUNTS, API_KEYS, CREDIT_CODES, ENTRIES, REQUESTS } from '../../store/schema.ts'
import { type RowChanges, standingRecord } from '../rules/unit-of-work.ts'
import {
  INSERT_MEMBERS,
  INSERT_OPERATOR_ACTIONS,
  RAISE_VERSION,
  SAVE,
  SAVE_CREDIT_CODES,
  SAVE_PURCHASES,
  SAVE_STANDING,
  WRITE_ACCOUNTS,
  WRITE_API_KEYS,
  WRITE_CREDIT_CODES,
} from './postgres-statements.ts'
import type { PostgresWriter, Reply } from './postgres-writer.ts'

/** Sends what a batch has changed. */
export function save(writer: PostgresWriter, changes: RowChanges): Promise<Reply>[] {
  const { accounts, apiKeys, openedRequests, requests, entries, creditCodes } = changes
  const written = [
    ...writer.runIfAny(WRITE_ACCOUNTS, changes.writtenAccounts.map(ACCOUNTS.record)),
    ...writer.runIfAny(WRITE_API_KEYS, changes.writtenApiKeys.map(API_KEYS.record)),
    ...writer.runIfAny(WRITE_CREDIT_CODES, changes.writtenCreditCodes.map(CREDIT_CODES.record)),
  ]
  const saved = writer.run(SAVE, [
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
    ...writer.runIfAny(SAVE_STANDING, changes.standing.map(standingRecord)),
    ...writer.runIfAny(SAVE_CREDIT_CODES, redeemed),
    ...writer.runIfAny(INSERT_MEMBERS, changes.members.map(MEMBERS.record)),
    ...writer.runIfAny(INSERT_OPERATOR_ACTIONS, actions),
    ...savePurchases(writer, changes),
    ...(changes.changesCallers ? [writer.run(RAISE_VERSION, [])] : []),
  ]
}

function savePurchases(
  writer: PostgresWriter,
  { openedPurchases, purchases }: RowChanges,
): Promise<Reply>[] {
  if (openedPurchases.length + purchases.length === 0) return []
  return [
    writer.run(SAVE_PURCHASES, [
      JSON.stringify(openedPurchases.map((row) => PURCHASES.record(row))),
      JSON.stringify(purchases.map((row) => PURCHASES.changedRecord(row))),
    ]),
  ]
}
