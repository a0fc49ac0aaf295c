import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { getBalance } from '../../src/ledger/activity/balance.ts'
import { openStore } from '../../src/store/open-store.ts'
import { bundled } from '../bundled.ts'
import { type ServeProcess, serve, tollgate } from '../tollgate-process.ts'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { hasLooked, looking } from './has-looked.ts'

const keyShape = z.object({ key: z.string() })
const accountShape = z.object({ id: z.string() })

test('a rescan from the command line credits deposits since a restored backup once', async () => {
  await using anvil = await Anvil.start()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-restored-'))
  await using closing = new AsyncDisposableStack()
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...looking(anvil), DATABASE_URL: 'sqlite:store.db' }
  const restored = { ...env, DATABASE_URL: 'sqlite:backup.db' }
  const run = async (args: readonly string[], settings = env) => {
    const { code, out, notes } = await tollgate(args, {
      folder,
      env: settings,
      program: bundled('tollgate'),
    })
    expect([code, notes], args.join(' ')).toEqual([0, expect.any(String)])
    return out
  }
  const account = async (name: string) =>
    accountShape.parse(JSON.parse(await run(['account', 'create', name, '--json'])))
  const start = async (settings = env) => {
    const server = await serve({ folder, env: settings, page: 'off', program: bundled('tollgate') })
    closing.defer(async () => void (await server.stop('SIGKILL')))
    await hasLooked(server)
    return server
  }
  const addressOf = async ({ address }: ServeProcess, accountId: string) => {
    const made = await run(['key', 'create', accountId, '--json'])
    const { key } = keyShape.parse(JSON.parse(made))
    const answer = await fetch(`${address}/v1/credit/purchases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ method: `chain-${ANVIL_CHAIN_ID}-usdc` }),
    })
    const [, found = ''] = /"address":"(0x\w+)"/.exec(await answer.text()) ?? []
    return found
  }

  const ada = await account('Ada')
  const bob = await account('Bob')
  let server = await start()
  const toAda = await addressOf(server, ada.id)
  await run(['backup', 'backup.db'])
  const fromBlock = (await anvil.blockNumber('finalized')) + 1
  // After the backup: a deposit at an address that it has, and one at an address that it lacks.
  const toBob = await addressOf(server, bob.id)
  await anvil.transfer({ to: toAda, units: 3_000_000n })
  await anvil.transfer({ to: toBob, units: 4_000_000n })
  await anvil.mine()
  await server.stop('SIGTERM')
  server = await start()
  await server.stop('SIGTERM')
  const balances = async (file: string) => {
    const store = await openStore({ url: `sqlite:${join(folder, file)}` })
    const shown = [ada, bob].map(({ id }) =>
      getBalance(store.db, { accountId: id, nowMs: Date.now() }),
    )
    const found = (await Promise.all(shown)).map((balance) => balance?.backed.balanceMicros)
    await store.close()
    return found
  }
  expect(await balances('store.db')).toEqual([3_000_000, 4_000_000])
  expect(await balances('backup.db')).toEqual([0, 0])

  const rescan = ['sale', 'rescan', '--from-block', String(fromBlock)]
  expect(await run(rescan, restored)).toContain('addresses of 2 accounts: 2 purchases added')
  expect(await run(rescan, restored)).toContain('0 purchases added')
  server = await start(restored)
  await server.stop('SIGTERM')
  expect(await balances('backup.db')).toEqual([3_000_000, 4_000_000])
  expect(await run(['sale', 'check'], restored)).toBe('the store agrees on 2 purchases\n')
  expect(await run(['sale', 'addresses'], restored)).toContain(toBob)
  await run(['audit'], restored)
})
