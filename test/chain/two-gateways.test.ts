import { expect, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { type CrashBench, openCrashBench } from '../crash/crash-bench.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import { ANVIL_CHAIN_ID, Anvil } from './anvil.ts'
import { hasLooked, looking } from './has-looked.ts'

const DEPOSITS_A_ROUND = 8
const UNITS = 1_000_000n

test('two gateways on one PostgreSQL, killed and started again, credit each deposit once', async () => {
  await using anvil = await Anvil.start()
  const bench = await openCrashBench({ createDatabase: createPostgresDatabase })
  await using _closing = { [Symbol.asyncDispose]: () => bench.close() }
  const settings = { ...looking(anvil), UPSTREAM_BASE_URL: '', UPSTREAM_API_KEY: '' }
  // One is killed; the other is in this process.
  const serveTwo = () => Promise.all([bench.serveHere(settings), bench.serve(settings)])
  const first = await bench.serveHere(settings)
  const to = await depositAddress(bench, first)
  await first.close()
  let paid = 0
  const payAndServe = async () => {
    for (let count = 0; count < DEPOSITS_A_ROUND; count++)
      await anvil.transfer({ to, units: UNITS })
    await anvil.mine()
    paid += DEPOSITS_A_ROUND * Number(UNITS)
    // Each looks as soon as it has started, and both find the same blocks.
    return serveTwo()
  }
  const creditedOnce = async (...gateways: readonly { readonly address: string }[]) => {
    for (const gateway of gateways) await hasLooked(gateway)
    const credits = (await bench.entries()).filter(({ kind }) => kind === 'purchase')
    expect(credits.reduce((sum, { amountMicros }) => sum + amountMicros, 0)).toBe(paid)
    expect(credits).toHaveLength(paid / Number(UNITS))
    await bench.audit()
  }
  const [here, killed] = await payAndServe()
  await creditedOnce(here, killed)
  await here.close()
  await killed.stop('SIGKILL')
  const [other, killedAtWork] = await payAndServe()
  await killedAtWork.stop('SIGKILL')
  await creditedOnce(other, await bench.serve(settings))
})

/** The deposit address of the account, as soon as the first look has set where the search begins. */
async function depositAddress(
  { apiKeys }: CrashBench,
  { address }: Pick<ServeProcess, 'address'>,
): Promise<string> {
  for (;;) {
    const answer = await fetch(`${address}/v1/credit/purchases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKeys[0].text}` },
      body: JSON.stringify({ method: `chain-${ANVIL_CHAIN_ID}-usdc` }),
    })
    const [, found] = /"address":"(0x\w+)"/.exec(await answer.text()) ?? []
    if (found !== undefined) return found
    expect(answer.status).toBe(502)
  }
}
