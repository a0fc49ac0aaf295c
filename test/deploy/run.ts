import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LOADED_BY_NODE } from '../loaded-by-node.ts'
import { type DebianProgram, unpackProgram } from './debian-program.ts'
import { ROOT } from './image-recipe.ts'
import { PROXIES } from './proxy.ts'

/**
 * `npm run test:deploy`: the proxies of docs/deploy.md as Debian has them, in front of a gateway; the queries of the
 * dashboard, asked of Debian's Prometheus; and the systemd units as systemd reads them. Says of each what became of it; what this machine can't run is not
 * run, and is no failure.
 */

const PROMETHEUS: DebianProgram = {
  name: 'prometheus',
  program: 'usr/bin/prometheus',
  versionFlag: '--version',
}
const run = promisify(execFile)
const verdicts: string[] = []
for (const program of PROXIES) verdicts.push(await verdictOn(program, 'any.proxy.test.ts'))
verdicts.push(await verdictOn(PROMETHEUS, 'dashboard.prometheus.test.ts'))
for (const [file, as] of [
  ['tollgate.service', 'tollgate.service'],
  ['tollgate@.service', 'tollgate@01.service'],
  ['tollgate-backup.timer', 'tollgate-backup.timer'],
  ['tollgate-backup.service', 'tollgate-backup.service'],
] as const) {
  verdicts.push(`systemd, ${file}: ${await verdictOnUnit(file, as)}`)
}
for (const verdict of verdicts) console.log(verdict)
if (verdicts.some((verdict) => verdict.includes(': failed'))) process.exitCode = 1

/** By position: runs a file of tests with a program of Debian's. */
async function verdictOn(debian: DebianProgram, file: string): Promise<string> {
  const { name } = debian
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`))
  try {
    const unpacked = await unpackProgram(debian, folder)
    if (unpacked.kind === 'notUnpacked') return `${name}: not run: ${unpacked.reason}`
    const path = `test/deploy/${file}`
    const { state } = await startVitest([path], {
      config: false,
      watch: false,
      include: [path],
      provide: { programName: name, program: unpacked.program },
      ...HANG_LIMITS,
      ...LOADED_BY_NODE,
    })
    const modules = state.getTestModules()
    const isPassed = modules.length === 1 && modules.every((module) => module.ok())
    const isGood = isPassed && state.getUnhandledErrors().length === 0
    return `${name}: ${isGood ? 'passed' : 'failed'}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** By position: a file of deploy/, and the name that systemd reads it by. */
async function verdictOnUnit(source: string, name: string): Promise<string> {
  try {
    await run('systemd-analyze', ['--version'])
  } catch {
    return 'not run: systemd-analyze is not here'
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-unit-'))
  try {
    // A timer is read with the service that it starts.
    for (const unit of readdirSync(join(ROOT, 'deploy'))) {
      if (!/\.(service|timer)$/.test(unit)) continue
      const text = readFileSync(join(ROOT, 'deploy', unit), 'utf8')
      // The program must be there to be believed; in a checkout elsewhere it is elsewhere.
      writeFileSync(
        join(folder, unit === source ? name : unit),
        text.replaceAll('/opt/tollgate', ROOT),
      )
    }
    const file = join(folder, name)
    const { stdout, stderr } = await run('systemd-analyze', ['verify', file])
    return `${stdout}${stderr}` === '' ? 'passed' : `failed: ${stdout}${stderr}`
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
