import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../testing/postgres.ts'
import { startSeveringProxy } from '../testing/severing-proxy.ts'
import { startSharingPooler } from '../testing/sharing-pooler.ts'
import type { TestDatabase } from '../testing/test-databases.ts'
import { refuseSharedSessions } from './postgres-servers.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await createPostgresDatabase()
})
afterEach(() => database.remove())

test('a pooler whose connections share a session is refused', async () => {
  const pooler = await startSharingPooler(database.url)
  await expect(refuseSharedSessions(pooler.url)).rejects.toThrow(
    /^127\.0\.0\.1:\d+ is a pooler that gives each transaction another session\. Let it keep a session for each connection \(pool_mode = session\)$/,
  )
  await pooler.close()
})

test('a database, or a proxy that keeps a session for each connection, is not', async () => {
  await refuseSharedSessions(database.url)
  const proxy = await startSeveringProxy(database.url)
  await refuseSharedSessions(proxy.url)
  await proxy.close()
})
