import type { Kysely, Transaction } from 'kysely'
import { ALERT_LETTERS, ALERTS } from '../store/alert-tables.ts'
import type { Tables } from '../store/schema.ts'
import { readSetting, writeSetting } from '../store/settings.ts'
import type { DbWithIds } from '../store/store.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import type { TokenDecimals } from '../vocabulary/purchase.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import { type AlertAbout, stepsUpTo } from './about.ts'
import {
  type Crossing,
  crossingsOf,
  purchaseCrossings,
  removalCrossings,
  reversalCrossings,
} from './crossings.ts'

/** Alerts without emails that are noted at once. More would keep requests from writing for long. */
const NOTED_AT_ONCE = 50

/** The most alerts about an account's keys that are emailed in a day (UTC): any member can make keys and change their limits. */
const MAILED_OF_KEYS_MAX = 50
/** Rows that are read at once. */
const PAGE = 500

/**
 * The setting once steps, refunds and disputes, removed credit, and purchases were noted. Earlier versions have noted
 * less: `1` is only steps, `2` also refunds and disputes, `3` all but purchases.
 */
const ALL_NOTED = '4'

/** The settings of versions that have noted removed credit. */
const REMOVALS_NOTED: ReadonlySet<string | null> = new Set(['3', ALL_NOTED])

interface AlertsInput extends DbWithIds {
  /** Whether owners get emails. */
  readonly mails: boolean
  readonly tokenDecimals: TokenDecimals
}

/** Accounts and keys that may have crossed a step since they were last looked at. */
interface ChangedOwners {
  readonly accountIds: readonly string[]
  readonly apiKeyIds: readonly string[]
}

/** Notes each step that accounts and keys cross once, even if several processes see it, with the emails about it. */
export class Alerts {
  readonly #input: AlertsInput
  #isBegun = false

  constructor(input: AlertsInput) {
    this.#input = input
  }

