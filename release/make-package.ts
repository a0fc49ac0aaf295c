import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
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
import { basename, dirname, join, resolve } from 'node:path'
import { billOfMaterials } from './bill-of-materials.ts'
import { lockOfUsers } from './lock-of-users.ts'

/**
 * `npm run package [-- folder]`: makes the package of users in build/release/, or in the folder, and prints its path.
 * Node erases no types below `node_modules`, so that the compiler does it here, file for file; the page is built, and
 * the packages that the program needs are inside, in the versions of the lock. It checks no types: `npm run check` does.
 * Beside the package stand its bill of materials and the checksums of both. The same sources make the same bytes.
 */

const ROOT = join(import.meta.dirname, '..')
const OUT = resolve(process.argv[2] ?? join(ROOT, 'build', 'release'))
const BILL = 'bill-of-materials.cdx.json'
// npm packs the folder that it stands in, with all that is installed there.
const staged = mkdtempSync(join(tmpdir(), 'tollgate-staged-'))
try {
  stage()
  bundle()
  mkdirSync(OUT, { recursive: true })
  const name = npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', OUT]).trim()
  const bill = name.replace(/\.tgz$/, '.cdx.json')
  cpSync(join(staged, BILL), join(OUT, bill))
  writeFileSync(join(OUT, 'SHA256SUMS'), [name, bill].map(sumOf).join(''))
  console.log(join(OUT, name))
} finally {
  rmSync(staged, { recursive: true, force: true })
}

function stage(): void {
  const manifest = manifestOfUsers()
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
  write(join(dist, 'package.json'), manifest)
}

/**
 * Installs what users need, by the lock: npm compares each package with its integrity there, wherever it comes from. npm
 * packs no shrinkwrap any more, so that packages which users get from a registry would be others than those tested.
 */
function bundle(): void {
  const manifest = manifestOfUsers()
  const { files, dependencies } = manifest
  write(join(staged, 'package.json'), manifest)
  write(join(staged, 'package-lock.json'), lockOfUsers(readJson('package-lock.json')))
  npm(['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'])
  const printed = npm(['sbom', '--omit=dev', '--sbom-format', 'cyclonedx'])
  write(join(staged, BILL), billOfMaterials(JSON.parse(printed)))
  const bundleDependencies = Object.keys(dependencies)
  write(join(staged, 'package.json'), { ...manifest, files: [...files, BILL], bundleDependencies })
}

function manifestOfUsers() {
  const {
    scripts: _,
    devDependencies: __,
    optionalDependencies: ___,
    ...manifest
  } = readJson('package.json')
  return manifest
}

function npm(args: readonly string[]): string {
  // The network is asked only for what no earlier install has left on this machine.
  return execFileSync('npm', [...args, '--prefer-offline', '--loglevel=error'], {
    cwd: staged,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 2],
  })
}

/** A line as `sha256sum --check` reads it. */
function sumOf(name: string): string {
  const hash = createHash('sha256').update(readFileSync(join(OUT, name)))
  return `${hash.digest('hex')}  ${basename(name)}\n`
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
