import { startPostgresServer } from './postgres-server.ts'

// Started by a test: runs a server, and then ends as a run does in which a test has failed.
const server = await startPostgresServer({ settings: ['fsync=off'] })
await server.stop()
process.exitCode = 3
