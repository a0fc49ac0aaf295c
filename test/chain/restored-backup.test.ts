import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCommandLine } from '../../src/cli/testing/command-line.ts'
import { getBalance } from '../../src/ledger/activity/balance.ts'
import { openStore } from '../../src/store/open-store.ts'
import { bundled } from '../bundled.ts'
import { type ServeProcess, serve, tollgate } from '../tollgate-process.ts'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { hasLooked, looking } from './has-looked.ts'

test('a rescan from the command line credits deposits since a restored backup once', async () => {
  await using anvil = await Anvil.start()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-restored-'))
  await using closing = new AsyncDisposableStack()
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...looking(anvil), DATABASE_URL: 'sqlite:store.db' }
  const restored = { ...env, DATABASE_URL: 'sqlite:backup.db' }
  const lineOf = (file: string) => {
    const line = openCommandLine({ storeUrl: `sqlite:${join(folder, file)}` })
    closing.defer(() => line.close())
    return line
  }
  const [line, ofBackup] = [lineOf('store.db'), lineOf('backup.db')]
  // These read the settings of the chain, as a process does.
  const sale = async (...args: readonly string[]) => {
    const { code, out, notes } = await tollgate(['sale', ...args], {
      folder,
      env: restored,
      program: bundled('tollgate'),
    })
    expect([code, notes], args.join(' ')).toEqual([0, expect.any(String)])
    return out
  }
  const start = async (settings = env) => {
    const server = await serve({ folder, env: settings, page: 'off', program: bundled('tollgate') })
    closing.defer(async () => void (await server.stop('SIGKILL')))
    await hasLooked(server)
    return server
  }
  const addressOf = async ({ address }: ServeProcess, accountId: string) => {
    const { key } = await line.json('key', 'create', accountId)
    const answer = await fetch(`${address}/v1/credit/purchases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ method: `chain-${ANVIL_CHAIN_ID}-usdc` }),
    })
    const [, found = ''] = /"address":"(0x\w+)"/.exec(await answer.text()) ?? []
    return found
  }

  const ada = await line.make('account', 'create', 'Ada')
  const bob = await line.make('account', 'create', 'Bob')
  let server = await start()
  const toAda = await addressOf(server, ada)
  expect(await line.run('backup', join(folder, 'backup.db'))).toMatchObject({ exitCode: 0 })
  const fromBlock = (await anvil.blockNumber('finalized')) + 1
  // After the backup: a deposit at an address that it has, and one at an address that it lacks.
  const toBob = await addressOf(server, bob)
  await anvil.transfer({ to: toAda, units: 3_000_000n })
  await anvil.transfer({ to: toBob, units: 4_000_000n })
  await anvil.mine()
  await server.stop('SIGTERM')
  const balances = async () => {
    const store = await openStore({ url: ofBackup.storeUrl })
    const shown = [ada, bob].map((accountId) =>
      getBalance(store.db, { accountId, nowMs: Date.now() }),
    )
    const found = (await Promise.all(shown)).map((balance) => balance?.backed.balanceMicros)
    await store.close()
    return found
  }
  expect(await balances()).toEqual([0, 0])

  const rescan = ['rescan', '--from-block', String(fromBlock)]
  expect(await sale(...rescan)).toContain('addresses of 2 accounts: 2 purchases added')
  expect(await sale(...rescan)).toContain('0 purchases added')
  server = await start(restored)
  await server.stop('SIGTERM')
  expect(await balances()).toEqual([3_000_000, 4_000_000])
  expect(await sale('check')).toBe('the store agrees on 2 payments\n')
  expect(await sale('addresses')).toContain(toBob)
  const store = await openStore({ url: ofBackup.storeUrl })
  const ofAda = store.db.updateTable('purchases').where('account_id', '=', ada)
  await ofAda.set({ paid_currency: 'GONE' }).execute()
  await store.close()
  expect(await sale('check')).toBe(`the store agrees on 1 payment
not compared: 1 deposit in a token that is no longer accepted
`)
  expect((await ofBackup.run('audit')).out).toMatch(/^exact: /m)
})
