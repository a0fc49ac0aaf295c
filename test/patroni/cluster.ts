import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { request } from 'undici'
import { expect } from 'vitest'
import { freePort } from '../../src/store/testing/free-port.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the programs are. */
    patroni: Programs
  }
}

interface Programs {
  /** An empty part of it is for the nodes. */
  readonly folder: string
  /** Debian's packages, unpacked. */
  readonly root: string
  /** The folder of PostgreSQL's own programs. */
  readonly bin: string
}

/** A PostgreSQL server with its Patroni. */
export interface Node {
  readonly postgresPort: number
  /** Whether Patroni says that the node has a role. */
  is(role: 'primary' | 'synchronous'): Promise<boolean>
  /** Ends PostgreSQL and its Patroni at once. */
  kill(): void
}

const run = promisify(execFile)

/**
 * Starts etcd and two nodes, with the settings of docs/scale.md but for strict mode, which needs three. The first is the
 * primary, the second follows it synchronously. To be called within a test. By position: what ends them all.
 */
export async function startCluster(
  programs: Programs,
  closing: AsyncDisposableStack,
): Promise<readonly [Node, Node]> {
  const { folder, root } = programs
  const children: ChildProcess[] = []
  const start = (program: string, words: readonly string[], env = {}): ChildProcess => {
    const output = openSync(join(folder, `${children.length}.log`), 'a')
    const stdio = ['ignore', output, output] as const
    // In a group of its own, to be killed whole.
    const child = spawn(program, words, {
      env: { ...process.env, ...env },
      detached: true,
      stdio: [...stdio],
    })
    children.push(child)
    closing.defer(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      killGroup(child.pid)
      await ended
    })
    return child
  }
  const [clientPort, peerPort] = [await freePort(), await freePort()]
  const client = `http://127.0.0.1:${clientPort}`
  const peer = `http://127.0.0.1:${peerPort}`
  start(join(root, 'usr/bin/etcd'), [
    ...['--data-dir', join(folder, 'etcd'), '--listen-client-urls', client],
    ...['--advertise-client-urls', client, '--listen-peer-urls', peer],
    ...['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
  ])
  // Patroni gives up at its start where etcd does not answer yet.
  await expect.poll(() => isOk(`${client}/health`)).toBe(true)
  const [uid, gid] = await Promise.all(['-u', '-g'].map(idOfPostgres))
  const node = (name: string): Promise<Node> =>
    startNode(programs, { name, etcdPort: clientPort, uid, gid, start })
  const first = await node('n1')
  closing.defer(() => first.kill())
  await expect.poll(() => first.is('primary')).toBe(true)
  const second = await node('n2')
  closing.defer(() => second.kill())
  await expect.poll(() => second.is('synchronous')).toBe(true)
  return [first, second]
}

async function idOfPostgres(flag: string): Promise<string> {
  return (await run('id', [flag, 'postgres'])).stdout.trim()
}

async function isOk(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url)
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

interface NodeInput {
  readonly name: string
  readonly etcdPort: number
  readonly uid: string | undefined
  readonly gid: string | undefined
  readonly start: (
    program: string,
    words: readonly string[],
    env?: Record<string, string>,
  ) => ChildProcess
}

async function startNode(
  { folder, root, bin }: Programs,
  { name, etcdPort, uid, gid, start }: NodeInput,
): Promise<Node> {
  const [postgresPort, restPort] = [await freePort(), await freePort()]
  const home = join(folder, name)
  const data = join(home, 'data')
  mkdirSync(home)
  await run('chown', ['-R', `${uid}:${gid}`, home])
  const file = join(home, 'patroni.yml')
  writeFileSync(
    file,
    JSON.stringify(settingsOf({ name, etcdPort, postgresPort, restPort, data, home, bin })),
  )
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  const patroni = start(
    'setpriv',
    [...user, '/usr/bin/python3', join(root, 'usr/bin/patroni'), file],
    { PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'), HOME: home },
  )
  return {
    postgresPort,
    is: (role) => isOk(`http://127.0.0.1:${restPort}/${role}`),
    kill() {
      killGroup(patroni.pid)
      try {
        const [pid] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
        process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It has ended already.
      }
    },
  }
}

/** The settings of a node, which YAML reads as well as JSON. */
function settingsOf({
  name,
  etcdPort,
  postgresPort,
  restPort,
  data,
  home,
  bin,
}: {
  readonly name: string
  readonly etcdPort: number
  readonly postgresPort: number
  readonly restPort: number
  readonly data: string
  readonly home: string
  readonly bin: string
}): object {
  return {
    scope: 'tollgate',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 5,
        retry_timeout: 5,
        synchronous_mode: true,
        maximum_lag_on_failover: 0,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 60 } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
      pg_hba: ['host all all 127.0.0.1/32 md5', 'host replication all 127.0.0.1/32 md5'],
    },
    postgresql: {
      listen: `127.0.0.1:${postgresPort}`,
      connect_address: `127.0.0.1:${postgresPort}`,
      data_dir: data,
      bin_dir: bin,
      parameters: { unix_socket_directories: home },
      authentication: {
        superuser: { username: 'postgres', password: 'test' },
        replication: { username: 'replicator', password: 'test' },
      },
    },
  }
}
