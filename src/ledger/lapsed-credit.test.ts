import { expect, test } from 'vitest'
import { getBalance } from './activity/balance.ts'
import { listStatement } from './activity/entries.ts'
import { LapsedCredit } from './lapsed-credit.ts'
import { STORE_BENCHES, UNREACHED_LIMITS } from './testing/benches.ts'
import { runScript } from './testing/script.ts'

test.each(STORE_BENCHES)(
  'on $engine, free credit that expires leaves the entries of an account that sends nothing, as it leaves the balance',
  async ({ open }) => {
    const bench = await open({ limits: UNREACHED_LIMITS })
    let nowMs = 0
    const { ledger, store } = bench
    const lapsed = new LapsedCredit({
      ledger,
      store,
      clock: { nowMs: () => nowMs },
      onFailure: (cause) => expect.fail(String(cause)),
      accountsMax: 1,
    })
    const holds = async (script: string) => expect(await runScript(bench, script)).toBe(script)
    await holds(`
    account A
    account A2
    account A3
    key K A2
    at 0
    credit A free 100 r1 until 60 → added grant 100
    credit A2 free 90 r1 until 60 → added grant 90
    credit A3 free 80 r1 until 90 → added grant 80
    open R K 30 free              → opened 30 = backed 0 + free 30
    at 60
  `)
    nowMs = 59_999
    expect(await lapsed.pass()).toBe(0)
    nowMs = 60_000
    expect(await lapsed.pass()).toBe(2)
    expect(await lapsed.pass()).toBe(0)
    await holds(`
    entries A                     → grant free 100, expiry free -100
    entries A2                    → grant free 90, expiry free -60
    entries A3                    → grant free 80
    show A2                       → backed 0 held 0, free 30 held 30
  `)
    const { lines } = await listStatement(store.db, { accountId: 'A', limit: 1 })
    const balance = await getBalance(store.db, { accountId: 'A', nowMs })
    expect(lines[0]).toMatchObject({ balanceMicros: balance?.free.balanceMicros })
    await bench.auditAndClose()
  },
)
