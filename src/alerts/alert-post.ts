import { type MailServer, refusedBy } from '../mail/mail-server.ts'
import { ALERT_LETTERS, type AlertLetterRow } from '../store/alert-tables.ts'
import { Passes } from '../store/passes.ts'
import type { DbWithClock } from '../store/store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import type { AlertAbout } from './about.ts'
import { type AlertLetter, alertLetter } from './alert-letter.ts'
import { mailedOwners } from './alerts.ts'

const INTERVAL_MS = 10_000

/** Letters of one pass. */
const AT_ONCE = 20

/** How long a process has for what it took; then another may take it. */
const LEASE_MS = 10 * MINUTE_MS

/** The wait after each failed try, the last one for all further ones. */
const RETRY_WAITS_MS: readonly number[] = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS]

/** A letter that waits longer than twice the longest wait has a time of a clock that was far ahead: it is due now. */
const LATEST_TRY_MS = 2 * Math.max(LEASE_MS, ...RETRY_WAITS_MS)

/** A letter that could not be sent for a day is given up: its news is old. */
const GIVEN_UP_AFTER_MS = DAY_MS

interface AlertPostInput extends DbWithClock {
  readonly server: Pick<MailServer, 'send'>
  /** The address of the page in browsers, without `/app`. */
  readonly pageUrl: () => string
  /** A letter was given up, for a reason of the mail server. */
  readonly onGivenUp: (reason: string) => void
  readonly onFailure: (cause: unknown) => void
}

/** Sends the emails of alerts from their table, so that none is lost when a process ends or the mail server is away. */
export class AlertPost {
  readonly #input: AlertPostInput
  readonly #passes: Passes
  readonly #stopping = new AbortController()

  constructor(input: AlertPostInput) {
    this.#input = input
    const { onFailure } = input
    this.#passes = new Passes({ intervalMs: INTERVAL_MS, pass: () => this.send(), onFailure })
  }

  start(): void {
    this.#passes.start()
  }

  /** Aborts letters that are being sent; they are sent after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#passes.stop()
  }

  /** Sends the letters that are due. */
  async send(): Promise<void> {
    for (const row of await this.#take()) {
      if (this.#stopping.signal.aborted) return
      await this.#sendOne(row)
    }
  }

  /** Takes letters that are due, for a time. */
  async #take(): Promise<readonly AlertLetterRow[]> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    const due = await db
      .selectFrom('alert_letters')
      .select(['id', 'next_try_at_ms'])
      .where((letter) =>
        letter.or([
          letter('next_try_at_ms', '<=', nowMs),
          letter('next_try_at_ms', '>', nowMs + LATEST_TRY_MS),
        ]),
      )
      .orderBy('next_try_at_ms')
      .orderBy('id')
      .limit(AT_ONCE)
      .execute()
    const taken: AlertLetterRow[] = []
    for (const { id, next_try_at_ms: seen } of due) {
      const row = await db
        .updateTable('alert_letters')
        .set({ next_try_at_ms: nowMs + LEASE_MS })
        .where('id', '=', id)
        // Another process has taken it meanwhile.
        .where('next_try_at_ms', '=', seen)
        .returningAll()
        .executeTakeFirst()
      if (row !== undefined) taken.push(ALERT_LETTERS.read(row))
    }
    return taken
  }

  async #sendOne(row: AlertLetterRow): Promise<void> {
    const { db, clock, server, onGivenUp } = this.#input
    const letter = await this.#letterOf(row)
    const remove = () => db.deleteFrom('alert_letters').where('id', '=', row.id).execute()
    if (letter === null) {
      await remove()
      return
    }
    try {
      await server.send(alertLetter(letter), this.#stopping.signal)
    } catch (error) {
      if (this.#stopping.signal.aborted) return this.#later(row, { waitMs: 0, tries: row.tries })
      const { message: reason, isTemporary } = refusedBy(error)
      if (isTemporary && clock.nowMs() - row.createdAtMs < GIVEN_UP_AFTER_MS) {
        const waitMs = RETRY_WAITS_MS[row.tries] ?? RETRY_WAITS_MS.at(-1) ?? 0
        return this.#later(row, { waitMs, tries: row.tries + 1 })
      }
      onGivenUp(reason)
    }
    await remove()
  }

  async #later(
    { id }: AlertLetterRow,
    { waitMs, tries }: { readonly waitMs: number; readonly tries: number },
  ): Promise<void> {
    const { db, clock } = this.#input
    await db
      .updateTable('alert_letters')
      .set({ next_try_at_ms: clock.nowMs() + waitMs, tries })
      .where('id', '=', id)
      .execute()
  }

  /** The letter and its recipient; null: the user is no longer an owner, or wants no emails now. */
  async #letterOf({ userId, accountId, aboutJson }: AlertLetterRow): Promise<AlertLetter | null> {
    const { db, pageUrl } = this.#input
    const found = await mailedOwners(db, accountId)
      .innerJoin('accounts', 'accounts.id', 'members.account_id')
      .select(['users.email', 'accounts.name'])
      .where('members.user_id', '=', userId)
      .executeTakeFirst()
    if (found === undefined) return null
    // Written by `Alerts`.
    const about: AlertAbout = JSON.parse(aboutJson)
    const url = `${pageUrl()}/app/${accountId}`
    return { to: found.email, accountName: found.name, accountUrl: url, about }
  }
}
