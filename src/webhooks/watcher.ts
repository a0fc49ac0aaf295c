import type { Kysely } from 'kysely'
import { Passes } from '../store/passes.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import type { WebhookRow } from '../store/webhook-tables.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import type { WebhookEvent } from '../vocabulary/webhook-event.ts'
import {
  endConditions,
  endMarks,
  heldOf,
  isRecentMark,
  noteMark,
  noteWaits,
  type Raised,
  raiseConditions,
  subjectsOf,
} from './conditions.ts'
import {
  awayUpstreams,
  lowBalances,
  nearLimits,
  oldReversals,
  resolvedOf,
  storeGaps,
  type UnresolvedPlace,
  unresolvedRequests,
  unsentReversals,
} from './crossings.ts'
import { eventsOf, listWebhooks } from './registry.ts'
import { isMark, ownerOf, subscribedMark, waitOf } from './subjects.ts'

const INTERVAL_MS = 10_000

/** Rows that one pass reads of each list. Longer ones are read over several passes. */
const PAGE = 500

/** Accounts and keys whose requests have ended since the last pass; more are found by the reading of all. */
const TOUCHED_MAX = 5_000

interface WatcherInput extends DbWithIds {
  /** The names of the upstreams. */
  readonly upstreams: readonly string[]
  /** How long an upstream may list no models before it is away. */
  readonly awayAfterMs: number
  /** Another listener for accounts and keys that may have changed, called at each pass; null: none. */
  readonly onPass:
    | ((looked: {
        readonly accountIds: readonly string[]
        readonly apiKeyIds: readonly string[]
      }) => Promise<void>)
    | null
  readonly onFailure: (cause: unknown) => void
}

const START: UnresolvedPlace = { instanceId: '', requestId: '' }

/**
 * Looks every ten seconds for events to send to webhooks, while there are any, and for alerts. Requests are not
 * slowed: of each that ends only its account and key are remembered, and read later. Beside those, each pass reads
 * a page of all accounts and keys, and of the conditions that hold, so that nothing stays unseen after a crash, a
 * command or another process's change.
 */
export class Watcher {
  readonly #input: WatcherInput
  readonly #passes: Passes
  /** When the process started, or first looked after its clock was set back. */
  #startedAtMs: number
  #lookedAtMs: number
  readonly #accounts: Rotation
  readonly #apiKeys: Rotation
  readonly #heldAfter = new Map<WebhookEvent, string>()
  #unresolvedAfter: UnresolvedPlace = START

  constructor(input: WatcherInput) {
    this.#input = input
    this.#startedAtMs = input.clock.nowMs()
    this.#lookedAtMs = this.#startedAtMs
    this.#accounts = new Rotation(input.db, 'accounts')
    this.#apiKeys = new Rotation(input.db, 'api_keys')
    const { onFailure } = input
    this.#passes = new Passes({ intervalMs: INTERVAL_MS, pass: () => this.look(), onFailure })
  }

  start(): void {
    this.#passes.start()
  }

  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** A request has ended. */
  noticed({ accountId, apiKeyId }: Readonly<Record<'accountId' | 'apiKeyId', string>>): void {
    this.#accounts.touch(accountId)
    this.#apiKeys.touch(apiKeyId)
  }

  /** One look at all that webhooks are for. Rejects as the store does. */
  async look(): Promise<void> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    if (nowMs < this.#lookedAtMs) this.#startedAtMs = nowMs
    this.#lookedAtMs = nowMs
    const webhooks = (await listWebhooks(db)).filter(({ disabled }) => !disabled)
    const asked = new Set(webhooks.flatMap(eventsOf))
    const { onPass } = this.#input
    const accountIds = await this.#accounts.next(onPass !== null || asked.has('balance.low'))
    if (asked.has('balance.low')) await this.#judgeWithHeld('balance.low', accountIds)
    const apiKeyIds = await this.#apiKeys.next(onPass !== null || asked.has('key.limit_near'))
    if (asked.has('key.limit_near')) await this.#judgeWithHeld('key.limit_near', apiKeyIds)
    await onPass?.({ accountIds, apiKeyIds })
    if (asked.has('request.unresolved')) await this.#lookAtUnresolved()
    if (asked.has('purchase.reversed')) await this.#lookAtReversals()
    if (asked.has('upstream.away')) await this.#lookAtUpstreams()
    if (asked.has('store.went_back')) await this.#lookAtGaps()
  }

