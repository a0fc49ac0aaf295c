import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { XPUB } from './chain/deposit-bench.ts'
import { serve, tollgate } from './tollgate-process.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-missing-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Lets a process find no package of this name, as where npm did not install it. */
function without(name: string): Readonly<Record<string, string>> {
  const hook = `
    import { registerHooks } from 'node:module'
    registerHooks({
      resolve(named, context, next) {
        if (named !== '${name}' && !named.startsWith('${name}/')) return next(named, context)
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
      },
    })
  `
  const url = `data:text/javascript;base64,${Buffer.from(hook).toString('base64')}`
  return { NODE_OPTIONS: `--import=${url}` }
}

const CHAIN = {
  CHAIN_ID: '31337',
  CHAIN_RPC_URLS: 'http://127.0.0.1:9,http://127.0.0.1:9/second',
  CHAIN_TOKENS: 'USDC=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6',
  CHAIN_PRICE_FEEDS: 'USDC=1',
  CHAIN_DEPOSIT_XPUB: XPUB,
}

test.each([
  ['viem', CHAIN, 'CHAIN_ID is set, but the package viem is not installed: npm install viem'],
  [
    'stripe',
    { STRIPE_SECRET_KEY: 'sk_test_of_nothing' },
    'STRIPE_SECRET_KEY is set, but the package stripe is not installed: npm install stripe',
  ],
] as const)(
  'a start whose settings need %s prints the command that installs it, and no stack',
  async (name, settings, line) => {
    const env = { PORT: '0', ...settings, ...without(name) }
    const { code, notes } = await tollgate(['serve'], { folder, env })
    expect(code).toBe(1)
    expect(notes).toContain(line)
    expect(notes).not.toMatch(/^\s+at /m)
  },
)

test.each(['viem', 'stripe'])(
  'a server whose settings do not need %s starts without it',
  async (name) => {
    const server = await serve({ folder, env: without(name) })
    expect((await fetch(`${server.address}/v1/credit`)).status).toBe(200)
    expect(await server.stop('SIGTERM')).toMatchObject({ code: 0 })
  },
)
