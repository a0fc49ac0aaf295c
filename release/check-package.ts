import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import {
  type Instruction,
  lastStage,
  readImageRecipe,
  readWords,
} from '../test/deploy/image-recipe.ts'
import { compareBill, expect, MB, packAgain, say, sizeOf, verifyAsUser } from './check-release.ts'

/**
 * `npm run test:package`: packs tollgate, verifies and installs the package in an empty folder as its users do, and goes
 * through their first minute with it. A second checkout meanwhile makes the same bytes. Prints what was seen of each
 * step, and ends with 1 at the first that fails.
 */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const INSTALLED_MB_MAX = 90
const NODE_PACKAGES = Object.keys(readManifest().optionalDependencies)
/** A user who owns nothing. */
const NOBODY = 65_534

const folder = mkdtempSync(join(tmpdir(), 'tollgate-package-'))
// Without the settings that this shell may have. This Node comes first: the machine's may be too old.
const { PATH = '', HOME = '' } = process.env
const env = { PATH: `${dirname(process.execPath)}${delimiter}${PATH}`, HOME, PORT: '0' }
let again: Promise<void> = Promise.resolve()
try {
  const tarball = await pack()
  again = packAgain(tarball, folder)
  // Its failure is told when the other steps have had their turn.
  again.catch(() => undefined)
  await verifyAsUser(tarball, folder)
  const app = await install(tarball)
  compareBill(app, tarball)
  await showVersion(app)
  await showHelp(app)
  await tryServer(app)
  await auditStore(app)
  await tryImage(app)
  await again
} finally {
  await again.catch(() => undefined)
  rmSync(folder, { recursive: true, force: true })
}

function readManifest(): { version: string; optionalDependencies: Record<string, string> } {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
}

async function pack(): Promise<string> {
  // As docs/deploy.md has operators write: settings with secrets, beside what is packed.
  const secrets = join(ROOT, 'deploy', 'package-check.env')
  writeFileSync(secrets, 'UPSTREAM_API_KEY=secret\n')
  const packing = run('npm', ['run', '--silent', 'package', '--', join(folder, 'release')], {
    cwd: ROOT,
  })
  const { stdout } = await packing.finally(() => rmSync(secrets))
  const tarball = stdout.trim()
  const packed = (await run('tar', ['-tzf', tarball])).stdout.split('\n')
  const ofOperator = packed.filter((path) => path.endsWith('.env') || path.includes('/data/'))
  expect(ofOperator.length === 0, `the package has ${ofOperator.join(', ')}`)
  say('packed', `${(statSync(tarball).size / MB).toFixed(1)} MB`)
  return tarball
}

/** Returns the folder of a user, which has the package and nothing else. */
async function install(tarball: string): Promise<string> {
  const app = join(folder, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{}')
  // All that it needs is inside.
  const options = ['--offline', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, tarball], { cwd: app, env })
  const megabytes = sizeOf(join(app, 'node_modules')) / MB
  expect(megabytes <= INSTALLED_MB_MAX, `${megabytes.toFixed(1)} MB, at most ${INSTALLED_MB_MAX}`)
  const folders = [app, join(app, 'node_modules', 'tollgate')]
  const packages = folders.flatMap((each) => readdirSync(join(each, 'node_modules')))
  for (const unwanted of ['typescript', 'viem', 'stripe', 'vite', ...NODE_PACKAGES])
    expect(!packages.includes(unwanted), `${unwanted} is installed`)
  say('installed', `${megabytes.toFixed(1)} MB, of which at most ${INSTALLED_MB_MAX} are allowed`)
  return app
}

async function showVersion(app: string): Promise<void> {
  const { version } = readManifest()
  const { stdout } = await tollgate(app, ['--version'])
  expect(stdout.trim() === version, `--version prints ${stdout.trim()}, the package is ${version}`)
  say('version', stdout.trim())
}

async function showHelp(app: string): Promise<void> {
  const { stdout } = await tollgate(app, ['--help'])
  expect(stdout.includes('serve'), 'the help does not name serve')
  say('help', `${stdout.split('\n').length} lines`)
}

