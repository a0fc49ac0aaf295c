import { accountListOperations } from './accounts/account-list.ts'
import { accountOperations } from './accounts/accounts.ts'
import { apiKeyOperations } from './accounts/api-keys.ts'
import { modelOperations } from './accounts/models.ts'
import { overviewOperations } from './accounts/overview.ts'
import { generationOperations, ownAccountOperations } from './accounts/own-account.ts'
import { creditOperations } from './credit/credit.ts'
import { creditCodeOperations } from './credit/credit-codes.ts'
import { depositAddressOperations } from './credit/deposit-addresses.ts'
import { purchaseListOperations } from './credit/purchase-list.ts'
import { purchaseOperations } from './credit/purchases.ts'
import { receiptOperations } from './credit/receipts.ts'
import { saleOperations } from './credit/sale.ts'
import { saleStatusOperations } from './credit/sale-status.ts'
import { statementOperations } from './credit/statement.ts'
import { accountActionOperations } from './gateway/account-actions.ts'
import { operatorDeskOperations } from './gateway/operator-desk.ts'
import { upkeepOperations } from './gateway/upkeep.ts'
import { upstreamOperations } from './gateway/upstreams.ts'
import { webhookOperations } from './gateway/webhooks.ts'
import type { Operation } from './operation.ts'
import type { OperationParts } from './operation-parts.ts'
import { adminTokenOperations } from './people/admin-tokens.ts'
import { memberOperations } from './people/members.ts'
import { peopleOperations } from './people/people.ts'
import { operatorActivityOperations } from './requests/operator-activity.ts'
import { refusalOperations } from './requests/refusals.ts'
import { requestPriceOperations } from './requests/request-prices.ts'
import { requestSummaryOperations } from './requests/request-summary.ts'
import { requestOperations } from './requests/requests.ts'
import { usageOperations } from './usage/usage.ts'
import { usageCsvOperations } from './usage/usage-csv.ts'
import { usageReportOperations } from './usage/usage-report.ts'

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
  ['Accounts', accountActionOperations],
  ['Credit', creditOperations],
  ['Credit', statementOperations],
  ['API keys', apiKeyOperations],
  ['Credit codes', creditCodeOperations],
  ['Purchases', purchaseListOperations],
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
