import { getRequest } from '../ledger/activity/activity.ts'
import type { VerificationReport } from '../operations/operation-parts.ts'
import {
  AGREED_LOOKUPS_MIN,
  type DoubtChange,
  Doubts,
  type DoubtUnit,
  showUnit,
} from '../reconcile/doubts.ts'
import { KeyUsage, type KeyUsageLook } from '../reconcile/key-usage.ts'
import { LookupPolicy, openDrawSecret } from '../reconcile/lookups.ts'
import type { Settlement } from '../reconcile/reconciler.ts'
import { StandingCosts } from '../reconcile/standing-costs.ts'
import type { Store } from '../store/store.ts'
import { UpstreamRefusesAccount } from '../upstreams/provider-records.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { type Decimal, showMicros } from '../vocabulary/money.ts'
import type { OpenUpstream } from './open-catalog.ts'
import type { ServedStore } from './open-served-store.ts'
import { running, type Wiring, warning } from './wiring.ts'

/** Which reported costs are looked up, and the results. */
export interface Verification {
  readonly policy: LookupPolicy
  /** The reconciler has settled a request. */
  settled(settlement: Settlement): void
  /** The list of an upstream was refreshed: the usage of our key there is read too. */
  refreshed(upstream: string): void
  /** An upstream has no look-ups. */
  noLookups(upstream: string): void
  report(): VerificationReport
  /** The last known rest of our key's limit at an upstream, in dollars; null: not known. */
  creditLeft(upstream: string): Decimal | null
}

/** Opens the parts that verify reported costs, and begins to make standing costs final. */
export async function openVerification(
  wiring: Wiring,
  served: ServedStore & {
    readonly upstreams: ReadonlyMap<string, OpenUpstream>
    readonly onRecalled: () => void
  },
): Promise<Verification> {
  const { config, configured, log, telemetry } = wiring
  const { store, ledger, storeClock: clock, instanceId, onRecalled } = served
  // The built-in simulator costs nothing to ask, and a first request shows how a charge becomes final.
  const lookups = configured.mode === 'simulator' ? 'all' : config.TOLLGATE_LOOKUPS
  const onFailure = warning(log, 'reported costs could not be verified and will be tried again')
  let standing: StandingCosts | null = null
  const doubts = new Doubts({
    db: store.db,
    clock,
    onChange(change) {
      logDoubt(wiring, change)
      if (change.isOpen) standing?.wake()
    },
    onFailure,
  })
  const policy = new LookupPolicy({
    settings: { lookups, aboveMicros: config.TOLLGATE_LOOKUPS_ABOVE_MICROS },
    drawSecret: await openDrawSecret(store.db),
    doubts,
  })
  await doubts.read()
  standing = new StandingCosts({
    db: store.reports,
    ledger,
    doubts,
    isDoubted: (unit) => policy.doubts(unit),
    clock,
    instanceId,
    standsAfterMs: config.TOLLGATE_STANDS_AFTER_MS,
    onStood: (requests) => telemetry.metrics?.stood(requests),
    onRecalled,
    onFailure,
  })
  running(wiring, standing)
  const watched = new Map(
    [...served.upstreams].map(([name, { upstream }]) => {
      return [name, new WatchedUpstream(wiring, { ...served, upstream, doubts })] as const
    }),
  )
  return {
    policy,
    settled: (settlement) => {
      noteLookUp(settlement, { reports: store.reports, doubts }).catch(onFailure)
    },
    refreshed: (upstream) => watched.get(upstream)?.look(),
    noLookups: (upstream) => watched.get(upstream)?.noLookups(),
    creditLeft: (upstream) => watched.get(upstream)?.left ?? null,
    report: () => ({
      lookups,
      doubted: doubts.units.map(showUnit),
      keyUsageAgrees: agreeTogether([...watched.values()].map(({ agrees }) => agrees)),
    }),
  }
}

/** Opens or ends a doubt, by the result of the look-up of a reported cost. */
async function noteLookUp(
  { costReported, requestId, correction, corrected }: Parameters<Verification['settled']>[0],
  { reports, doubts }: { readonly reports: Store['reports']; readonly doubts: Doubts },
): Promise<void> {
  // While no cost is in doubt, only a difference is reported.
  if (!costReported || correction.kind !== 'final') return
  const differs = corrected.differenceMicros !== 0
  if (!differs && doubts.units.length === 0) return
  const row = await getRequest(reports, requestId)
  if (row === null) return
  const { upstream, modelId, endpoint, stream } = row
  const unit: DoubtUnit = { upstream, modelId, endpoint, stream }
  await (differs ? doubts.differed(unit) : doubts.agreed(unit, AGREED_LOOKUPS_MIN))
}

