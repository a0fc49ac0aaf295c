import { Client } from 'pg'

/** Reports changes in a PostgreSQL store as they happen. */
interface StoreWatch {
  /** Resolves once so many requests have become unresolved. */
  abandoned(count: number): Promise<void>
  close(): Promise<void>
}

const TRIGGERS = `
  create function tell() returns trigger language plpgsql
    as 'begin perform pg_notify(''told'', tg_table_name || '' '' || new.id); return null; end';
  create trigger tell_heartbeat after insert or update on instances
    for each row execute function tell();
  create trigger tell_unresolved after insert or update on requests
    for each row when (new.state = 'unresolved') execute function tell()`

/** Watches the store at `url`; calls `onHeartbeat` for each heartbeat of any gateway. */
export async function watchStore(url: string, onHeartbeat: () => void): Promise<StoreWatch> {
  const client = new Client(url)
  await client.connect()
  let unresolved = 0
  let wanted = Number.POSITIVE_INFINITY
  const enough = Promise.withResolvers<void>()
  const tellIfEnough = (): void => {
    if (unresolved >= wanted) enough.resolve()
  }
  // Notifications of one transaction that are alike come as one, unless they say which row it was.
  client.on('notification', ({ payload = '' }) => {
    if (payload.startsWith('instances')) {
      onHeartbeat()
      return
    }
    unresolved++
    tellIfEnough()
  })
  await client.query(`${TRIGGERS}; listen told`)
  return {
    abandoned(count) {
      wanted = count
      tellIfEnough()
      return enough.promise
    },
    close: () => client.end(),
  }
}
