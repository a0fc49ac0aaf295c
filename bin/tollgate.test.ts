import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, realpathSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'

const repositoryRoot = join(import.meta.dirname, '..')

// Stands for src/main.ts: says where it runs, and waits or ends as its first argument asks.
const STUB_MAIN = `
const args: string[] = process.argv.slice(2)
if (args[0] === 'wait') {
  const waiting = setInterval(() => {}, 60_000)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      console.log(signal)
      clearInterval(waiting)
    })
  }
}
console.log(JSON.stringify({ args, byLauncher: process.env.BY_INSTALLED_NODE === 'yes' }))
if (args[0] === 'exit') process.exit(Number(args[1]))
if (args[0] === 'die') process.kill(process.pid, 'SIGKILL')
`

let checkout: string

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'tollgate-launcher-'))
  await mkdir(join(checkout, 'bin'))
  await mkdir(join(checkout, 'src'))
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }')
  await writeFile(join(checkout, 'src/main.ts'), STUB_MAIN)
  await copyFile(join(repositoryRoot, 'bin/tollgate.js'), join(checkout, 'bin/tollgate.js'))
})

afterEach(async () => {
  await rm(checkout, { recursive: true })
})

/** A package of package.json that has Node for one system, as package-lock.json has it. */
interface NodePackage {
  readonly name: string
  readonly version: string
  readonly integrity?: string
  readonly os: string
  readonly cpu: string
  readonly bin: { readonly node: string }
}

const { optionalDependencies }: { optionalDependencies: Record<string, string> } = JSON.parse(
  readFileSync(join(repositoryRoot, 'package.json'), 'utf8'),
)
const { packages: locked }: { packages: Record<string, Omit<NodePackage, 'name'>> } = JSON.parse(
  readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8'),
)
const nodePackages: readonly NodePackage[] = Object.keys(optionalDependencies).map((name) => {
  const found = locked[`node_modules/${name}`]
  if (found === undefined) throw new Error(`package-lock.json has no ${name}`)
  return { name, ...found }
})
const ofThisSystem = nodePackages.find(
  ({ os, cpu }) => os === process.platform && cpu === process.arch,
)

/** Puts a Node where npm puts that of a package. */
async function installNode(of = ofThisSystem): Promise<void> {
  if (of === undefined) throw new Error('no package has a Node for this system')
  const path = join(checkout, 'node_modules', of.name, of.bin.node)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `#!/bin/sh\nBY_INSTALLED_NODE=yes exec '${process.execPath}' "$@"\n`)
  await chmod(path, 0o755)
}

interface Disguise {
  readonly platform?: string
  readonly arch?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the launcher on a Node that says it is of the given version, and of another system. */
function launch(
  nodeVersion: string,
  args: readonly string[],
  { env, ...system }: Disguise = {},
): ChildProcess {
  const said = Object.entries({ ...system, versions: { node: nodeVersion } })
  const disguise = said.map(
    ([name, value]) =>
      `Object.defineProperty(process, '${name}', { value: ${JSON.stringify(value)} })`,
  )
  const { npm_lifecycle_event: _, ...ours } = process.env
  return spawn(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(disguise.join(';'))}`,
      join(checkout, 'bin/tollgate.js'),
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...ours, ...env } },
  )
}

interface Ending {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

async function ending(child: ChildProcess): Promise<Ending> {
  if (child.stdout === null || child.stderr === null) throw new Error('the output is not piped')
  const [[exitCode, signal], stdout, stderr] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout),
    text(child.stderr),
  ])
  return { exitCode, signal, stdout, stderr }
}

test.each(['24.11.0', '24.12.1', '25.0.0', '30.1.0'])(
  'Node %s runs main.ts itself',
  async (version) => {
    await installNode()
    const { stdout, exitCode } = await ending(launch(version, ['key', 'list', '--json']))
    expect(JSON.parse(stdout)).toEqual({ args: ['key', 'list', '--json'], byLauncher: false })
    expect(exitCode).toBe(0)
  },
)

test.each(['12.22.12', '20.20.2', '24.10.9'])(
  'Node %s hands over to the Node that npm installed',
  async (version) => {
    await installNode()
    const { stdout, exitCode } = await ending(launch(version, ['key', 'list', '--json']))
    expect(JSON.parse(stdout)).toEqual({ args: ['key', 'list', '--json'], byLauncher: true })
    expect(exitCode).toBe(0)
  },
)

test.each(nodePackages)('on $os $cpu an old Node hands over to that of $name', async (of) => {
  await installNode(of)
  const launched = launch('20.20.2', ['key', 'list'], { platform: of.os, arch: of.cpu })
  const { stdout, exitCode } = await ending(launched)
  expect(JSON.parse(stdout)).toEqual({ args: ['key', 'list'], byLauncher: true })
  expect(exitCode).toBe(0)
})

test('each Node of a checkout is one version, new enough, which the lock pins by its bytes', () => {
  for (const { name, version, integrity } of nodePackages) {
    expect(optionalDependencies[name]).toBe(version)
    expect(integrity, name).toMatch(/^sha512-[\w+/]{86}==$/)
    const [major = 0, minor = 0] = version.split('.').map(Number)
    expect(major > 24 || (major === 24 && minor >= 11), `${name} has ${version}`).toBe(true)
  }
})

test('tests and npm scripts run on the Node that the lock pins for this system', () => {
  const { name = '', version } = ofThisSystem ?? {}
  expect(process.versions.node).toBe(version)
  const started = realpathSync(join(repositoryRoot, 'node_modules/.bin/node'))
  expect(started).toBe(realpathSync(join(repositoryRoot, 'node_modules', name, 'bin/node')))
  expect(realpathSync(process.execPath)).toBe(started)
})

test('npm runs no script of a package that it installs, and the checkout has none', async () => {
  const shell = spawn('npm', ['config', 'get', 'ignore-scripts'], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect((await ending(shell)).stdout).toBe('true\n')
  const { scripts }: { scripts: object } = JSON.parse(
    readFileSync(join(repositoryRoot, 'package.json'), 'utf8'),
  )
  const hooks = Object.keys(scripts).filter((name) =>
    /^(?:pre|post)|^(?:install|prepare)$/.test(name),
  )
  expect(hooks).toEqual([])
})

/** Stands for web/build.ts: says how it is called, and fails where it is asked to. */
async function stubPageBuild(exitCode: number): Promise<void> {
  await mkdir(join(checkout, 'web'))
  await writeFile(
    join(checkout, 'web/build.ts'),
    `const args: string[] = process.argv.slice(2)
console.log('builds ' + args.join(' '))
process.exitCode = ${exitCode}`,
  )
}

test.each([0, 1])(
  'npm start builds the page before it serves, and serves if the build ends with %i',
  async (code) => {
    await stubPageBuild(code)
    const env = { npm_lifecycle_event: 'start' }
    const { stdout, stderr, exitCode } = await ending(launch('24.11.0', ['serve'], { env }))
    expect(stderr).toBe('builds --if-stale\n')
    expect(JSON.parse(stdout)).toEqual({ args: ['serve'], byLauncher: false })
    expect(exitCode).toBe(0)
  },
)

test('no other command builds the page', async () => {
  await stubPageBuild(0)
  expect((await ending(launch('24.11.0', ['serve']))).stderr).toBe('')
})

test('an old Node without the packaged one names the needed Node and how to get it, and fails', async () => {
  const { stdout, stderr, exitCode } = await ending(launch('20.20.2', ['serve']))
  expect(stdout).toBe('')
  expect(stderr).toContain('needs Node 24.11 or newer; this is Node 20.20.2')
  expect(stderr).toContain(`Run \`npm install\` in ${checkout}`)
  expect(exitCode).toBe(1)
})

