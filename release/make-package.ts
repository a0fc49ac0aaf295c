import { execFileSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { lockOfUsers } from './lock-of-users.ts'

/**
 * `npm run package [-- folder]`: makes the package of users in build/release/, or in the folder, and prints its path.
 * Node erases no types below `node_modules`, so that the compiler does it here, file for file; the page is built, and the versions of all
 * packages that the program was tested with go into `npm-shrinkwrap.json`. The same sources make the same bytes.
 */

const ROOT = join(import.meta.dirname, '..')
const OUT = resolve(process.argv[2] ?? join(ROOT, 'build', 'release'))
// npm packs the folder that it stands in, and would take a shrinkwrap of the checkout for the checkout's lock.
const staged = mkdtempSync(join(tmpdir(), 'tollgate-staged-'))
try {
  stage()
  mkdirSync(OUT, { recursive: true })
  const packing = ['pack', '--silent', '--ignore-scripts', '--pack-destination', OUT]
  const name = execFileSync('npm', packing, { cwd: staged, encoding: 'utf8' }).trim()
  console.log(join(OUT, name))
} finally {
  rmSync(staged, { recursive: true, force: true })
}

function stage(): void {
  const {
    scripts: _,
    devDependencies: __,
    optionalDependencies: ___,
    ...manifest
  } = readJson('package.json')
  // Not to standard output, which has the path of the package alone.
  const stdio = ['ignore', 2, 2] as const
  execFileSync(process.execPath, [join(ROOT, 'web', 'build.ts'), '--if-stale'], {
    stdio: [...stdio],
  })
  const dist = join(staged, 'dist')
  const compiler = join(ROOT, 'node_modules', '.bin', 'tsc')
  execFileSync(compiler, ['--project', join(ROOT, 'release'), '--outDir', dist], {
    stdio: [...stdio],
  })
  for (const path of compiledFiles(dist)) nameCompiledEntries(path)
  for (const path of [join('build', 'web'), join('src', 'http', 'openapi', 'page')])
    cpSync(join(ROOT, path), join(dist, path), { recursive: true })
  for (const path of globSync([...manifest.files, 'LICENSE', 'README.md'], { cwd: ROOT })) {
    mkdirSync(dirname(join(staged, path)), { recursive: true })
    cpSync(join(ROOT, path), join(staged, path), { recursive: true })
  }
  // The compiled program reads its version from a copy of its own.
  for (const folder of [staged, dist]) write(join(folder, 'package.json'), manifest)
  write(join(staged, 'npm-shrinkwrap.json'), lockOfUsers(readJson('package-lock.json')))
}

function compiledFiles(dist: string): readonly string[] {
  return readdirSync(dist, { recursive: true, withFileTypes: true })
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

function readJson(path: string) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}

function write(path: string, content: unknown): void {
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)
}
