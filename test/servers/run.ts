import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LOADED_BY_NODE } from '../loaded-by-node.ts'

/**
 * `npm run test:servers`: a gateway before LiteLLM's proxy and llama.cpp's server, which come from PyPI into a temporary
 * folder. A machine that can't run them, or that PyPI can't be reached from, says so, which is no failure. `SERVERS_VENV`
 * names an environment of Python that has both.
 */

// A download that takes longer is as good as none.
const INSTALL_TIMEOUT_MS = 600_000

const SAFE = ['--require-hashes', '--no-deps', '--only-binary=:all:']
const BRIEF = [
  '--quiet',
  '--disable-pip-version-check',
  '--no-compile',
  '--timeout=20',
  '--retries=1',
]

const folder = mkdtempSync(join(tmpdir(), 'tollgate-servers-'))
try {
  const verdict = await verdictIn(folder)
  console.log(`servers: ${verdict}`)
  if (verdict.startsWith('failed')) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

async function verdictIn(folder: string): Promise<string> {
  const venv = process.env['SERVERS_VENV'] ?? join(folder, 'venv')
  if (process.env['SERVERS_VENV'] === undefined) {
    const startMs = performance.now()
    const trouble = install(venv)
    if (trouble !== null) return trouble
    console.log(`servers: installed in ${Math.round((performance.now() - startMs) / 1_000)} s`)
  }
  const path = 'test/servers/charges.servers.test.ts'
  const { state } = await startVitest([path], {
    config: false,
    watch: false,
    include: [path],
    provide: { servers: { folder, bin: join(venv, 'bin') } },
    ...HANG_LIMITS,
    ...LOADED_BY_NODE,
  })
  const modules = state.getTestModules()
  const isPassed = modules.length === 1 && modules.every((module) => module.ok())
  return isPassed && state.getUnhandledErrors().length === 0 ? 'passed' : 'failed'
}

/** Installs both servers. Returns a verdict where the machine can't have them, or where PyPI has other bytes than are pinned. */
function install(venv: string): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return 'not run: the pinned packages are those for Linux on x86-64'
  }
  try {
    const isPinned =
      'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
    execFileSync('python3', ['-c', isPinned], { stdio: 'ignore' })
    execFileSync('python3', ['-m', 'venv', venv], { stdio: 'inherit' })
  } catch {
    return 'not run: it needs Python 3.11, 3.12 or 3.13, with venv'
  }
  const pip = spawnSync(
    join(venv, 'bin', 'pip'),
    ['install', ...SAFE, ...BRIEF, '-r', join(import.meta.dirname, 'pinned.txt')],
    { encoding: 'utf8', timeout: INSTALL_TIMEOUT_MS },
  )
  if (pip.status === 0) return null
  if (/DO NOT MATCH THE HASHES/.test(pip.stderr)) return `failed: ${pip.stderr}`
  const [reason = 'no reason given'] = pip.stderr.trim().split('\n').slice(-1)
  return `not run: PyPI can't be reached, or lacks a package: ${pip.error?.message ?? reason}`
}
