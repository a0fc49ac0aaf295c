import type { Client } from 'pg'
import { StoreUnavailable } from '../store-failure.ts'
import { postgresFailure } from './postgres-failure.ts'
import { endConnection, PostgresServers, type ServerConnection } from './postgres-servers.ts'

// A pooler mostly takes the session that was used last, unless others come between.
const LOOKS = 3

/**
 * Rejects with `StoreUnavailable` where connections that are open at once share a session of the server, as behind a
 * pooler that gives each transaction whichever session is free. Settings of a connection, such as that its commits are
 * on the server's disk, would be those of any session. Rejects with `NotSent` where the database does not answer.
 */
export async function refuseSharedSessions(url: string): Promise<void> {
  const servers = new PostgresServers(url)
  const opened: ServerConnection[] = []
  try {
    for (let count = 0; count < 2; count++) {
      opened.push(await servers.connect({ driver: {}, settings: 'select 1' }))
    }
    const [one, other] = opened
    if (one === undefined || other === undefined) return
    for (let look = 0; look < LOOKS; look++) {
      const serverPid = await serverPidOf(one.client)
      await other.client.query('begin')
      const isShared = (await serverPidOf(other.client)) === serverPid
      await other.client.query('rollback')
      if (isShared) throw new StoreUnavailable(`${one.serverName} ${SHARES}`)
    }
  } catch (error) {
    // A pooler that takes no transactions refuses `begin`.
    throw postgresFailure(error, opened[0]?.serverName ?? 'the database')
  } finally {
    await Promise.all(opened.map(({ client }) => endConnection(client)))
  }
}

const SHARES =
  'is a pooler that gives each transaction another session. Let it keep a session for each connection (pool_mode = session)'

async function serverPidOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}