  /**
   * Notes the steps that these have crossed, the credit that was removed from them, and purchases, refunds and
   * disputes of all accounts. Rejects as the store does.
   */
  async look({ accountIds, apiKeyIds }: ChangedOwners): Promise<void> {
    const { db, clock } = this.#input
    await this.#begin()
    for (const page of slicesOf(accountIds, PAGE)) {
      await noteRemovals(this.#input, page)
      await noteOf(this.#input, { accountIds: page })
    }
    for (const page of slicesOf(apiKeyIds, PAGE)) await noteOf(this.#input, { apiKeyIds: page })
    await notePurchases(this.#input)
    await notePages(this.#input, reversalCrossings)
    await db.deleteFrom('alerts').where('ends_at_ms', '<=', clock.nowMs()).execute()
  }

  /**
   * Alerts about events before alerts existed are noted without emails: otherwise an upgrade would email every old
   * account.
   */
  async #begin(): Promise<void> {
    if (this.#isBegun) return
    const { db } = this.#input
    const noted = await readSetting(db, 'alerts_noted')
    const silent = { ...this.#input, mails: false }
    if (noted === null) {
      for await (const page of allOf(db, 'accounts')) await noteOf(silent, { accountIds: page })
      for await (const page of allOf(db, 'api_keys')) await noteOf(silent, { apiKeyIds: page })
    }
    if (noted === null || noted === '1') await notePages(silent, reversalCrossings)
    if (!REMOVALS_NOTED.has(noted)) {
      for await (const page of allOf(db, 'accounts')) await noteRemovals(silent, page)
    }
    if (noted !== ALL_NOTED) {
      await notePurchases(silent)
      await writeSetting(db, { name: 'alerts_noted', value: ALL_NOTED })
    }
    this.#isBegun = true
  }
}

async function noteOf(
  input: AlertsInput,
  { accountIds = [], apiKeyIds = [] }: Partial<ChangedOwners>,
): Promise<void> {
  const { db, clock } = input
  const crossings = await crossingsOf(db, { accountIds, apiKeyIds, nowMs: clock.nowMs() })
  await noteAll(input, await notNoted(db, crossings))
}

/** Notes the credit that operators removed from these accounts, if it was not noted yet. */
async function noteRemovals(input: AlertsInput, accountIds: readonly string[]): Promise<void> {
  await notePages(input, (db, page) => removalCrossings(db, { accountIds, ...page }))
}

/** Notes the purchases that were credited and not noted yet. */
async function notePurchases(input: AlertsInput): Promise<void> {
  const { tokenDecimals } = input
  await notePages(input, (db, page) => purchaseCrossings(db, { tokenDecimals, ...page }))
}

/** Notes crossings page by page: a noted crossing is not read again. */
async function notePages(
  input: AlertsInput,
  read: (
    db: Kysely<Tables>,
    page: { readonly nowMs: number; readonly limit: number },
  ) => Promise<readonly Crossing[]>,
): Promise<void> {
  let found: readonly Crossing[]
  do {
    found = await read(input.db, { nowMs: input.clock.nowMs(), limit: PAGE })
    await noteAll(input, found)
  } while (found.length === PAGE)
}

async function noteAll(input: AlertsInput, fresh: readonly Crossing[]): Promise<void> {
  const { db, mails } = input
  // In one order: processes that note the same wait for each other's rows.
  const inOrder = fresh.toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
  if (!mails) return noteSilently(input, inOrder)
  for (const crossing of inOrder) {
    // Two processes could each wait for the place of the other's email, and for an alert that the other has noted.
    await db.transaction().execute((trx) => noteOne(trx, { ...input, crossing }))
  }
}

/**
 * Notes alerts without emails, many in one statement. In a transaction of many statements, another process that notes the
 * same would wait for all of them, and PostgreSQL ends a wait of two seconds.
 */
async function noteSilently(
  { db, clock }: AlertsInput,
  crossings: readonly Crossing[],
): Promise<void> {
  for (const some of slicesOf(crossings, NOTED_AT_ONCE)) {
    const rows = some.flatMap((crossing) => alertRows(crossing, clock.nowMs()))
    const noted = await db
      .insertInto('alerts')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['subject', 'step']).doNothing())
      .returning(['subject', 'step'])
      .execute()
    const isNoted = ({ subject, about }: Crossing) =>
      noted.some((row) => row.subject === subject && row.step === notedSteps(about)[0])
    for (const crossing of some) {
      const isOfCredit = crossing.about.kind === 'credit'
      if (isOfCredit && isNoted(crossing)) await forgetEarlierCredit(db, crossing)
    }
  }
}

/** By position: an alert, and the present time. */
function alertRows(crossing: Crossing, createdAtMs: number) {
  return notedSteps(crossing.about).map((step) => ALERTS.record({ ...crossing, step, createdAtMs }))
}

async function noteOne(
  trx: Transaction<Tables>,
  { clock, ids, crossing }: AlertsInput & { readonly crossing: Crossing },
): Promise<void> {
  const { about, accountId } = crossing
  const createdAtMs = clock.nowMs()
  const [highest] = notedSteps(about)
  const noted = await trx
    .insertInto('alerts')
    .values(alertRows(crossing, createdAtMs))
    .onConflict((conflict) => conflict.columns(['subject', 'step']).doNothing())
    .returning('step')
    .execute()
  // Another process has noted it meanwhile.
  if (!noted.some(({ step }) => step === highest)) return
  if (about.kind === 'credit') await forgetEarlierCredit(trx, crossing)
  const owners = await mailedOwners(trx, accountId).select('users.id').execute()
  if (owners.length === 0) return
  const place = isKeyAlert(about) ? await takePlace(trx, { accountId, nowMs: createdAtMs }) : 0
  if (place === null) return
  const shown = place === MAILED_OF_KEYS_MAX ? { ...about, isLastOfDay: true } : about
  const aboutJson = JSON.stringify(shown)
  const letter = { ...ALERT_LETTERS.start, accountId, aboutJson, createdAtMs }
  const rows = owners.map(({ id: userId }) =>
    ALERT_LETTERS.record({
      ...letter,
      id: ids.next('alrt'),
      userId,
      nextTryAtMs: createdAtMs,
    }),
  )
  await trx.insertInto('alert_letters').values(rows).execute()
}

function isKeyAlert({ kind }: AlertAbout): boolean {
  return kind === 'key_limit' || kind === 'key_allowance'
}

/**
 * Takes the next place among the alerts about keys of an account that are emailed in a day, counted from 1. Each is a row of
 * its own, so that no two processes take the same. Null: the day has no more.
 */
async function takePlace(
  trx: Transaction<Tables>,
  { accountId, nowMs }: { readonly accountId: string; readonly nowMs: number },
): Promise<number | null> {
  const dayEndsAtMs = nowMs - (nowMs % DAY_MS) + DAY_MS
  const subject = `${accountId} emails about keys until ${dayEndsAtMs}`
  // A day longer: for another process, whose clock is behind, the day is not over.
  const endsAtMs = dayEndsAtMs + DAY_MS
  while (true) {
    const latest = await trx
      .selectFrom('alerts')
      .select('step')
      .where('subject', '=', subject)
      .orderBy('step', 'desc')
      .limit(1)
      .executeTakeFirst()
    const place = (latest?.step ?? 0) + 1
    if (place > MAILED_OF_KEYS_MAX) return null
    const taken = await trx
      .insertInto('alerts')
      .values(ALERTS.record({ subject, step: place, accountId, endsAtMs, createdAtMs: nowMs }))
      .onConflict((conflict) => conflict.columns(['subject', 'step']).doNothing())
      .returning('step')
      .executeTakeFirst()
    if (taken !== undefined) return place
  }
}

/** The ids of a whole table, page by page. */
async function* allOf(
  db: Kysely<Tables>,
  table: 'accounts' | 'api_keys',
): AsyncIterable<readonly string[]> {
  let after = ''
  while (true) {
    const asked = db.selectFrom(table).select('id').where('id', '>', after).orderBy('id')
    const ids = (await asked.limit(PAGE).execute()).map(({ id }) => id)
    yield ids
    if (ids.length < PAGE) return
    after = ids.at(-1) ?? ''
  }
}

/** The alerts whose highest step was not noted. */
async function notNoted(
  db: Kysely<Tables>,
  crossings: readonly Crossing[],
): Promise<readonly Crossing[]> {
  if (crossings.length === 0) return []
  const subjects = crossings.map(({ subject }) => subject)
  const rows = await db
    .selectFrom('alerts')
    .select(['subject', 'step'])
    .where('subject', 'in', subjects)
    .execute()
  const noted = new Set(rows.map(({ subject, step }) => `${subject} ${step}`))
  return crossings.filter(({ subject, about }) => !noted.has(`${subject} ${notedSteps(about)[0]}`))
}

/** Alerts of earlier credit can't come again. */
async function forgetEarlierCredit(
  db: Kysely<Tables>,
  { accountId, subject }: Crossing,
): Promise<void> {
  await db
    .deleteFrom('alerts')
    .where('account_id', '=', accountId)
    .where('subject', 'like', `${accountId} credit %`)
    .where('subject', '!=', subject)
    .execute()
}

/**
 * The steps to note for an alert: its own and those below it, which are then not emailed; 0 for an alert without
 * steps.
 */
function notedSteps(about: AlertAbout): readonly number[] {
  return 'step' in about ? stepsUpTo(about.step) : [0]
}

/** The owners of an account who want emails of alerts, without those whose address is only claimed: another person may own it. */
export function mailedOwners(db: Kysely<Tables>, accountId: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .where('members.account_id', '=', accountId)
    .where('members.role', '=', 'owner')
    .where('users.alert_mails', '=', 1)
    .where(({ or, eb }) => or([eb('users.email_verified', '=', 1), eb('users.vouched', '=', 1)]))
}
