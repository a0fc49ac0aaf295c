import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { expect } from 'vitest'
import { parseDatabaseUrl } from '../../src/store/database-url.ts'
import { HANG_LIMITS } from '../hang-limits.ts'

/** A store that blocks the commits of all other processes. */
interface HeldStore {
  /**
   * PostgreSQL: resolves as soon as somebody waits for it, who gives up in little more than a second. SQLite, where nobody
   * sees who waits: when `readAll` does, which waits until the gateway has read what it was sent.
   */
  untilStatementWaits(readAll: () => Promise<void>): Promise<void>
  letGo(): Promise<void>
}

/** Keeps every command of the account at `url` from being committed, until it is let go. */
export async function holdStore(url: string): Promise<HeldStore> {
  const location = parseDatabaseUrl(url)
  if (location.kind === 'sqlite') {
    const holder = new DatabaseSync(location.file, { timeout: HANG_LIMITS.testTimeout })
    holder.exec('begin immediate')
    return {
      untilStatementWaits: (readAll) => readAll(),
      async letGo() {
        holder.exec('rollback')
        holder.close()
      },
    }
  }
  const holder = new Client(location.url)
  await holder.connect()
  await holder.query('begin; select from accounts for update')
  return {
    untilStatementWaits: async () => {
      await waitingBackend(holder)
    },
    async letGo() {
      await holder.query('rollback')
      await holder.end()
    },
  }
}

/** Which commit a {@link HeldCommit} keeps under way. */
export type CommitOf = 'hold' | 'settle' | 'correction'

/** A commit in a PostgreSQL store that has been asked for, and is not done. */
interface HeldCommit {
  /** Resolves once it is under way. */
  isUnderWay(): Promise<void>
  /** Lets it be done, or undone. Resolves once the server has ended it. */
  end(how: 'done' | 'undone'): Promise<void>
}

const TRIGGERS: Readonly<Record<CommitOf, string>> = {
  hold: 'insert on holds deferrable initially deferred for each row',
  settle: 'insert on requests deferrable initially deferred for each row',
  correction: `update on requests deferrable initially deferred for each row
    when (old.state = 'provisional')`,
}

const LOCK = 4_711

// However late the gateway is killed and the commit is released: neither its own time-out nor the server's look
// whether its client is there ends it before.
const WAIT_IN_COMMIT = `
  create function wait_in_commit() returns trigger language plpgsql as $$
  begin
    perform set_config('client_connection_check_interval', '0', true);
    loop
      begin
        perform pg_advisory_xact_lock(${LOCK});
        return null;
      exception when lock_not_available or query_canceled then
      end;
    end loop;
  end $$`

/** Has the next commits of this kind wait, once all of their rows are saved. */
export async function holdCommit(url: string, commit: CommitOf): Promise<HeldCommit> {
  const holder = new Client(url)
  await holder.connect()
  await holder.query(`
    select pg_advisory_lock(${LOCK});
    ${WAIT_IN_COMMIT};
    create constraint trigger wait_in_commit after ${TRIGGERS[commit]}
      execute function wait_in_commit()`)
  let backend = 0
  return {
    async isUnderWay() {
      backend = await waitingBackend(holder)
    },
    async end(how) {
      if (how === 'done') await holder.query(`select pg_advisory_unlock(${LOCK})`)
      else await holder.query('select pg_terminate_backend($1)', [backend])
      // Its client is dead, so it ends as soon as it comes to answer.
      await expect.poll(() => hasBackend(holder, backend), { interval: 10 }).toBe(false)
      await holder.query(`select pg_advisory_unlock_all(); drop function wait_in_commit cascade`)
      await holder.end()
    },
  }
}

async function waitingBackend(holder: Client): Promise<number> {
  let pid = 0
  const hasOne = async () => {
    // Within a transaction the server would repeat its first answer.
    await holder.query('select pg_stat_clear_snapshot()')
    const { rows } = await holder.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    pid = rows[0]?.pid ?? 0
    return rows.length > 0
  }
  await expect.poll(hasOne, { interval: 10 }).toBe(true)
  return pid
}

async function hasBackend(holder: Client, pid: number): Promise<boolean> {
  const { rowCount } = await holder.query('select from pg_stat_activity where pid = $1', [pid])
  return rowCount !== 0
}
