import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import type { Bill } from './bill-of-materials.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const DEPENDENCIES = 'docs/decisions/dependencies.md'
const HEAVIEST = 10
/** Parts of a checkout that are not files of its commit. */
const OF_ONE_CHECKOUT = ['.git', 'node_modules', 'build', 'data']
const FENCE = /```sh\n([\s\S]*?)```/

/** Bytes of a megabyte, as sizes are printed here. */
export const MB = 1024 * 1024

/** Another folder, with files of another time and its page not built yet, makes the same bytes. */
export async function packAgain(tarball: string, folder: string): Promise<void> {
  const other = join(folder, 'checkout')
  const isCopied = (path: string) => !OF_ONE_CHECKOUT.some((name) => path === join(ROOT, name))
  cpSync(ROOT, other, { recursive: true, filter: isCopied })
  symlinkSync(join(ROOT, 'node_modules'), join(other, 'node_modules'))
  const out = join(folder, 'again')
  await run('npm', ['run', '--silent', 'package', '--', out], { cwd: other })
  const [first, second] = [dirname(tarball), out].map((where) =>
    readFileSync(join(where, 'SHA256SUMS'), 'utf8'),
  )
  expect(first === second, `another checkout makes other bytes:\n${first}${second}`)
  say('again', 'the same bytes from another checkout')
}

/**
 * Signs the release with a key of its own, as SECURITY.md has maintainers do, and runs the lines that it has for users in
 * an empty folder: once on what was signed, and on a package with one byte more, which they refuse.
 */
export async function verifyAsUser(tarball: string, folder: string): Promise<void> {
  const page = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')
  const [signing = '', verifying = ''] = ['### Making a release', '### Verifying a release'].map(
    (heading) => FENCE.exec(page.split(heading)[1] ?? '')?.[1],
  )
  const maker = join(folder, 'maker')
  const user = join(folder, 'user')
  for (const each of [join(maker, 'build'), user]) mkdirSync(each, { recursive: true })
  cpSync(dirname(tarball), join(maker, 'build', 'release'), { recursive: true })
  const key = join(maker, 'key')
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key])
  const signLine = signing.split('\n').find((line) => line.includes('-Y sign')) ?? ''
  await run('sh', ['-ec', signLine.replace('~/.ssh/tollgate_release', key)], { cwd: maker })
  for (const name of readdirSync(join(maker, 'build', 'release')))
    cpSync(join(maker, 'build', 'release', name), join(user, name))
  const publicKey = readFileSync(`${key}.pub`, 'utf8')
  writeFileSync(join(user, 'allowed_signers'), `tollgate-release ${publicKey}`)

  const [, version = ''] = /-(\d.*)\.tgz$/.exec(basename(tarball)) ?? []
  const lines = verifying.trim().split('\n')
  expect(lines.length === 3, `${lines.length} lines verify a release`)
  const [checkSignature = '', checkSums = '', install = ''] = lines
  expect(install === `npm install ./tollgate-${version}.tgz`, `SECURITY.md installs: ${install}`)
  const verify = () => run('sh', ['-ec', `${checkSignature}\n${checkSums}`], { cwd: user })
  const { stdout } = await verify()
  expect(stdout.includes('Good "tollgate-release" signature'), `the signature: ${stdout}`)
  const isRefused = () =>
    verify().then(
      () => false,
      () => true,
    )
  const copy = join(user, basename(tarball))
  const [bytes, sums] = [readFileSync(copy), readFileSync(join(user, 'SHA256SUMS'), 'utf8')]
  writeFileSync(copy, Buffer.concat([bytes, Buffer.from('\n')]))
  expect(await isRefused(), 'a package with one byte more is taken')
  writeFileSync(copy, bytes)
  writeFileSync(join(user, 'SHA256SUMS'), `${sums}\n`)
  expect(await isRefused(), 'other checksums than those signed are taken')
  say('signature', 'good; another package and other checksums are refused')
}

/** The bill of materials names the packages that are installed, no more and no fewer; the page names the heaviest. */
export function compareBill(app: string, tarball: string): void {
  const beside = readFileSync(tarball.replace(/\.tgz$/, '.cdx.json'), 'utf8')
  const inside = join(app, 'node_modules', 'tollgate', 'bill-of-materials.cdx.json')
  expect(beside === readFileSync(inside, 'utf8'), 'the package has another bill than its release')
  const { components }: Bill = JSON.parse(beside)
  const billed = components.map(({ name, version }) => `${name}@${version}`).toSorted()
  const folders = packageFolders(join(app, 'node_modules', 'tollgate'))
  const installed = [...new Set(folders.map(({ named }) => named))].toSorted()
  const only = (some: readonly string[], others: readonly string[]) =>
    some.filter((each) => !others.includes(each)).join(' ') || 'none'
  const unlike = `billed alone: ${only(billed, installed)}; installed alone: ${only(installed, billed)}`
  expect(isDeepStrictEqual(billed, installed), unlike)
  const heaviest = folders.toSorted((a, b) => b.bytes - a.bytes).slice(0, HEAVIEST)
  const page = readFileSync(join(ROOT, DEPENDENCIES), 'utf8')
  const told = page.split('## The ten heaviest')[1]?.split('\n## ')[0] ?? ''
  for (const { name, bytes } of heaviest)
    expect(told.includes(`\`${name}\``), `${DEPENDENCIES} does not name ${name}, ${bytes} bytes`)
  const named = heaviest.map(({ name, bytes }) => `${name} ${(bytes / MB).toFixed(1)}`)
  say('bill', `${billed.length} packages, each installed; in MB: ${named.join(', ')}`)
}

interface PackageFolder {
  readonly name: string
  readonly named: string
  /** Without the packages inside. */
  readonly bytes: number
}

/** The packages below a folder, however deep. */
function packageFolders(folder: string): readonly PackageFolder[] {
  return globSync('**/node_modules/{@*/*,[!@.]*}/package.json', { cwd: folder })
    .filter((path) => /node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, path), 'utf8'))
      const place = dirname(join(folder, path))
      const inside = existsSync(join(place, 'node_modules')) ? join(place, 'node_modules') : null
      const bytes = sizeOf(place) - (inside === null ? 0 : sizeOf(inside))
      return { name, named: `${name}@${version}`, bytes }
    })
}

/** The bytes of all files below a folder. */
export function sizeOf(path: string): number {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0)
}

/** Throws with the message unless it is as expected. */
export function expect(isAsExpected: boolean, otherwise: string): asserts isAsExpected {
  if (!isAsExpected) throw new Error(otherwise)
}

/** Prints a step of the check and the thing seen. */
export function say(step: string, seen: string): void {
  console.log(`${step.padEnd(10)} ${seen}`)
}
