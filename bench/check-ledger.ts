import { setTimeout as delay } from 'node:timers/promises'
import { isStanding, isUnsettled } from '../src/ledger/activity/unsettled.ts'
import { auditStore } from '../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../src/operations/gateway/upkeep.ts'
import { openStore } from '../src/store/open-store.ts'
import { HOUR_MS } from '../src/vocabulary/clock.ts'
import type { SeededActivity } from './seed-activity.ts'
import type { Witness } from './witness.ts'

interface CheckLedgerInput {
  /** The store of a gateway that has ended. */
  readonly url: string
  /** The witness of every answer of that gateway. */
  readonly witness: Witness
  /** The content of the store before the run. */
  readonly seeded: SeededActivity
}

/**
 * The faults of the ledger that a gateway left behind: figures that don't add up, holds that are
 * still open, requests without an answer, answers without a request.
 */
export async function checkLedger(input: CheckLedgerInput): Promise<string[]> {
  const { witness, seeded } = input
  await using closing = new AsyncDisposableStack()
  const store = await openStore({ url: input.url })
  closing.defer(() => store.close())
  const faults: string[] = []
  const audit = await auditStore(store, { checks: AUDIT_CHECKS })
  for (const difference of audit.differences.slice(0, 5)) {
    faults.push(`the audit differs: ${JSON.stringify(difference)}`)
  }
  if (!audit.ok) faults.push(`the audit has ${audit.differences.length} differences`)
  const { reports } = store
  const unended = await reports
    .selectFrom('all_requests')
    .select(['id', 'state'])
    .where('state', 'not in', ['final', 'released'])
    .limit(5)
    .execute()
  faults.push(...unended.map(({ id, state }) => `${id} is still ${state}`))
  const held = await reports
    .selectFrom('accounts')
    .select('id')
    .where(({ eb, or }) => or([eb('backed_held_micros', '>', 0), eb('free_held_micros', '>', 0)]))
    .limit(5)
    .execute()
  faults.push(...held.map(({ id }) => `${id} still has credit held`))
  const charged = await reports
    .selectFrom('requests')
    .select(({ fn }) => fn.sum<number>('backed_charge_micros').as('micros'))
    .where('stream', '=', 0)
    .executeTakeFirstOrThrow()
  const chargedMicros = Number(charged.micros ?? 0) - seeded.chargedMicros
  if (chargedMicros !== witness.chargedMicros) {
    faults.push(`charged ${chargedMicros} of the ${witness.chargedMicros} that answers reported`)
  }
  const requests = audit.checked.requests - seeded.requests
  if (requests !== witness.answers) {
    faults.push(`${requests} requests are in the ledger, and ${witness.answers} were answered`)
  }
  return faults.map((fault) => `${witness.name}: ${fault}`)
}

const LOOK_AGAIN_MS = 200

/** The ledger of a gateway, read while the gateway serves. */
interface LedgerReader {
  /** Requests that are answered and not final yet. */
  countUnsettled(): Promise<number>
  /** Resolves when all hours that are over are rolled up. */
  rolledUp(): Promise<void>
  close(): Promise<void>
}

/** Opens a store to read it while the gateway runs. */
export async function openLedgerReader(url: string): Promise<LedgerReader> {
  const store = await openStore({ url })
  return {
    async countUnsettled() {
      const { count } = await store.reports
        .selectFrom('all_requests')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where(({ or }) => or([isUnsettled('open', 'provisional', 'unresolved'), isStanding]))
        .executeTakeFirstOrThrow()
      return Number(count)
    },
    async rolledUp() {
      // The newest hour that can be, and the last: the oldest are rolled first.
      const hour = Math.floor(Date.now() / HOUR_MS) - 2
      const isRolled = () =>
        store.reports
          .selectFrom('usage_rolled')
          .select('number')
          .where('step', '=', 'hour')
          .where('number', '>=', hour)
          .executeTakeFirst()
      while ((await isRolled()) === undefined) {
        await delay(LOOK_AGAIN_MS)
      }
    },
    close: () => store.close(),
  }
}
