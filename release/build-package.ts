import { execFileSync, spawn } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultOfBuild } from '../src/app/page-stamp.ts'

/**
 * What `npm pack` runs first: writes `dist/`, with what Node does not do below `node_modules`. Types are erased by
 * the compiler, the page is copied beside the code that serves it, and the versions of all packages that the program
 * was tested with go into `npm-shrinkwrap.json`, without those that only a checkout needs.
 */

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
const LOCK = join(ROOT, 'npm-shrinkwrap.json')
/** Far above what npm takes to pack files that are all there. */
const PACKED_AFTER_MS = 300_000

const fault = await faultOfBuild()
if (fault !== null) throw new Error(fault)
rmSync(DIST, { recursive: true, force: true })
// Not to standard output: that of `npm pack` is the name of the package.
execFileSync('tsc', ['--project', join(ROOT, 'release')], { stdio: ['ignore', 2, 2] })
for (const path of compiledFiles()) nameCompiledEntries(path)
cpSync(join(ROOT, 'build', 'web'), join(DIST, 'build', 'web'), { recursive: true })
const reference = join('src', 'http', 'openapi', 'page')
cpSync(join(ROOT, reference), join(DIST, reference), { recursive: true })
writeFileSync(LOCK, `${JSON.stringify(lockOfUsers(), null, 2)}\n`)
clearAfterPack()

/**
 * npm reads the lock of a package at its root alone, and `npm install` in the checkout would take it for the
 * checkout's. `postpack` removes it, which does not run where npm is cut off: then it goes minutes later.
 */
function clearAfterPack(): void {
  const clearing = `
    const { statSync, rmSync } = require('node:fs')
    const written = statSync(process.argv[1]).mtimeMs
    const isThere = () => statSync(process.argv[1], { throwIfNoEntry: false })?.mtimeMs === written
    setInterval(() => isThere() || process.exit(), 250)
    setTimeout(() => { if (isThere()) rmSync(process.argv[1]); process.exit() }, ${PACKED_AFTER_MS})`
  spawn(process.execPath, ['-e', clearing, LOCK], { detached: true, stdio: 'ignore' }).unref()
}

function compiledFiles(): readonly string[] {
  return readdirSync(DIST, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** The compiler renames what is imported; the entries of threads and processes are URLs, which it leaves. */
function nameCompiledEntries(path: string): void {
  const compiled = readFileSync(path, 'utf8')
  const named = compiled.replace(/new URL\('(\.[^']+)\.ts', import\.meta\.url\)/g, (_, name) => {
    return `new URL('${name}.js', import.meta.url)`
  })
  if (named !== compiled) writeFileSync(path, named)
}

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** The lock file of the checkout, without what is needed there alone. */
function lockOfUsers(): unknown {
  const lock: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  )
  const needed = new Set([''])
  for (const from of needed) {
    const { dependencies, optionalDependencies } = lock.packages[from] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = whereFound(name, from, lock.packages)
      if (path !== null) needed.add(path)
    }
  }
  const { devDependencies: _, ...root } = lock.packages[''] ?? {}
  const others = [...needed].filter((path) => path !== '').sort()
  const packages = Object.fromEntries(others.map((path) => [path, lock.packages[path]]))
  return { ...lock, packages: { '': root, ...packages } }
}

/** Where Node finds a package that is imported from another: in the nearest `node_modules` above it. */
function whereFound(
  name: string,
  from: string,
  packages: Readonly<Record<string, LockedPackage>>,
): string | null {
  const folder = from === '' ? '' : `${from}/`
  const path = `${folder}node_modules/${name}`
  if (packages[path] !== undefined) return path
  return from === ''
    ? null
    : whereFound(name, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), packages)
}
