import { Resolver } from 'node:dns/promises'
import { BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseAddressRange } from '../journey/gate/client-address.ts'

/** An address to connect to, and no other. */
export interface PinnedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Finds the addresses of a name. Rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly PinnedAddress[]>

// All that is public so far. Outside are addresses that a network translates to IPv4, which may be any.
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

/** The addresses that webhooks may be sent to: public ones, and the networks of the settings. */
export class AddressRules {
  readonly #allowed = new BlockList()

  /** `networks`: in the syntax of {@link parseAddressRange}. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const range = parseAddressRange(text)
      if (range === null) throw new TypeError(`${text} is not a network`)
      this.#allowed.addSubnet(range.address, range.prefixBits, range.family)
    }
  }

  /** Whether an address is public unicast or in an allowed network; anything that is no address is not. */
  allows(text: string): boolean {
    // A zone has a meaning only on this machine.
    if (text.includes('%') || !ipaddr.isValid(text)) return false
    const address = ipaddr.parse(text)
    const plain = address.toString()
    if (this.#allowed.check(plain, address.kind())) return true
    if (address.kind() === 'ipv6' && !address.match(PUBLIC_IPV6)) return false
    // Neither private, loopback, link-local, carrier-grade NAT, multicast and reserved ones, nor IPv4 within IPv6.
    return address.range() === 'unicast'
  }

  /**
   * The one address that a host is connected to. A name is looked up once, and all of its addresses must be allowed.
   * Null: it is not allowed. Rejects if it can't be looked up.
   */
  async pin(hostname: string, resolve: Resolve): Promise<PinnedAddress | null> {
    const bare = hostname.replace(/^\[(.*)\]$/, '$1')
    const addresses = ipaddr.isValid(bare)
      ? [{ address: bare, family: ipaddr.parse(bare).kind() === 'ipv6' ? 6 : 4 } as const]
      : await resolve(bare)
    const [first] = addresses
    if (first === undefined || !addresses.every(({ address }) => this.allows(address))) return null
    return first
  }
}

const LOOK_UP_TIMEOUT_MS = 2_000

/**
 * Asks the DNS servers of the system, and not `lookup`, whose few threads also look up the providers: a name without an
 * answer would hold requests up.
 */
export const resolveByDns: Resolve = async (hostname) => {
  const resolver = new Resolver({ timeout: LOOK_UP_TIMEOUT_MS, tries: 2 })
  const [ipv4, ipv6] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason
  return [
    ...(ipv4.status === 'fulfilled' ? ipv4.value : []).map(
      (address) => ({ address, family: 4 }) as const,
    ),
    ...(ipv6.status === 'fulfilled' ? ipv6.value : []).map(
      (address) => ({ address, family: 6 }) as const,
    ),
  ]
}

/** Why an address can't be a webhook's, to follow its name; null: it can. */
export function urlFault(text: string, rules: AddressRules): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.protocol !== 'https:')
    return 'must be an address that begins with https://'
  if (url.username !== '' || url.password !== '') return 'must have no user name and no password'
  if (url.hash !== '') return 'must have no part after #'
  const bare = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isRefused = ipaddr.isValid(bare) && !rules.allows(bare)
  return isRefused ? 'must be a public address, or in a network of TOLLGATE_WEBHOOK_NETWORKS' : null
}
