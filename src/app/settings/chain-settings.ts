import { z } from 'zod'
import type { Confirm } from '../../sale/chain/questions.ts'
import { methodOf, type Stablecoin, type TokenPrice } from '../../sale/chain/terms.ts'
import type { ChainSettings } from '../../sale/open-deposits.ts'
import { ONE_DOLLAR_8 } from '../../vocabulary/purchase.ts'
import { fitting, membersOf, type Setting, wholeNumber } from './setting.ts'
import { namesUpstream } from './upstream-variables.ts'

const ADDRESS = /^0x[\da-fA-F]{40}$/

/** The settings of deposits on a chain. Unset, nothing of them is loaded. */
export const CHAIN_SETTINGS = {
  CHAIN_ID: {
    schema: fitting(
      (text) => /^[1-9]\d{0,14}$/.test(text),
      'must be the number of a chain, such as 8453 for Base',
    ).transform((text) => (text === null ? null : Number(text))),
    fallback: null,
    description:
      'The chain on which deposits are taken, such as 8453 for Base; see [selling.md](selling.md). Unset: credit is not sold on a chain.',
    secret: false,
  },
  CHAIN_RPC_URLS: {
    schema: z
      .string()
      .default('')
      .transform(membersOf)
      .refine(
        (urls) => urls.every(isNodeUrl),
        'must be http or https addresses, comma-separated, such as https://one.example.com,https://two.example.org/key',
      )
      .refine((urls) => new Set(urls).size === urls.length, 'names an address twice'),
    fallback: '',
    description:
      'Addresses of JSON-RPC nodes of the chain, comma-separated, of at least two companies: a deposit counts only if `CHAIN_QUORUM` of them describe it identically.',
    secret: true,
  },
  CHAIN_TOKENS: {
    schema: z
      .string()
      .default('')
      .transform((text, checked): readonly TokenSetting[] => {
        const tokens = membersOf(text).map(readToken)
        const known = tokens.filter((token) => token !== null)
        const names = known.flatMap(({ symbol, address }) =>
          [symbol, address].map((name) => name.toLowerCase()),
        )
        if (known.length === tokens.length && new Set(names).size === names.length) return known
        checked.addIssue({
          code: 'custom',
          message:
            'must be tokens with the address of their contract and their decimals, each once, such as USDC=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6',
        })
        return z.NEVER
      }),
    fallback: '',
    description:
      'The accepted stablecoins, comma-separated: `USDC=0x…:6` has the address of the contract and the decimals.',
    secret: false,
  },
  CHAIN_DEPOSIT_XPUB: {
    schema: z
      .string()
      .optional()
      .superRefine((text, checked) => {
        if (text === undefined || /^xpub[1-9A-HJ-NP-Za-km-z]{100,120}$/.test(text)) return
        const message = /^[a-z]prv/i.test(text)
          ? 'is a private key, which can spend all deposits: set the extended public key (xpub…), and move the deposits to a new seed if this one was stored on the server'
          : 'must be an extended public key: xpub and about 107 more characters'
        checked.addIssue({ code: 'custom', message })
      })
      .transform((text) => text ?? null),
    fallback: null,
    description:
      'The extended public key from which the deposit addresses of accounts are derived. Keep the seed, which can spend, elsewhere.',
    secret: true,
  },
  CHAIN_CONFIRM: {
    schema: z
      .string()
      .default('finalized')
      .refine(
        (text) => /^(finalized|safe|[1-9]\d{0,5})$/.test(text),
        'must be finalized, safe, or a number of blocks from 1',
      )
      .transform(
        (text): Confirm => (text === 'finalized' || text === 'safe' ? text : Number(text)),
      ),
    fallback: 'finalized',
    description:
      'When a deposit counts: `finalized` (13 to 30 minutes), `safe`, or a number of blocks above it. Before finality, a chain can still drop a deposit, whose credit then stays.',
    secret: false,
  },
  CHAIN_QUORUM: wholeNumber(
    { fallback: 2, min: 1, max: 100 },
    'How many nodes must agree. With 1, a single node decides about credit.',
  ),
  CHAIN_PRICE_FEEDS: {
    schema: z
      .string()
      .default('')
      .transform((text, checked): ReadonlyMap<string, TokenPrice> => {
        const feeds = membersOf(text).map(readFeed)
        const known = feeds.filter((feed) => feed !== null)
        const prices = new Map(known)
        if (prices.size === feeds.length) return prices
        checked.addIssue({
          code: 'custom',
          message:
            'must name each token once, with the address of its price feed and the age in seconds at which a price is stale, such as USDC=0x7e860098F58bBFC8648a4311b374B1D669a2bc6B:90000, or USDC=1 for a dollar',
        })
        return z.NEVER
      }),
    fallback: '',
    description:
      "The source of each token's price in dollars, comma-separated: `USDC=0x…:90000` has the address of a Chainlink price feed and the age in seconds at which its price is stale; `USDC=1` means exactly one dollar.",
    secret: false,
  },
} as const satisfies Record<string, Setting<unknown>>

interface TokenSetting {
  readonly symbol: string
  /** The address as it was typed: the case of its letters is a checksum. */
  readonly address: string
  readonly decimals: number
}

/** The settings of a chain, read and checked. */
export type ChainConfig = {
  readonly [Name in keyof typeof CHAIN_SETTINGS]: z.output<(typeof CHAIN_SETTINGS)[Name]['schema']>
}

function isNodeUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function readToken(text: string): TokenSetting | null {
  const [, symbol, address = '', decimals] =
    /^([A-Za-z][\w.]{0,15})=([^:]+):(\d{1,2})$/.exec(text) ?? []
  const isPossible = ADDRESS.test(address) && Number(decimals) <= 36
  return symbol !== undefined && isPossible ? { symbol, address, decimals: Number(decimals) } : null
}

