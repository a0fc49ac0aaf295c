import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HDKey } from 'viem/accounts'
import { expect, test } from 'vitest'
import { bundled } from '../bundled.ts'
import { Management } from '../endpoints/management.ts'
import { serve, tollgate } from '../tollgate-process.ts'
import { ANVIL_CHAIN_ID } from './anvil.ts'
import { SEED, XPUB } from './deposit-bench.ts'

const program = bundled('tollgate')

const SETTINGS = {
  CHAIN_ID: String(ANVIL_CHAIN_ID),
  CHAIN_RPC_URLS: 'http://127.0.0.1:9/one,http://localhost:9/two',
  CHAIN_TOKENS: 'USDC=0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6',
  CHAIN_PRICE_FEEDS: 'USDC=1',
  CHAIN_DEPOSIT_XPUB: XPUB,
}

test('a start with another public key is refused, until an operator replaces the key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-key-'))
  await using closing = new AsyncDisposableStack()
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const other = HDKey.fromMasterSeed(SEED).derive("m/44'/60'/1'").publicExtendedKey
  const changed = { ...SETTINGS, CHAIN_DEPOSIT_XPUB: other, PORT: '0' }
  const startWith = async (env: Readonly<Record<string, string>>) => {
    const server = await serve({ folder, env, page: 'off', program })
    expect(await server.stop('SIGTERM')).toMatchObject({ code: 0 })
  }
  await startWith(SETTINGS)
  const refused = await tollgate(['serve'], { folder, env: changed, program })
  expect(refused.code).toBe(1)
  expect(refused.notes).toContain('CHAIN_DEPOSIT_XPUB is another key than the one')
  expect(refused.notes).not.toMatch(/^\s+at /m)
  const rescan = ['sale', 'rescan', '--from-block', '1']
  expect((await tollgate(rescan, { folder, env: changed, program })).notes).toContain(
    'is another key',
  )
  const replaced = await tollgate(['sale', 'replace-key'], { folder, env: changed, program })
  expect(replaced).toMatchObject({ code: 0, out: expect.stringContaining('credited as before') })
  await startWith(changed)
  await expect(startWith(SETTINGS)).rejects.toThrow('is another key')
})

test.each([
  [{ CHAIN_QUORUM: '1', CHAIN_RPC_URLS: 'http://127.0.0.1:9' }, 'CHAIN_QUORUM is 1'],
  [{ CHAIN_RPC_URLS: 'http://127.0.0.1:9,http://127.0.0.1:9/second' }, 'fewer hosts than'],
])('the log and /readyz warn if one company could invent a deposit: %o', async (nodes, words) => {
  const weak = await Management.start({ settings: { ...SETTINGS, ...nodes } })
  expect(await weak.world.logged(words)).toContain('"level":40')
  // A weakness that the operator may have chosen: requests are served.
  const { httpStatus, json } = await weak.get('/readyz', null)
  const warning = { name: 'chain_nodes', ok: true, message: expect.stringContaining(words) }
  expect([httpStatus, json]).toEqual([
    200,
    expect.objectContaining({ ready: true, checks: expect.arrayContaining([warning]) }),
  ])
  // A node that fails several questions of a look is named once.
  await weak.world.logged('deposits are not followed now')
  const named = weak.world.log.filter((line) => line.includes('a node of the chain does not'))
  expect(named).toHaveLength(1)
  await weak.close()
})
