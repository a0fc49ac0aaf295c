import { z } from 'zod'
import { depositPath } from '../../sale/chain/terms.ts'
import { listDepositAddresses } from '../../sale/deposit-rows.ts'
import {
  idCursor,
  idField,
  idFilterField,
  listAnswer,
  listShape,
  pageQuery,
  timeAnswer,
  timeField,
} from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'

/** The deposit addresses of accounts on a chain, with the paths for the wallet that has the seed, for admins. */
export function depositAddressOperations({ store, sale }: OperationParts) {
  /** The address that the public key of the settings gives; null: deposits of this chain are not accepted. */
  const derivedOf = ({ chainId, accountId }: { chainId: number; accountId: string }) => {
    for (const method of sale?.methods ?? []) {
      if (method.kind === 'deposit' && method.chainId === chainId)
        return method.addressOf(accountId)
    }
    return null
  }
  return [
    operation({
      name: 'listDepositAddresses',
      method: 'GET',
      paths: { admin: '/v1/admin/sale/addresses' },
      scope: 'read',
      summary: 'The deposit addresses that were given out, for sweeping them with the seed.',
      query: pageQuery('deposit_addresses', { account_id: idFilterField('acct').optional() }),
      answers: { 200: listShape(depositAddressShape) },
      async run({ reader, query: { limit, cursor, account_id: accountId } }) {
        const [chainId, address = ''] = cursor?.split('_') ?? []
        const { addresses, next } = await listDepositAddresses(store.pages(reader), {
          limit,
          after: chainId === undefined ? null : { chainId: Number(chainId), address },
          accountId,
        })
        const listed = addresses.map((row) => {
          const derived = derivedOf(row)
          const isDerived = derived === null ? null : derived.toLowerCase() === row.address
          return {
            object: 'deposit_address' as const,
            account_id: row.accountId,
            chain_id: row.chainId,
            address: isDerived ? (derived ?? row.address) : row.address,
            path: depositPath(row.accountId).join('/'),
            of_key: isDerived,
            deposits: row.deposits,
            created_at: timeAnswer(row.createdAtMs),
          }
        })
        const place = next && `${next.chainId}_${next.address}`
        return listAnswer(listed, idCursor('deposit_addresses', place))
      },
    }),
  ]
}

/** `GET /v1/admin/sale/addresses`. */
export const depositAddressShape = z
  .object({
    object: z.literal('deposit_address'),
    account_id: idField('acct'),
    chain_id: z.int(),
    address: z
      .string()
      .describe(
        'The address on the chain: with its checksum if `of_key` is true, otherwise in lower case.',
      ),
    path: z
      .string()
      .describe("The steps to its key below the extended public key's path, such as `1234/5678`."),
    of_key: z
      .boolean()
      .nullable()
      .describe(
        'Whether this address is derived from the current `CHAIN_DEPOSIT_XPUB`; null: no deposits are accepted on this chain now.',
      ),
    deposits: z.int().describe('The number of deposits to the account on this chain.'),
    created_at: timeField,
  })
  .meta({ id: 'DepositAddress' })