function readFeed(text: string): readonly [string, TokenPrice] | null {
  const [, symbol, value = ''] = /^([A-Za-z][\w.]{0,15})=(.+)$/.exec(text) ?? []
  if (symbol === undefined) return null
  if (value === '1') return [symbol, { kind: 'fixed', rate8: ONE_DOLLAR_8 }]
  const [, feed = '', seconds] = /^([^:]+):([1-9]\d{0,7})$/.exec(value) ?? []
  if (!ADDRESS.test(feed)) return null
  return [symbol, { kind: 'feed', feed, staleAfterMs: Number(seconds) * 1_000 }]
}

// Tokens of these chains are free: they must never buy from a real provider.
const TEST_CHAINS = new Set([
  1_337, 31_337, 17_000, 84_532, 80_002, 421_614, 560_048, 11_155_111, 11_155_420,
])

const REQUIRED = ['CHAIN_ID', 'CHAIN_RPC_URLS', 'CHAIN_TOKENS', 'CHAIN_DEPOSIT_XPUB'] as const

/** The faults of a combination of chain settings. */
export function chainFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const isSet = (name: string): boolean => (env[name] ?? '') !== ''
  const set = Object.keys(CHAIN_SETTINGS).filter(isSet)
  const [first] = set
  if (first === undefined) return []
  const faults = REQUIRED.filter((name) => !isSet(name)).map(
    (name) => `${name} must be set too, because ${first} is set`,
  )
  const isSimulator = !namesUpstream(env)
  const isTest = TEST_CHAINS.has(Number(env['CHAIN_ID']))
  const isChain = CHAIN_SETTINGS.CHAIN_ID.schema.safeParse(env['CHAIN_ID']).success
  if (isSet('CHAIN_ID') && isChain && isSimulator && !isTest) {
    faults.push(
      'CHAIN_ID is a chain of real money, and no upstream is configured: deposits would buy play credit. Configure an upstream, or set a test chain such as 84532',
    )
  }
  if (isSet('CHAIN_ID') && !isSimulator && isTest) {
    faults.push(
      'CHAIN_ID is a test chain, whose tokens are free: they would buy real credit. Set another chain, or configure no upstream to try it with the simulator',
    )
  }
  return [...faults, ...quorumFaults(env), ...priceFaults(env)]
}

function quorumFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const nodes = membersOf(env['CHAIN_RPC_URLS'] ?? '').length
  const quorum = Number(env['CHAIN_QUORUM'] || CHAIN_SETTINGS.CHAIN_QUORUM.fallback)
  if (nodes === 0 || nodes >= quorum) return []
  return [
    `CHAIN_RPC_URLS has ${nodes} of the ${quorum} nodes of CHAIN_QUORUM: add a node of another company, or set CHAIN_QUORUM=${nodes} to accept so few`,
  ]
}

function priceFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const tokens = CHAIN_SETTINGS.CHAIN_TOKENS.schema.safeParse(env['CHAIN_TOKENS'])
  const feeds = CHAIN_SETTINGS.CHAIN_PRICE_FEEDS.schema.safeParse(env['CHAIN_PRICE_FEEDS'])
  if (!tokens.success || !feeds.success) return []
  const symbols = new Set(tokens.data.map(({ symbol }) => symbol))
  const unpriced = [...symbols].filter((symbol) => !feeds.data.has(symbol))
  const unknown = [...feeds.data.keys()].filter((symbol) => !symbols.has(symbol))
  return [
    ...unpriced.map(
      (symbol) =>
        `CHAIN_PRICE_FEEDS has no price of ${symbol}: name its feed, or set ${symbol}=1 to count each as a dollar`,
    ),
    ...unknown.map(
      (symbol) => `CHAIN_PRICE_FEEDS names ${symbol}, which CHAIN_TOKENS does not have`,
    ),
  ]
}

/** How deposits are found, with the addresses of the nodes and the public key; null: no chain is configured. */
export function chainSettingsOf(config: ChainConfig): ChainSettings | null {
  const { CHAIN_ID: chainId, CHAIN_DEPOSIT_XPUB: xpub, CHAIN_TOKENS: typed } = config
  if (chainId === null || xpub === null) return null
  const tokens = typed.flatMap(({ symbol, address, decimals }): Stablecoin[] => {
    const price = config.CHAIN_PRICE_FEEDS.get(symbol)
    if (price === undefined) return []
    const method = methodOf(chainId, symbol)
    return [{ symbol, method, address: address.toLowerCase(), decimals, price }]
  })
  const { CHAIN_CONFIRM: confirm, CHAIN_QUORUM: quorum, CHAIN_RPC_URLS: rpcUrls } = config
  const feeds = tokens.flatMap(({ price }) => (price.kind === 'feed' ? [price.feed] : []))
  return {
    chain: { chainId, tokens, confirm, quorum },
    rpcUrls,
    xpub,
    typedAddresses: [...typed.map(({ address }) => address), ...feeds],
  }
}

/** Why a deposit could be made up by one company, by lie or mistake; null: it could not, or no chain is followed. */
export function fewNodesWarning({
  chain: settings,
}: {
  readonly chain: ChainSettings | null
}): string | null {
  if (settings === null) return null
  const { chain, rpcUrls } = settings
  if (chain.quorum === 1) return 'CHAIN_QUORUM is 1: a deposit counts on the word of a single node'
  const hosts = new Set(rpcUrls.map((url) => new URL(url).hostname))
  if (hosts.size >= chain.quorum) return null
  return 'CHAIN_RPC_URLS has fewer hosts than CHAIN_QUORUM: a deposit counts on the word of one company'
}
