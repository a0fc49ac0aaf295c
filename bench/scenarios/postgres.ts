import { tmpdir } from 'node:os'
import { Client } from 'pg'
import type { Scenario } from '../bench.ts'
import { cpuMeasures } from '../cpu-measures.ts'
import { refuseMemory } from '../machine.ts'
import { measuresOf } from '../measure.ts'
import { ProcessTree, parentPidOf } from '../process-tree.ts'
import { compare, serverMicrosPerRequest } from '../rounds.ts'
import { chatWorkload, textBody } from '../workloads.ts'

/** The requests of 1 KB once more, with PostgreSQL as the store. */
export const POSTGRES: Scenario = {
  name: 'postgres',
  summary: 'CPU a request with PostgreSQL as the store, 1 KB, 32 at once',
  runs: 'always',
  async run(bench) {
    refuseMemory(tmpdir())
    // Loaded only when it is needed: it handles the signals of the process that loads it.
    const { startPostgresServer } = await import('../../src/store/testing/postgres-server.ts')
    await using closing = new AsyncDisposableStack()
    // With its default settings and fsync on; tables are not analysed.
    const server = await startPostgresServer({ settings: ['max_connections=200'] })
    closing.defer(() => server.stop())
    const databaseUrl = server.url('postgres')
    const gateway = await bench.startGateway({
      name: 'tollgate on PostgreSQL',
      databaseUrl,
      server: await serverTree(databaseUrl),
    })
    closing.defer(() => bench.end(gateway))
    const targets = [gateway, await bench.bareProxy()]
    const [over = [], under = []] = await compare(bench, {
      targets,
      workload: await chatWorkload(await bench.simulator(), textBody()),
      clients: 32,
      warmUp: 6_000,
      requests: { full: 4_000, quick: 500 },
    })
    const own = serverMicrosPerRequest(over)
    return [
      ...cpuMeasures({ noun: 'request', gateway: over, bare: under, ratioMax: 5 }),
      ...measuresOf([['PostgreSQL’s own CPU a request, look-up included', 'µs', own]]),
    ]
  },
}

/** All processes of the server that answers at an address. */
async function serverTree(url: string): Promise<ProcessTree> {
  const client = new Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return new ProcessTree(parentPidOf(rows[0]?.pid ?? Number.NaN))
  } finally {
    await client.end()
  }
}
