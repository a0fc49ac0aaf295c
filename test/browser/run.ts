import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { startVitest } from 'vitest/node'
import { HANG_LIMITS } from '../hang-limits.ts'
import { LOADED_BY_NODE } from '../loaded-by-node.ts'
import { findChromium } from './chromium.ts'

/**
 * `npm run test:page`: the page in a Chromium. What follows on the command line names the tests to run;
 * without it, all do. With `--pictures`, pictures of every screen are written to `build/pictures`. A machine without a Chromium fails: as root of a Debian it is installed first.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const PICTURES_FLAG = '--pictures'

if (findChromium() === null) installChromium()
if (findChromium() === null) {
  console.log('page: failed: there is no Chromium. Install one, or name its program in CHROMIUM.')
  process.exitCode = 1
} else {
  execFileSync(process.execPath, [join(ROOT, 'web', 'build.ts'), '--if-stale'], {
    stdio: 'inherit',
  })
  const names = process.argv.slice(2).filter((argument) => argument !== PICTURES_FLAG)
  if (process.argv.includes(PICTURES_FLAG)) {
    process.env['PICTURES_FOLDER'] = join(ROOT, 'build', 'pictures')
  }
  process.exitCode = (await areTestsPassed(names)) ? 0 : 1
}

function installChromium(): void {
  if (process.getuid?.() !== 0) return
  try {
    execFileSync(
      'apt-get',
      ['install', '--yes', '--no-install-recommends', 'chromium-headless-shell'],
      { stdio: 'inherit' },
    )
  } catch (error) {
    console.log(`page: apt-get: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function areTestsPassed(names: readonly string[]): Promise<boolean> {
  const { state } = await startVitest([...names], {
    config: false,
    root: ROOT,
    watch: false,
    include: ['test/browser/**/*.page.test.ts'],
    maxWorkers: 2,
    // Otherwise each file would start a browser of its own.
    isolate: false,
    reporters: ['verbose'],
    ...HANG_LIMITS,
    ...LOADED_BY_NODE,
  })
  const modules = state.getTestModules()
  const isPassed = modules.length > 0 && modules.every((module) => module.ok())
  console.log(`page: ${isPassed ? 'passed' : 'failed'}`)
  return isPassed && state.getUnhandledErrors().length === 0
}
