import { afterEach, expect, test, vi } from 'vitest'
import { startSeveringProxy } from '../testing/severing-proxy.ts'
import { takePostgresDatabase } from '../testing/used-databases.ts'
import { openPostgresPool } from './postgres-connection.ts'
import { PostgresServers } from './postgres-servers.ts'

afterEach(() => vi.useRealTimers())

test('a connection that comes too late for who waited is there for the next, and the pool closes', async () => {
  const database = await takePostgresDatabase()
  const proxy = await startSeveringProxy(database.url)
  const servers = new PostgresServers(proxy.url)
  const pool = openPostgresPool({ servers, connectionsMax: 1, use: 'shortStatements' })
  const lost = await pool.acquire()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const refused = expect(pool.acquire()).rejects.toThrow('all connections to the database are')
  vi.advanceTimersByTime(4_900)
  proxy.silence()
  pool.release(lost, false)
  // The connection in its place is asked for, and is not there yet.
  await new Promise((resolve) => setImmediate(resolve))
  vi.advanceTimersByTime(200)
  await refused
  vi.useRealTimers()
  proxy.speak()
  const next = await pool.acquire()
  expect((await next.client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  pool.release(next, true)
  await pool.close()
  await proxy.close()
  await database.remove()
})
