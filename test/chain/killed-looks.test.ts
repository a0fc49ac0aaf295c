import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { ChainTerms } from '../../src/sale/chain/terms.ts'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { DepositBench, type KilledLook, usdcOf } from './deposit-bench.ts'

const CHILD = join(import.meta.dirname, 'killed-look.ts')
const KILLS_MIN = 15

test.each([
  ['sqlite', 1],
  ['postgres', 2],
] as const)(
  'on %s, each deposit is credited once after a process is killed at a step of a look',
  async (engine, first) => {
    await using anvil = await Anvil.start()
    const rpcUrls = [anvil.url, `${anvil.url}/`]
    await using deposits = await DepositBench.open({ anvil, rpcUrls, engine })
    const { file, url = `sqlite:${file}` } = deposits.bench
    const chain: ChainTerms = {
      chainId: ANVIL_CHAIN_ID,
      tokens: [usdcOf(anvil)],
      confirm: 'finalized',
      quorum: 2,
    }
    let paid = 0
    let kills = 0
    // Each process dies two steps later than the one before, until one ends by itself.
    for (let killAt = first; ; killAt += 2) {
      await anvil.transfer({ to: deposits.addressOf('A'), units: 1_000_000n })
      await anvil.mine()
      paid += 1_000_000
      const wasKilled = await look({ databaseUrl: url, rpcUrls, chain, killAt })
      expect(await deposits.balance('A')).toBeLessThanOrEqual(paid)
      await deposits.bench.audit()
      await deposits.drain()
      expect(await deposits.balance('A')).toBe(paid)
      if (!wasKilled) break
      kills++
    }
    expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
  },
)

/** Whether the process was killed. */
async function look(input: KilledLook): Promise<boolean> {
  const words = JSON.stringify(input, (_, value) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
  const child = spawn(process.execPath, [CHILD, words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code, signal], notes] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(notes)
  return signal === 'SIGKILL'
}
