import type { Client, QueryConfig } from 'pg'
import { sendTogether } from '../../store/postgres/postgres-connection.ts'
import { dropConnection } from '../../store/postgres/postgres-servers.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import type { StoredRow } from '../../store/table.ts'
import type { PlannedStatement } from './postgres-statements.ts'

/** The driver's error for a rejected statement, in contrast to an error thrown by a rule. */
export class StatementFailed extends Error {
  override readonly cause: unknown

  constructor(cause: unknown) {
    super('a statement failed')
    this.cause = cause
  }
}

/** The answer of PostgreSQL to one statement. */
export interface Reply {
  readonly rows: readonly StoredRow[]
  /** The number of rows that a statement has changed. */
  readonly rowCount: number | null
}

/** The reply in place of a statement that is not needed. */
export const NO_ROWS: Promise<Reply> = Promise.resolve({ rows: [], rowCount: 0 })

/** SQLSTATE of a notice that is no warning. */
const NOTICE = '00000'

/** The writer's connection, and the server's warnings on it. */
export class PostgresWriter {
  readonly client: Client
  readonly serverName: string
  readonly #answerTimeoutMs: number
  /** The server's last warning since the commit was sent; null: none. */
  #warning: string | null = null
  #isOpen = true

  constructor(input: {
    readonly client: Client
    readonly serverName: string
    /** How long to wait for the answers to statements that were sent together. */
    readonly answerTimeoutMs: number
  }) {
    this.client = input.client
    this.serverName = input.serverName
    this.#answerTimeoutMs = input.answerTimeoutMs
    const ended = (): void => {
      this.#isOpen = false
    }
    this.client.once('end', ended)
    this.client.once('error', ended)
    this.client.on('notice', ({ code, message }) => {
      if (code !== NOTICE) this.#warning = message ?? 'a warning without a text'
    })
  }

  /** False once the connection was lost or dropped. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  run(statement: PlannedStatement, values: unknown[]): Promise<Reply> {
    return this.#query({ ...statement, values })
  }

  /** Runs a text without values. The server keeps no plan for it. */
  send(text: string): Promise<Reply> {
    return this.#query({ text })
  }

  /** Runs the statement with the records as a JSON array, if there are any. */
  runIfAny(statement: PlannedStatement, records: readonly object[]): Promise<Reply>[] {
    return records.length === 0 ? [] : [this.run(statement, [JSON.stringify(records)])]
  }

  /**
   * Sends statements together and waits for the replies. If one fails, so do the later ones in its transaction,
   * and the first failure has the cause. If the server does not answer, the connection is dropped.
   */
  async replies<T extends readonly Promise<Reply>[]>(
    send: () => readonly [...T],
  ): Promise<{ -readonly [Place in keyof T]: Reply }> {
    const sent = sendTogether(this.client, send)
    let isSilent = false
    const timer = setTimeout(() => {
      isSilent = true
      this.drop()
    }, this.#answerTimeoutMs)
    const settled = await Promise.allSettled<Reply>(sent)
    clearTimeout(timer)
    const failed = settled.findIndex(({ status }) => status === 'rejected')
    if (failed < 0) {
      const values = settled.map((each) => (each.status === 'fulfilled' ? each.value : null))
      // Each is fulfilled, in the order of the statements.
      return values as { -readonly [Place in keyof T]: Reply }
    }
    if (isSilent) throw new StatementFailed(this.#silence(failed, sent.length))
    const failure = settled[failed]
    throw new StatementFailed(failure?.status === 'rejected' ? failure.reason : null)
  }

  /**
   * Sends statements, then the commit. A success with a warning before it does not count: after "canceling
   * wait for synchronous replication" the rows are only on this server.
   */
  async commit(send: () => readonly Promise<Reply>[]): Promise<readonly Reply[]> {
    this.#warning = null
    const replies = await this.replies(() => [...send(), this.send('commit')])
    if (this.#warning !== null) throw new StatementFailed(new Error(this.#warning))
    return replies
  }

  /** Ends the transaction, or drops the connection. */
  async rollBack(): Promise<void> {
    try {
      await this.replies(() => [this.send('rollback')])
    } catch {
      this.drop()
    }
  }

  /** Ends the connection without telling the server, which may not answer. */
  drop(): void {
    this.#isOpen = false
    dropConnection(this.client)
  }

  // With a callback. Without one, the driver assigns a function to a property, and V8 allocates that as an old object,
  // which keeps the whole batch until the next full collection.
  #query(query: QueryConfig): Promise<Reply> {
    return new Promise((resolve, reject) => {
      void this.client.query<StoredRow>(query, (error: Error | null, reply) => {
        if (error === null) resolve(reply)
        else reject(error)
      })
    })
  }

  /** By position: the first statement that was not answered, and the number of statements sent. */
  #silence(unanswered: number, sent: number): StoreUnavailable {
    // Only the commit of several statements waits for a standby.
    const waits = unanswered > 0 && unanswered === sent - 1
    const reason = waits
      ? 'the commit waits for the standby'
      : `no answer for ${Math.round(this.#answerTimeoutMs / 1_000)} seconds`
    const fault = waits ? 'waitsForStandby' : 'silent'
    return new StoreUnavailable(`${this.serverName}: ${reason}`, { fault })
  }
}