/** The contents of an installed package: no sources, and the compiled program. */
async function compile(): Promise<void> {
  await rm(join(checkout, 'src'), { recursive: true })
  await mkdir(join(checkout, 'dist/src'), { recursive: true })
  await writeFile(
    join(checkout, 'dist/src/main.js'),
    'console.log(JSON.stringify(process.argv.slice(2)))',
  )
}

test('an installed package runs the compiled files', async () => {
  await compile()
  const { stdout, exitCode } = await ending(launch('24.11.0', ['key', 'list']))
  expect(JSON.parse(stdout)).toEqual(['key', 'list'])
  expect(exitCode).toBe(0)
})

test('an old Node names in one sentence the Node that an installed package needs', async () => {
  await compile()
  const { stdout, stderr, exitCode } = await ending(launch('20.20.2', ['serve']))
  expect(stdout).toBe('')
  expect(stderr).toBe(
    'tollgate needs Node 24.11 or newer; this is Node 20.20.2: install it from https://nodejs.org\n',
  )
  expect(exitCode).toBe(1)
})

test('the exit code of the handed-over program is the launcher’s', async () => {
  await installNode()
  expect(await ending(launch('20.20.2', ['exit', '7']))).toMatchObject({
    exitCode: 7,
    signal: null,
  })
})

test('a handed-over program that a signal kills ends the launcher by the same signal', async () => {
  await installNode()
  expect(await ending(launch('20.20.2', ['die']))).toMatchObject({
    exitCode: null,
    signal: 'SIGKILL',
  })
})

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s reaches the handed-over program once, and the launcher waits for its end',
  async (signal) => {
    await installNode()
    const child = launch('20.20.2', ['wait'])
    const ended = ending(child)
    // The stub says its first line once its signal handlers stand.
    await once(child.stdout ?? child, 'data')
    child.kill(signal)
    const { stdout, exitCode } = await ended
    expect(stdout.trim().split('\n').slice(1)).toEqual([signal])
    expect(exitCode).toBe(0)
  },
)

test('npx tollgate finds the launcher of the checkout', async () => {
  const child = spawn('npx', ['tollgate', '--help'], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { stdout, exitCode } = await ending(child)
  expect(stdout).toContain('Usage: tollgate')
  expect(exitCode).toBe(0)
})

test('the launcher asks for the Node that package.json asks for', async () => {
  const manifest: { engines: { node: string } } = JSON.parse(
    await readFile(join(repositoryRoot, 'package.json'), 'utf8'),
  )
  const launcher = await readFile(join(repositoryRoot, 'bin/tollgate.js'), 'utf8')
  const major = /NEEDED_MAJOR = (\d+)/.exec(launcher)?.[1]
  const minor = /NEEDED_MINOR = (\d+)/.exec(launcher)?.[1]
  expect(manifest.engines.node).toBe(`>=${major}.${minor}.0`)
})
