import { accountListOperations } from './account-list.ts'
import { accountOperations } from './accounts.ts'
import { adminTokenOperations } from './admin-tokens.ts'
import { apiKeyOperations } from './api-keys.ts'
import { creditOperations } from './credit.ts'
import { creditCodeOperations } from './credit-codes.ts'
import { depositAddressOperations } from './deposit-addresses.ts'
import { memberOperations } from './members.ts'
import { modelOperations } from './models.ts'
import type { Operation, OperationParts } from './operation.ts'
import { operatorActivityOperations } from './operator-activity.ts'
import { operatorDeskOperations } from './operator-desk.ts'
import { overviewOperations } from './overview.ts'
import { generationOperations, ownAccountOperations } from './own-account.ts'
import { peopleOperations } from './people.ts'
import { purchaseOperations } from './purchases.ts'
import { receiptOperations } from './receipts.ts'
import { refusalOperations } from './refusals.ts'
import { requestPriceOperations } from './request-prices.ts'
import { requestSummaryOperations } from './request-summary.ts'
import { requestOperations } from './requests.ts'
import { saleOperations } from './sale.ts'
import { saleStatusOperations } from './sale-status.ts'
import { statementOperations } from './statement.ts'
import { upkeepOperations } from './upkeep.ts'
import { upstreamOperations } from './upstreams.ts'
import { usageOperations } from './usage.ts'
import { usageCsvOperations } from './usage-csv.ts'
import { usageReportOperations } from './usage-report.ts'
import { webhookOperations } from './webhooks.ts'

/** The operations of a file, made from a process's parts, with their title in the documentation. */
export type OperationSource = readonly [
  title: string,
  make: (parts: OperationParts) => readonly Operation[],
]

/** Every operation of the product, in the order of the documentation: a new file is a line here. */
export const OPERATIONS = [
  ['Account', ownAccountOperations],
  ['Accounts', accountOperations],
  ['Accounts', accountListOperations],
  ['Credit', creditOperations],
  ['Credit', statementOperations],
  ['API keys', apiKeyOperations],
  ['Credit codes', creditCodeOperations],
  ['Purchases', purchaseOperations],
  ['Purchases', saleOperations],
  ['Purchases', receiptOperations],
  ['Purchases', saleStatusOperations],
  ['Purchases', depositAddressOperations],
  ['Requests', requestOperations],
  ['Requests', generationOperations],
  ['Requests', requestSummaryOperations],
  ['Requests', requestPriceOperations],
  ['Requests', refusalOperations],
  ['Models', modelOperations],
  ['People', peopleOperations],
  ['People', memberOperations],
  ['Admin tokens', adminTokenOperations],
  ['Webhooks', webhookOperations],
  ['Overview', overviewOperations],
  ['Usage', usageOperations],
  ['Usage', usageCsvOperations],
  ['Usage', usageReportOperations],
  ['Upstreams', upstreamOperations],
  ['Upkeep', upkeepOperations],
  ['Operators', operatorDeskOperations],
  ['Operators', operatorActivityOperations],
] as const satisfies readonly OperationSource[]

/** An operation of the product, with its types. */
export type ProductOperation = ReturnType<(typeof OPERATIONS)[number][1]>[number]

/** Operations that the documentation shows under one title. */
export interface OperationSection {
  readonly title: string
  readonly operations: readonly Operation[]
}

/** Makes the operations of a list, under their titles. */
export function makeOperations(
  sources: readonly OperationSource[],
  parts: OperationParts,
): readonly OperationSection[] {
  const byTitle = Map.groupBy(sources, ([title]) => title)
  return [...byTitle].map(([title, ofTitle]) => ({
    title,
    operations: ofTitle.flatMap(([, make]) => make(parts)),
  }))
}

/** All operations, to read their descriptions. They have no parts, so none of them can run. */
export function describedOperations(): readonly Operation[] {
  const parts = new Proxy(Object(null), { get: () => ({}) })
  return makeOperations(OPERATIONS, parts).flatMap(({ operations }) => operations)
}
