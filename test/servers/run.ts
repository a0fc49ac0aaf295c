import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LITELLM, LLAMA } from './real-server.ts'

/**
 * `npm run test:servers`: a gateway before LiteLLM's proxy and llama.cpp's server, which come from PyPI into a temporary
 * folder. A machine that can't run them says so, which is no failure. `SERVERS_VENV` names an environment of Python
 * that has both.
 */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-servers-'))
try {
  const verdict = await verdictIn(folder)
  console.log(`servers: ${verdict}`)
  if (verdict === 'failed') process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

async function verdictIn(folder: string): Promise<string> {
  const venv = process.env['SERVERS_VENV'] ?? join(folder, 'venv')
  if (process.env['SERVERS_VENV'] === undefined) {
    const missing = install(venv)
    if (missing !== null) return `not run: ${missing}`
  }
  const path = 'test/servers/charges.servers.test.ts'
  const { state } = await startVitest([path], {
    config: false,
    watch: false,
    include: [path],
    provide: { servers: { folder, bin: join(venv, 'bin') } },
    ...HANG_LIMITS,
  })
  const modules = state.getTestModules()
  const isPassed = modules.length === 1 && modules.every((module) => module.ok())
  return isPassed && state.getUnhandledErrors().length === 0 ? 'passed' : 'failed'
}

/** Installs both servers; returns the reason where the machine can't have them. */
function install(venv: string): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return 'the pinned packages are those for Linux on x86-64'
  }
  try {
    const isNewEnough = 'import sys, venv; sys.exit(sys.version_info < (3, 10))'
    execFileSync('python3', ['-c', isNewEnough], { stdio: 'ignore' })
  } catch {
    return 'it needs Python 3.10 or newer, with venv'
  }
  const pinned = join(folder, 'pinned.txt')
  writeFileSync(
    pinned,
    [LITELLM, LLAMA]
      .map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`)
      .join(''),
  )
  const pip = (...args: string[]) => {
    const options = ['install', '--quiet', '--disable-pip-version-check', '--no-compile']
    execFileSync(join(venv, 'bin', 'pip'), [...options, ...args], { stdio: 'inherit' })
  }
  execFileSync('python3', ['-m', 'venv', venv], { stdio: 'inherit' })
  pip('--no-deps', '--only-binary=:all:', '--require-hashes', '-r', pinned)
  // The packages that the proxy needs beside; itself is there already.
  pip('--only-binary=:all:', `${LITELLM.name}[proxy]==${LITELLM.version}`)
  return null
}