  /** Judges these subjects, and a page of those whose condition holds. */
  async #judgeWithHeld(event: keyof typeof READS, subjectIds: readonly string[]): Promise<void> {
    const looked = [...new Set([...subjectIds, ...(await this.#nextHeld(event))])]
    for (const some of slicesOf(looked, PAGE)) {
      if (this.#passes.stopped) return
      await judge(this.#input, { event, subjectIds: some })
    }
  }

  async #lookAtUnresolved(): Promise<void> {
    const { db, clock } = this.#input
    const event = 'request.unresolved'
    const known = await this.#nextHeld(event)
    const requestIds = known.filter((subjectId) => !isMark(subjectId))
    const ended = await resolvedOf(db, requestIds)
    await endConditions(db, { event, subjectIds: ended })
    const asked = { after: this.#unresolvedAfter, limit: PAGE, nowMs: clock.nowMs() }
    const { raised, next } = await unresolvedRequests(db, asked)
    this.#unresolvedAfter = next ?? START
    await raiseNew(this.#input, event, raised)
    // Not before all were raised: raising them reads when webhooks subscribed.
    if (next === null) await this.#endOldMarks(event, known)
  }

  async #lookAtReversals(): Promise<void> {
    const { db, clock } = this.#input
    await sendReversals(this.#input)
    const subjectIds = await oldReversals(db, { nowMs: clock.nowMs(), limit: PAGE })
    await endConditions(db, { event: 'purchase.reversed', subjectIds })
  }

  async #lookAtUpstreams(): Promise<void> {
    const { db, upstreams, clock, awayAfterMs } = this.#input
    const event = 'upstream.away'
    const asked = { upstreams, awayAfterMs, nowMs: clock.nowMs(), sinceStartMs: this.#startedAtMs }
    const { raised, listed } = await awayUpstreams(db, asked)
    // Only of this process's own upstreams: the settings of another may have more.
    const held = await heldOf(db, { event, subjectIds: upstreams })
    const subjectIds = listed.filter((upstream) => held.has(upstream))
    await endConditions(db, { event, subjectIds })
    await raiseNew(this.#input, event, raised)
    await this.#endOldMarks(event, await this.#nextHeld(event))
  }

  async #lookAtGaps(): Promise<void> {
    const { db, clock } = this.#input
    const event = 'store.went_back'
    await raiseNew(this.#input, event, await storeGaps(db, clock.nowMs()))
    await this.#endOldMarks(event, await this.#nextHeld(event))
  }

  async #endOldMarks(event: WebhookEvent, subjectIds: readonly string[]): Promise<void> {
    const { db, clock } = this.#input
    await endMarks(db, { event, marks: subjectIds.filter(isMark), nowMs: clock.nowMs() })
  }

  async #nextHeld(event: WebhookEvent): Promise<readonly string[]> {
    const after = this.#heldAfter.get(event) ?? ''
    const page = await subjectsOf(this.#input.db, { event, after, limit: PAGE })
    this.#heldAfter.set(event, page.length < PAGE ? '' : (page.at(-1) ?? ''))
    return page
  }
}

/** The conditions of accounts and keys, and how each is read. */
const READS = { 'balance.low': lowBalances, 'key.limit_near': nearLimits }

type Parts = Pick<WatcherInput, 'db' | 'ids' | 'clock'>

/**
 * Notes the conditions of accounts and keys, and the refunds and disputes until now, and sends them to the webhooks
 * that subscribe to them. A webhook that is created or subscribed later gets only later ones. By position: the parts,
 * the events, and the webhook that is about to be enabled or given them; null: one is about to be created.
 */
export async function noteConditions(
  parts: Parts,
  events: readonly WebhookEvent[],
  webhook: WebhookRow | null,
): Promise<void> {
  if (events.includes('purchase.reversed')) while ((await sendReversals(parts)) === PAGE);
  for (const [event, table] of [
    ['balance.low', 'accounts'],
    ['key.limit_near', 'api_keys'],
  ] as const) {
    if (!events.includes(event)) continue
    const all = new Rotation(parts.db, table)
    do await judge(parts, { event, subjectIds: await all.next(true) })
    while (!all.isAtStart)
  }
  if (webhook === null) return
  const subscribed = webhook.disabled ? [] : eventsOf(webhook)
  const { db, clock } = parts
  for (const event of events) {
    if (subscribed.includes(event) || NEVER_LATE.includes(event)) continue
    // It gets no report of a condition that began before now and is found later.
    await noteMark(db, { event, mark: subscribedMark(webhook.id), nowMs: clock.nowMs() })
  }
}

/** The events whose conditions are all noted when they begin, or by {@link noteConditions}. */
const NEVER_LATE: readonly WebhookEvent[] = ['purchase.reversed', 'audit.difference']

/** Sends the refunds and disputes that were not sent yet, at most a page; returns how many there were. */
async function sendReversals({ db, ids, clock }: Parts): Promise<number> {
  const nowMs = clock.nowMs()
  const raised = await unsentReversals(db, { nowMs, limit: PAGE })
  await raiseConditions({ db, ids, nowMs }, { event: 'purchase.reversed', raised })
  return raised.length
}

/** Raises the conditions that hold for these subjects, and ends the others. */
async function judge(
  parts: Parts,
  {
    event,
    subjectIds,
  }: { readonly event: keyof typeof READS; readonly subjectIds: readonly string[] },
): Promise<void> {
  const { db, ids, clock } = parts
  const ownerIds = [...new Set(subjectIds.map(ownerOf))]
  const nowMs = clock.nowMs()
  const raised = await READS[event](db, { subjectIds: ownerIds, nowMs })
  const marks = raised.flatMap(({ mark }) => (mark === undefined ? [] : [mark]))
  const holding = new Set(raised.flatMap(({ subjectId }) => [subjectId, waitOf(subjectId)]))
  const known = new Set([...subjectIds, ...ownerIds.map(waitOf), ...holding, ...marks])
  const held = await heldOf(db, { event, subjectIds: [...known] })
  const ended = [...held.keys()].filter((id) => !isMark(id) && !holding.has(id))
  await endConditions(db, { event, subjectIds: ended })
  const hasToWait = ({ mark = '' }: Raised) =>
    isRecentMark({ reportedAtMs: held.get(mark) ?? -Infinity, nowMs })
  const others = raised.filter(({ subjectId }) => !held.has(subjectId))
  const waits = others.filter(hasToWait).map(({ subjectId }) => waitOf(subjectId))
  await noteWaits(db, {
    event,
    subjectIds: waits.filter((id) => !held.has(id)),
    // It began before it was seen: a webhook that is created right after this gets no report of it.
    sinceMs: nowMs - 1,
  })
  const sinceOf = ({ subjectId, sinceMs }: Raised) => held.get(waitOf(subjectId)) ?? sinceMs
  const due = others.filter((each) => !hasToWait(each))
  await raiseConditions(
    { db, ids, nowMs },
    { event, raised: due.map((each) => ({ ...each, sinceMs: sinceOf(each) })) },
  )
  // After what has waited: it reads when webhooks subscribed.
  await endMarks(db, { event, marks: [...held.keys()].filter(isMark), nowMs })
}

/** Raises the conditions among these that do not hold yet. */
async function raiseNew(
  { db, ids, clock }: Parts,
  event: WebhookEvent,
  raised: readonly Raised[],
): Promise<void> {
  const subjectIds = raised.map(({ subjectId }) => subjectId)
  const held = await heldOf(db, { event, subjectIds })
  const others = raised.filter(({ subjectId }) => !held.has(subjectId))
  await raiseConditions({ db, ids, nowMs: clock.nowMs() }, { event, raised: others })
}

/** The accounts and keys that were touched since the last pass, and the next page of all. */
class Rotation {
  readonly #db: Kysely<Tables>
  readonly #table: 'accounts' | 'api_keys'
  readonly #touched = new Set<string>()
  #after = ''

  constructor(db: Kysely<Tables>, table: 'accounts' | 'api_keys') {
    this.#db = db
    this.#table = table
  }

  /** Whether the next page is the first. */
  get isAtStart(): boolean {
    return this.#after === ''
  }

  touch(id: string): void {
    if (this.#touched.size < TOUCHED_MAX) this.#touched.add(id)
  }

  /** By position: whether something looks at it; otherwise the touched ones are forgotten. */
  async next(isAsked: boolean): Promise<readonly string[]> {
    const touched = [...this.#touched]
    this.#touched.clear()
    if (!isAsked) return []
    const rows = await this.#db
      .selectFrom(this.#table)
      .select('id')
      .where('id', '>', this.#after)
      .orderBy('id')
      .limit(PAGE)
      .execute()
    this.#after = rows.length < PAGE ? '' : (rows.at(-1)?.id ?? '')
    return [...touched, ...rows.map(({ id }) => id)]
  }
}
