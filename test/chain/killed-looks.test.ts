import { expect, test } from 'vitest'
import type { ChainTerms } from '../../src/sale/chain/terms.ts'
import { bundled } from '../bundled.ts'
import { runKilled } from '../crash/run-killed.ts'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { DepositBench, type KilledLook, usdcOf } from './deposit-bench.ts'

const KILLS_MIN = 3

test.each(['sqlite', 'postgres'] as const)(
  'on %s, each deposit is credited once after a process is killed before any change of a look',
  async (engine) => {
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
    // Each process dies a change later than the one before, until one reaches its end.
    for (let killAt = 1; ; killAt++) {
      await anvil.transfer({ to: deposits.addressOf('A'), units: 1_000_000n })
      await anvil.mine()
      paid += 1_000_000
      const input = wordsOf({ databaseUrl: url, rpcUrls, chain, killAt })
      const wasKilled = await runKilled(bundled('killed-look'), input)
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

/** With a mark on numbers that JSON has not. */
function wordsOf(input: KilledLook): string {
  return JSON.stringify(input, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}
