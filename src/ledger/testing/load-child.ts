import { parseDatabaseUrl } from '../../store/database-url.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { micros } from '../../vocabulary/money.ts'
import { createLedger } from '../engines/create-ledger.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { costOfCharge, FACTS, holdInput } from './script.ts'

/**
 * A process that opens and settles holds until it is killed or its store fails, and writes a line for
 * each answer: `opened R`, `settled R`, `unavailable`. Arguments: the database's URL, the account's id, keys.
 */
const [url = '', accountId = '', ...apiKeyIds] = process.argv.slice(2)
const limits = { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 1_000_000_000 }
const ledger = createLedger({ location: parseDatabaseUrl(url), limits })

let opened = 0

async function runRequests(apiKeyId: string): Promise<void> {
  for (;;) {
    const requestId = `req_${process.pid}_${opened++}`
    const verdict = await ledger.openHold(
      holdInput(requestId, {
        accountId,
        apiKeyId,
        instanceId: 'inst_child',
        freeCreditQualifies: true,
        amountMicros: 100,
      }),
    )
    if (verdict.kind !== 'opened') throw new Error(verdict.code)
    process.stdout.write(`opened ${requestId}\n`)
    const chargeMicros = micros(opened % 120)
    await ledger.settle({
      requestId,
      resolution: { kind: 'final', chargeMicros, costUsd: costOfCharge(chargeMicros) },
      facts: FACTS,
    })
    process.stdout.write(`settled ${requestId}\n`)
  }
}

try {
  await Promise.all(apiKeyIds.map(runRequests))
} catch (error) {
  process.stdout.write(error instanceof StoreUnavailable ? 'unavailable\n' : `${error}\n`)
}
await ledger.close()