/** The first start, with the key that it prints: a request and the page. */
async function tryServer(app: string): Promise<void> {
  const server = spawn('npx', ['tollgate', 'serve'], { cwd: app, env, detached: true })
  const closed = once(server, 'close')
  try {
    let greeting = ''
    server.stderr.on('data', (chunk) => {
      greeting += String(chunk)
    })
    const address = await addressOf(createInterface({ input: server.stdout }))
    expect(address !== null, `no server: ${greeting}`)
    server.stdout.resume()
    // The key comes by another pipe, which may be read later.
    const keyOf = () => /sk-tollgate-\w+(?=\s)/.exec(greeting)?.[0]
    while (keyOf() === undefined) await once(server.stderr, 'data')
    const apiKey = keyOf()
    const answer = await fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(answer.status === 200, `a completion answers ${answer.status}: ${await answer.text()}`)
    say('request', `200, charged ${answer.headers.get('x-service-cost')} micro-dollars`)
    const page = await fetch(`${address}/app`)
    const html = await page.text()
    const [, script = ''] = /<script[^>]+src="([^"]+)"/.exec(html) ?? []
    const code = await fetch(new URL(script, `${address}/app`))
    expect(page.status === 200 && script !== '' && code.status === 200, `no page: ${html}`)
    const docs = await fetch(`${address}/docs`)
    expect(docs.status === 200, `/docs answers ${docs.status}`)
    say('page', `${page.status}, and its script ${(await code.text()).length} characters`)
  } finally {
    process.kill(-(server.pid ?? 0), 'SIGTERM')
    await closed
  }
  say('stopped', 'with SIGTERM')
}

async function auditStore(app: string): Promise<void> {
  const { stdout } = await tollgate(app, ['audit'])
  expect(stdout.includes('exact'), `the audit says: ${stdout}`)
  say('audit', 'exact')
}

/** Runs the command of the image without a container: as another user, on a tree that this user cannot write. */
async function tryImage(app: string): Promise<void> {
  const recipe = lastStage(readImageRecipe())
  const only = (name: string): Instruction => {
    const [found, ...more] = recipe.filter((each) => each.name === name)
    if (found === undefined || more.length > 0) throw new Error(`not one ${name} in the Dockerfile`)
    return found
  }
  const home = join(folder, 'home')
  const node = join(folder, 'node')
  mkdirSync(join(home, 'data'), { recursive: true })
  copyFileSync(process.execPath, node)
  chmodSync(folder, 0o755)
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  if (isRoot) chownSync(join(home, 'data'), NOBODY, NOBODY)
  const settings = Object.fromEntries(
    only('ENV')
      .rest.split(' ')
      .map((pair) => pair.split('=', 2)),
  )
  const start = (instruction: Instruction, port: string) => {
    const [program, ...words] = readWords(instruction)
    expect(program === 'node', `the image runs ${program}`)
    const args = words.map((word) => word.replace(/^\/opt\/tollgate\//, `${app}/`))
    const environment = { ...settings, HOST: '127.0.0.1', PORT: port }
    return spawn(node, args, { cwd: home, env: environment, ...user })
  }
  const healthOf = async (port: string): Promise<unknown> =>
    (await once(start(only('HEALTHCHECK'), port), 'exit'))[0]

  const server = start(only('CMD'), '0')
  const ended = once(server, 'exit')
  let notes = ''
  server.stderr.on('data', (chunk) => {
    notes += String(chunk)
  })
  const address = await addressOf(createInterface({ input: server.stdout }))
  expect(address !== null, `the image serves nothing: ${notes}`)
  server.stdout.resume()
  const { port } = new URL(address)
  const served = await healthOf(port)
  expect(served === 0, `the health check of a server that serves ends with ${served}`)
  server.kill('SIGTERM')
  const [code] = await ended
  expect(code === 0, `the server of the image ends with ${code}`)
  const stopped = await healthOf(port)
  expect(stopped === 1, `the health check of no server ends with ${stopped}`)
  say('image', 'its command serves as another user, and its health check is right')
}

/** Rejects where it ends with another code than 0. */
function tollgate(app: string, args: readonly string[]) {
  return run('npx', ['tollgate', ...args], { cwd: app, env })
}

async function addressOf(lines: AsyncIterable<string>): Promise<string | null> {
  for await (const line of lines) {
    const [, address = null] = /"address":"([^"]+)"/.exec(line) ?? []
    if (address !== null) return address
  }
  return null
}
