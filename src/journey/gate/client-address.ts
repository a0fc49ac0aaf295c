import { BlockList, isIP, SocketAddress } from 'node:net'
import type { Arrival, RequestHeaders } from '../../vocabulary/call.ts'

/** A network: the addresses that share their first bits. */
interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  /** How many bits are shared: up to 32 or 128, a single address. */
  readonly prefixBits: number
}

/**
 * Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; null for any other text. An IPv4 address written
 * as IPv6 (`::ffff:10.0.0.1`) is an IPv4 address.
 */
export function parseAddressRange(text: string): AddressRange | null {
  const [bare = '', bits, ...rest] = text.trim().split('/')
  const parsed = parseAddress(bare)
  if (parsed === null || rest.length > 0) return null
  const { family, address } = parsed
  const bitsMax = family === 'ipv4' ? 32 : 128
  if (bits === undefined) return { family, address, prefixBits: bitsMax }
  if (!/^\d{1,3}$/.test(bits)) return null
  // The first 96 bits of `::ffff:10.0.0.0/104` only say that it is IPv4.
  const prefixBits = Number(bits) - (family === 'ipv4' && bare.includes(':') ? 96 : 0)
  return prefixBits < 0 || prefixBits > bitsMax ? null : { family, address, prefixBits }
}

/**
 * Finds the address by which a client is counted: the address of the peer or, if the peer is a trusted proxy,
 * the right-most address in `x-forwarded-for` that is no trusted proxy. Addresses to the left of it were sent
 * by the client and may be forged.
 */
export class ClientAddresses {
  readonly #trusted = new BlockList()
  readonly #ipv6PrefixBits: number
  /** Null: no listener, or it has been called. */
  #onUnnamedProxy: ((peerAddress: string) => void) | null

  constructor(input: {
    /** Proxies whose `x-forwarded-for` is believed, in the syntax of {@link parseAddressRange}. */
    readonly trustedProxies: readonly string[]
    /** How many bits of an IPv6 address identify a client, 1 to 128. */
    readonly ipv6PrefixBits: number
    /** Called once, with the address of the first peer that sends `x-forwarded-for` and is no such proxy. Default: nothing. */
    readonly onUnnamedProxy?: (peerAddress: string) => void
  }) {
    this.#ipv6PrefixBits = input.ipv6PrefixBits
    this.#onUnnamedProxy = input.onUnnamedProxy ?? null
    for (const text of input.trustedProxies) {
      const range = parseAddressRange(text)
      if (range === null) throw new TypeError(`${text} is not an address`)
      this.#trusted.addSubnet(range.address, range.prefixBits, range.family)
    }
  }

  /**
   * The name that a client is counted under: an IPv4 address, or the network of an IPv6 address, since most
   * clients can choose from a whole network of addresses. Empty if the connection is closed.
   */
  of({ headers, peerAddress = '' }: Arrival): string {
    let nearest = parseAddress(peerAddress)
    if (nearest === null) return ''
    if (this.#isTrusted(nearest)) {
      for (const hop of forwardedFor(headers).toReversed()) {
        const next = parseAddress(hop)
        // Without an address here, the proxy that wrote the entry is the nearest known one.
        if (next === null) break
        nearest = next
        if (!this.#isTrusted(nearest)) break
      }
    } else if (this.#onUnnamedProxy !== null && headers['x-forwarded-for'] !== undefined) {
      const tell = this.#onUnnamedProxy
      this.#onUnnamedProxy = null
      tell(nearest.address)
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

/** The entries of all such headers, in order. */
function forwardedFor(headers: RequestHeaders): string[] {
  const value = headers['x-forwarded-for'] ?? []
  return String(value).split(',')
}

/** An address with or without a port, brackets or a zone; null for any other text. */
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

/** The IPv4 address that an IPv6 address is mapped from; null if it is not mapped. */
function mappedOf(address: string): Address | null {
  const groups = groupsOf(address)
  if (MAPPED.some((group, place) => groups[place] !== group)) return null
  const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff])
  return { family: 'ipv4', address: bytes.join('.') }
}

/** The eight groups of an IPv6 address in any notation. */
function groupsOf(text: string): number[] {
  // In Node's notation, only a mapped address has dots.
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

/** Whether a host name is one that only this machine has. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(hostname)
}
