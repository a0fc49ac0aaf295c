import { createHash } from 'node:crypto'
import { HDKey, hdKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { depositAddresses } from './addresses.ts'

const SEED = createHash('sha256').update('a seed for tests').digest()
const KEY = HDKey.fromMasterSeed(SEED).derive("m/44'/60'/0'")

test('the seed, kept elsewhere, gives the private key of each address that the public key gives', () => {
  const addressOf = depositAddresses(KEY.publicExtendedKey)
  for (const account of ['acct_a', 'acct_b', 'acct_01jc8v0000e6h4d2c9t7n5m3k1']) {
    const digest = createHash('sha256').update(`tollgate deposit 1\n${account}`).digest('hex')
    const [one, two] = [digest.slice(0, 8), digest.slice(8, 16)].map(
      (part) => Number.parseInt(part, 16) % 2 ** 31,
    )
    const path = `m/44'/60'/0'/${one}/${two}` as const
    expect(addressOf(account)).toBe(hdKeyToAccount(HDKey.fromMasterSeed(SEED), { path }).address)
  }
})

test('an address never changes: it is fixed by the key and the account', () => {
  expect(depositAddresses(KEY.publicExtendedKey)('acct_a')).toBe(
    '0x5B6213286177B5FE74857e5A66cb3EbFB16cF605',
  )
})

test('a private key is refused', () => {
  expect(() => depositAddresses(KEY.privateExtendedKey)).toThrow('this is a private key')
  expect(() => depositAddresses(`${KEY.publicExtendedKey.slice(0, -1)}1`)).toThrow()
})
