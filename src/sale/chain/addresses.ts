import { ECDH } from 'node:crypto'
import { getAddress } from 'viem'
import { HDKey, publicKeyToAddress } from 'viem/accounts'
import { depositPath } from './terms.ts'

/**
 * Derives deposit addresses from an extended public key. An address follows from the key and the account's id
 * alone: with a counter, a restored backup would give one address to two accounts. Throws Error for a private
 * key, and for text that is no key.
 */
export function depositAddresses(xpub: string): (accountId: string) => string {
  const root = HDKey.fromExtendedKey(xpub)
  if (root.privateKey !== null) {
    throw new Error('this is a private key, which can spend: set the extended public key')
  }
  return (accountId) => {
    const [first, second] = depositPath(accountId)
    const { publicKey } = root.deriveChild(first).deriveChild(second)
    if (publicKey === null) throw new Error('a public key has public children')
    const uncompressed = ECDH.convertKey(publicKey, 'secp256k1', undefined, 'hex', 'uncompressed')
    return publicKeyToAddress(`0x${String(uncompressed)}`)
  }
}

/** An address with the upper and lower case of its checksum (EIP-55). */
export function checksummed(address: string): string {
  return getAddress(address)
}
