import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { Alerts } from '../alerts.ts'

/** A look of processes that have just started. */
interface Looked {
  /** How many look at the same time. Default: one. */
  readonly processes?: number
  /** Whether owners get emails. Default: true. */
  readonly mails?: boolean
  readonly accountIds?: readonly string[]
  readonly apiKeyIds?: readonly string[]
}

/**
 * Notes alerts in processes that have just started. On a busy machine one may have the rows for longer than another waits
 * for them: that one looks again, as it does on its next pass.
 */
export async function lookAtOnce(
  { db, ids, clock }: StoreBench,
  { processes = 1, mails = true, accountIds = [], apiKeyIds = [] }: Looked = {},
): Promise<void> {
  const lookUntilTaken = async (alerts: Alerts): Promise<void> => {
    try {
      await alerts.look({ accountIds, apiKeyIds })
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      await lookUntilTaken(alerts)
    }
  }
  const tokenDecimals = new Map<string, number>()
  const started = Array.from(
    { length: processes },
    () => new Alerts({ db, ids, clock, mails, tokenDecimals }),
  )
  await Promise.all(started.map(lookUntilTaken))
}
