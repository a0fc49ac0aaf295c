import type { RedeemCodeInput, UpdateAccountInput } from './ledger.ts'
import type { CreditPlace, FoundRows, Look } from './work.ts'

/** The account and the key of a request. */
export interface RequestOwner {
  readonly accountId: string
  readonly apiKeyId: string
}

/** The rows that commands work on. */
export interface NamedRows {
  readonly accountIds: Set<string>
  /** External IDs of accounts to look up. These accounts are only read. */
  readonly externalIds: Set<string>
  readonly apiKeyIds: Set<string>
  /** Requests that are there, if they were ever opened. */
  readonly requestIds: Set<string>
  /** The ones of them whose holds are open, unless they were abandoned. */
  readonly openIds: Set<string>
  /** The ones of them whose holds end now. */
  readonly endedIds: Set<string>
  /** The requests whose account and key are not named, and must be looked up. */
  readonly unownedIds: Set<string>
  /** Requests that are about to be made: there only where a command is repeated. */
  readonly openedIds: Set<string>
  /** All requests of these instances that are open. */
  readonly instanceIds: Set<string>
  /** The entries of credit that was added before. */
  readonly credits: CreditPlace[]
  /** The entries of the credit of these codes. */
  readonly codes: RedeemCodeInput[]
  readonly looks: Look[]
}

/** No rows, to which commands add theirs. */
export function noRows(): NamedRows {
  return {
    accountIds: new Set(),
    externalIds: new Set(),
    apiKeyIds: new Set(),
    requestIds: new Set(),
    openIds: new Set(),
    endedIds: new Set(),
    unownedIds: new Set(),
    openedIds: new Set(),
    instanceIds: new Set(),
    credits: [],
    codes: [],
    looks: [],
  }
}

/** The values that named rows of a kind are looked for by in one column. */
export function lookedForBy({ looks }: NamedRows, of: FoundRows, by: Look['by']): string[] {
  return looks.flatMap((look) => (look.of === of && look.by === by ? [look.value] : []))
}

/** By position: the rows, and a request of them with its owner. */
export function nameRequest(
  named: NamedRows,
  requestId: string,
  owner: RequestOwner | undefined,
): void {
  named.requestIds.add(requestId)
  if (owner === undefined) {
    named.unownedIds.add(requestId)
    return
  }
  named.accountIds.add(owner.accountId)
  named.apiKeyIds.add(owner.apiKeyId)
}

/** The same of a request whose hold is open. */
export function nameOpenRequest(
  named: NamedRows,
  requestId: string,
  owner: RequestOwner | undefined,
): void {
  nameRequest(named, requestId, owner)
  named.openIds.add(requestId)
}

/** Names an account, and another account that may have its external ID. */
export function nameAccount(named: NamedRows, { id, externalId }: UpdateAccountInput): void {
  named.accountIds.add(id)
  if (externalId != null) named.externalIds.add(externalId)
}
