import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listAccounts } from './accounts.ts'
import { createLedger } from './engines/create-ledger.ts'
import { STORE_BENCHES } from './testing/benches.ts'
import type { StoreBench } from './testing/store-bench.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
  })
  afterEach(() => bench.close())

  async function idsOf(externalId: string): Promise<readonly string[]> {
    const { accounts } = await listAccounts(bench.db, { limit: 100, externalId })
    return accounts.map(({ id }) => id)
  }

  test('two processes that create accounts with the same external ID at the same time create one', async () => {
    const { location } = bench.store
    const others = [createLedger({ location }), createLedger({ location })]
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, place) =>
        (others[place % 2] ?? bench.ledger).createAccount({
          id: `acct_${place}`,
          name: 'shop',
          externalId: `customer-${place % 4}`,
        }),
      ),
    )
    for (const ledger of others) await ledger.close()
    for (let customer = 0; customer < 4; customer++) {
      const ids = made.filter((_, place) => place % 4 === customer).map(({ id }) => id)
      expect(new Set(ids).size).toBe(1)
      expect(await idsOf(`customer-${customer}`)).toEqual(ids.slice(0, 1))
    }
  })

  test('of two accounts that are given the same external ID at the same time, one gets it', async () => {
    const { location } = bench.store
    const other = createLedger({ location })
    for (const id of ['acct_1', 'acct_2']) await bench.ledger.createAccount({ id, name: id })
    const verdicts = await Promise.all([
      bench.ledger.updateAccount({ id: 'acct_1', externalId: 'customer' }),
      other.updateAccount({ id: 'acct_2', externalId: 'customer' }),
    ])
    await other.close()
    expect(verdicts.filter((verdict) => verdict === 'externalIdTaken')).toHaveLength(1)
    expect(await idsOf('customer')).toHaveLength(1)
  })

  test('an external ID that one account loses and another gets in the same batch belongs to the later account', async () => {
    await bench.ledger.createAccount({ id: 'acct_1', name: 'one', externalId: 'customer' })
    const [, made] = await Promise.all([
      bench.ledger.updateAccount({ id: 'acct_1', externalId: null }),
      bench.ledger.createAccount({ id: 'acct_2', name: 'two', externalId: 'customer' }),
    ])
    expect(made.id).toBe('acct_2')
    expect(await idsOf('customer')).toEqual(['acct_2'])
  })
})
