import { createApiKey } from '../ledger/api-keys.ts'
import { micros } from '../vocabulary/money.ts'
import type { Gateway } from './gateway.ts'

/** What a first start gives a person to try the gateway with. */
interface FirstAccount {
  readonly accountId: string
  /** The key's text, which is shown now and never again. */
  readonly apiKey: string
}

const FIRST_CREDIT = micros(10_000_000)

/**
 * Makes one account with $10 of play money and one key, on a store without accounts. Only for the simulator's store: a printed key must never spend real credit.
 */
export async function makeFirstAccount(
  { ledger, ids }: Pick<Gateway, 'ledger' | 'ids'>,
  keyTag: string,
): Promise<FirstAccount> {
  const account = await ledger.createAccount({ id: ids.next('acct'), name: 'first' })
  await ledger.addCredit({
    accountId: account.id,
    purse: 'backed',
    amountMicros: FIRST_CREDIT,
    expiresAtMs: null,
    reference: 'first-start',
  })
  const created = await createApiKey(ledger, {
    id: ids.next('key'),
    accountId: account.id,
    name: 'first',
    keyTag,
  })
  if (created === null) throw new Error('the account that was just made is gone')
  return { accountId: account.id, apiKey: created.text }
}
