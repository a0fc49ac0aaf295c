import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { ROOT } from './image-recipe.ts'
import { PROXIES, type ProxyKind, unpackProxy } from './proxy.ts'

/**
 * `npm run test:deploy`: the proxies of docs/deploy.md as Debian has them, in front of a gateway, and the
 * systemd unit as systemd reads it. Says of each what became of it; what this machine can't run is not
 * run, and is no failure.
 */

const run = promisify(execFile)
const verdicts: string[] = []
for (const proxy of PROXIES) verdicts.push(`${proxy.name}: ${await verdictOnProxy(proxy)}`)
verdicts.push(`systemd: ${await verdictOnUnit()}`)
for (const verdict of verdicts) console.log(verdict)
if (verdicts.some((verdict) => verdict.includes(': failed'))) process.exitCode = 1

async function verdictOnProxy(proxy: ProxyKind): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${proxy.name}-`))
  try {
    const unpacked = await unpackProxy(proxy, folder)
    if (unpacked.kind === 'notUnpacked') return `not run: ${unpacked.reason}`
    const path = 'test/deploy/any.proxy.test.ts'
    const { state } = await startVitest([path], {
      config: false,
      watch: false,
      include: [path],
      provide: { proxyName: proxy.name, proxyProgram: unpacked.program },
      ...HANG_LIMITS,
    })
    const modules = state.getTestModules()
    const isPassed = modules.length === 1 && modules.every((module) => module.ok())
    return isPassed && state.getUnhandledErrors().length === 0 ? 'passed' : 'failed'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function verdictOnUnit(): Promise<string> {
  try {
    await run('systemd-analyze', ['--version'])
  } catch {
    return 'not run: systemd-analyze is not here'
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-unit-'))
  try {
    const unit = readFileSync(join(ROOT, 'deploy', 'tollgate.service'), 'utf8')
    const file = join(folder, 'tollgate.service')
    // The program must be there to be believed; in a checkout elsewhere it is elsewhere.
    writeFileSync(file, unit.replaceAll('/opt/tollgate', ROOT))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', file])
    return `${stdout}${stderr}` === '' ? 'passed' : `failed: ${stdout}${stderr}`
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
