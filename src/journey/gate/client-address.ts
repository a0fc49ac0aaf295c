import { BlockList, isIP, SocketAddress } from 'node:net'
import type { Arrival, RequestHeaders } from '../../vocabulary/call.ts'

/** Addresses that share their first bits: one address where all bits count. */
interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  /** How many bits are shared: at most 32 or 128. */
  readonly prefixBits: number
}

/**
 * Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; null where a text is none of them. An IPv4
 * address that is written as IPv6 (`::ffff:10.0.0.1`) is an IPv4 address.
 */
export function parseAddressRange(text: string): AddressRange | null {
  const [bare = '', bits, ...rest] = text.trim().split('/')
  const parsed = parseAddress(bare)
  if (parsed === null || rest.length > 0) return null
  const { family, address } = parsed
  const bitsMax = family === 'ipv4' ? 32 : 128
  if (bits === undefined) return { family, address, prefixBits: bitsMax }
  if (!/^\d{1,3}$/.test(bits)) return null
  // Of `::ffff:10.0.0.0/104`, the first 96 bits only say that it is IPv4.
  const prefixBits = Number(bits) - (family === 'ipv4' && bare.includes(':') ? 96 : 0)
  return prefixBits < 0 || prefixBits > bitsMax ? null : { family, address, prefixBits }
}

interface ClientAddressesInput {
  /** Whose `x-forwarded-for` counts, each as {@link parseAddressRange} reads it. */
  readonly trustedProxies: readonly string[]
  /** How many bits of an IPv6 address tell one client from another, 1 to 128. */
  readonly ipv6PrefixBits: number
}

/**
 * Tells by which address a client is counted. It is the address of the peer. Where the peer is a
 * trusted proxy, it is the address that the proxy added to `x-forwarded-for`, and so on from right to
 * left: the right-most address that is no trusted proxy. What stands left of it was sent by the client,
 * which may write there what it likes.
 */
export class ClientAddresses {
  readonly #trusted = new BlockList()
  readonly #ipv6PrefixBits: number

  constructor({ trustedProxies, ipv6PrefixBits }: ClientAddressesInput) {
    this.#ipv6PrefixBits = ipv6PrefixBits
    for (const text of trustedProxies) {
      const range = parseAddressRange(text)
      if (range === null) throw new TypeError(`${text} is no address`)
      this.#trusted.addSubnet(range.address, range.prefixBits, range.family)
    }
  }

  /**
   * What a client is counted under: an IPv4 address, or the network that an IPv6 address is in, since a
   * client mostly has a whole network to choose addresses from. Empty where the connection is closed.
   */
  of({ headers, peerAddress = '' }: Arrival): string {
    let nearest = parseAddress(peerAddress)
    if (nearest === null) return ''
    if (this.#isTrusted(nearest)) {
      for (const hop of forwardedFor(headers).toReversed()) {
        const next = parseAddress(hop)
        // A proxy that wrote something else is the last that is known.
        if (next === null) break
        nearest = next
        if (!this.#isTrusted(nearest)) break
      }
    }
    return nearest.family === 'ipv4' ? nearest.address : this.#networkOf(nearest.address)
  }

  #isTrusted({ address, family }: Address): boolean {
    return this.#trusted.check(address, family)
  }

  #networkOf(address: string): string {
    const kept = groupsOf(address).map((group, place) => {
      const bits = Math.min(16, Math.max(0, this.#ipv6PrefixBits - 16 * place))
      return group & (0xffff << (16 - bits)) & 0xffff
    })
    return `${kept.map((group) => group.toString(16)).join(':')}/${this.#ipv6PrefixBits}`
  }
}

type Address = Pick<AddressRange, 'family' | 'address'>

/** The hops as they stand; of several headers, one after the other. */
function forwardedFor(headers: RequestHeaders): string[] {
  const value = headers['x-forwarded-for'] ?? []
  return String(value).split(',')
}

/** An address with or without a port, brackets or a zone; null where a text is none. */
function parseAddress(text: string): Address | null {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? []
  const [address = ''] = (bracketed ?? dotted ?? text.trim()).split('%')
  switch (isIP(address)) {
    case 4:
      return { family: 'ipv4', address }
    case 6:
      return mappedOf(address) ?? { family: 'ipv6', address }
    default:
      return null
  }
}

const MAPPED = [0, 0, 0, 0, 0, 0xffff]

/** The IPv4 address that an IPv6 address stands for; null where it stands for itself. */
function mappedOf(address: string): Address | null {
  const groups = groupsOf(address)
  if (MAPPED.some((group, place) => groups[place] !== group)) return null
  const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff])
  return { family: 'ipv4', address: bytes.join('.') }
}

/** The eight groups of an IPv6 address, however it is written. */
function groupsOf(text: string): number[] {
  // In Node's own spelling, only a mapped address has dots.
  const { address } = new SocketAddress({ address: text, family: 'ipv6' })
  const [head = '', tail] = address.replace(/[\d.]+\.\d+$/, dotsToGroups).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16))
}

function dotsToGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
