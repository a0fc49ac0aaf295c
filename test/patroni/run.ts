import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LOADED_BY_NODE } from '../loaded-by-node.ts'

/**
 * `npm run test:patroni`: PostgreSQL in two nodes that Debian's Patroni and etcd keep, behind a gateway that knows both. A
 * machine that can't run it says so, which is no failure.
 */

const run = promisify(execFile)
const POSTGRES = '/usr/lib/postgresql'
const PYTHON = [
  ...['cdiff', 'click', 'colorama', 'dateutil', 'dnspython', 'etcd', 'prettytable', 'psutil'],
  ...['psycopg2', 'urllib3', 'wcwidth'],
]
const PACKAGES = ['patroni', 'etcd-server', ...PYTHON.map((name) => `python3-${name}`)]

const folder = mkdtempSync(join(tmpdir(), 'tollgate-patroni-'))
chmodSync(folder, 0o755)
try {
  const verdict = await verdictIn(folder)
  console.log(`patroni: ${verdict}`)
  if (verdict === 'failed') process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

async function verdictIn(folder: string): Promise<string> {
  const version = existsSync(POSTGRES) ? readdirSync(POSTGRES).toSorted().at(-1) : undefined
  if (version === undefined || process.getuid?.() !== 0) {
    return 'not run: it needs root, and PostgreSQL of Debian (apt-get install postgresql)'
  }
  const root = join(folder, 'root')
  try {
    await run('apt-get', ['download', ...PACKAGES], { cwd: folder })
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['--extract', join(folder, file), root])
    }
  } catch (error) {
    return `not run: ${String(error).split('\n')[0]}`
  }
  const path = 'test/patroni/failover.patroni.test.ts'
  const { state } = await startVitest([path], {
    config: false,
    watch: false,
    include: [path],
    provide: { patroni: { folder, root, bin: join(POSTGRES, version, 'bin') } },
    ...HANG_LIMITS,
    ...LOADED_BY_NODE,
  })
  const modules = state.getTestModules()
  const isPassed = modules.length === 1 && modules.every((module) => module.ok())
  return isPassed && state.getUnhandledErrors().length === 0 ? 'passed' : 'failed'
}
