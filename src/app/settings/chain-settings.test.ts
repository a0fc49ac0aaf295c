import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { ConfigError } from './setting.ts'

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

const CHAIN = {
  CHAIN_ID: '84532',
  CHAIN_RPC_URLS: 'https://one.example/k,https://two.example/k',
  CHAIN_TOKENS: `USDC=${USDC}:6`,
  CHAIN_PRICE_FEEDS: 'USDC=1',
  CHAIN_DEPOSIT_XPUB: `xpub${'6'.repeat(107)}`,
}

function faultsOf(changed: Readonly<Record<string, string>>): string {
  try {
    readConfig({ ...CHAIN, ...changed })
    return ''
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
  }
}

test('a chain with all of its settings is accepted', () => {
  expect(faultsOf({})).toBe('')
})

test.each([
  ['CHAIN_RPC_URLS', 'https://one.example/k', 'CHAIN_RPC_URLS has 1 of the 2 nodes'],
  ['CHAIN_RPC_URLS', 'https://one.example/k,https://one.example/k', 'names an address twice'],
  ['CHAIN_RPC_URLS', 'ftp://one.example', 'must be http or https addresses'],
  ['CHAIN_TOKENS', `USDC=${USDC}:6,usdc=0x${'ab'.repeat(20)}:6`, 'each once'],
  ['CHAIN_TOKENS', `USDC=${USDC}:6,OTHER=${USDC.toLowerCase()}:6`, 'each once'],
  ['CHAIN_TOKENS', 'USDC=0x12:6', 'CHAIN_TOKENS is "USDC=0x12:6": it must be tokens'],
  ['CHAIN_TOKENS', `USDC=${USDC}:6,USDT=0x${'ab'.repeat(20)}:6`, 'has no price of USDT'],
  ['CHAIN_PRICE_FEEDS', '', 'CHAIN_PRICE_FEEDS has no price of USDC'],
  ['CHAIN_PRICE_FEEDS', 'USDC=1,USDC=1', 'must name each token once'],
  ['CHAIN_PRICE_FEEDS', 'USDC=0.99', 'must name each token once'],
  ['CHAIN_DEPOSIT_XPUB', `xprv${'6'.repeat(107)}`, 'is a private key, which can spend'],
  ['CHAIN_DEPOSIT_XPUB', '', 'CHAIN_DEPOSIT_XPUB must be set too'],
  ['CHAIN_CONFIRM', '0', 'must be finalized, safe, or a number'],
  ['CHAIN_ID', '8453', 'is a chain of real money'],
])('%s=%s is refused, with what to write instead', (name, value, words) => {
  expect(faultsOf({ [name]: value })).toContain(words)
})

test('a test chain is refused with a real provider', () => {
  const upstream = { UPSTREAM_BASE_URL: 'https://provider.example/v1', UPSTREAM_API_KEY: 'key' }
  expect(faultsOf(upstream)).toContain('is a test chain, whose tokens are free')
})