function logDoubt({ log, telemetry }: Wiring, { unit, isOpen }: DoubtChange): void {
  telemetry.metrics?.doubtChanged({ isOpen })
  const of = showUnit(unit)
  if (isOpen)
    log.warn({ of }, 'a reported cost was wrong: all reported costs of this kind are looked up now')
  else
    log.info(
      { of },
      'reported costs are right again: fewer reported costs of this kind are looked up',
    )
}

/** Null: none of them has been compared. */
function agreeTogether(each: readonly (boolean | null)[]): boolean | null {
  const compared = each.filter((agrees) => agrees !== null)
  return compared.length === 0 ? null : compared.every((agrees) => agrees)
}

/** The verification of one upstream's reported costs. */
class WatchedUpstream {
  readonly #log: Wiring['log']
  readonly #telemetry: Wiring['telemetry']
  /** Null: the upstream does not report the usage of our key. */
  readonly #keyUsage: KeyUsage | null
  #hasLookups: boolean
  #hasFigure: boolean
  #hasWarned: boolean
  #agrees: boolean | null = null
  #left: Decimal | null = null

  constructor(
    { log, telemetry }: Wiring,
    {
      store,
      storeClock: clock,
      upstream,
      doubts,
    }: ServedStore & { readonly upstream: Upstream; readonly doubts: Doubts },
  ) {
    const { name } = upstream.settings
    const { fetchKeyUsage, fetchGeneration } = upstream.dialect
    this.#log = log.child({ upstream: name })
    this.#telemetry = telemetry
    this.#hasLookups = fetchGeneration !== null
    this.#hasFigure = fetchKeyUsage !== null
    // A dialect with neither reports no cost: its counts are the cost.
    this.#hasWarned = fetchGeneration === null && fetchKeyUsage === null
    this.#keyUsage =
      fetchKeyUsage === null
        ? null
        : new KeyUsage({
            upstream: name,
            fetchKeyUsage: async () => {
              const answer = await fetchKeyUsage(upstream)
              this.#telemetry.keyAnswered(name, answer)
              this.#left = answer.kind === 'found' ? answer.leftUsd : null
              return answer
            },
            db: store.reports,
            clock,
            doubts,
            onPass: (look) => this.#looked(look),
          })
    this.#warnIfUnverified()
  }

  /** Whether the usage of our key went with the booked costs; null: it was never compared. */
  get agrees(): boolean | null {
    return this.#agrees
  }

  /** The rest of our key's limit, in dollars; null: it has no limit, or the rest is not known. */
  get left(): Decimal | null {
    return this.#left
  }

  look(): void {
    void this.#keyUsage?.look()
  }

  noLookups(): void {
    this.#hasLookups = false
    this.#warnIfUnverified()
  }

  #looked(look: KeyUsageLook): void {
    this.#telemetry.metrics?.keyUsageLooked(look.kind)
    if (look.kind === 'noFigure') {
      this.#hasFigure = false
      this.#warnIfUnverified()
    }
    // A refusal is logged where the refusal of a request is.
    if (look.kind === 'unavailable' && !(look.cause instanceof UpstreamRefusesAccount)) {
      this.#log.warn(
        { cause: String(look.cause) },
        "the usage of the gateway's key at the provider could not be read",
      )
    }
    if (look.kind !== 'agrees' && look.kind !== 'differs') return
    this.#agrees = look.kind === 'agrees'
    if (this.#agrees) return
    const { riseMicros, bookedMicros, unsureMicros } = look
    this.#log.error(
      {
        used: showMicros(riseMicros),
        booked: showMicros(bookedMicros),
        unsettled: showMicros(unsureMicros),
      },
      "the usage of the key rose by a different amount than the costs that were booked: if no other program uses the key, check the provider's bill",
    )
  }

  /** Once: nothing verifies the costs of this upstream. */
  #warnIfUnverified(): void {
    if (this.#hasWarned || this.#hasLookups || this.#hasFigure) return
    this.#hasWarned = true
    this.#log.warn(
      'the provider has neither look-ups of requests nor the usage of a key: what it reports is not verified',
    )
  }
}
