import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Puts a Node where the npm package `node` puts one. */
async function installNode(): Promise<void> {
  const folder = join(checkout, 'node_modules/node/bin')
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'node'),
    `#!/bin/sh\nBY_INSTALLED_NODE=yes exec '${process.execPath}' "$@"\n`,
  )
  await chmod(join(folder, 'node'), 0o755)
}

/** Starts the launcher on a Node that says it is of the given version. */
function launch(nodeVersion: string, args: readonly string[]): ChildProcess {
  const disguise = `Object.defineProperty(process, 'versions', { value: { node: '${nodeVersion}' } })`
  return spawn(
    process.execPath,
    ['--import', `data:text/javascript,${disguise}`, join(checkout, 'bin/tollgate.js'), ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
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

test('an old Node alone says which Node is needed and how to get it, and fails', async () => {
  const { stdout, stderr, exitCode } = await ending(launch('20.20.2', ['serve']))
  expect(stdout).toBe('')
  expect(stderr).toContain('needs Node 24.11 or newer; this is Node 20.20.2')
  expect(stderr).toContain(`Run \`npm install\` in ${checkout}`)
  expect(exitCode).toBe(1)
})

/** What an installed package has: no sources, and the program as it was compiled. */
async function compile(): Promise<void> {
  await rm(join(checkout, 'src'), { recursive: true })
  await mkdir(join(checkout, 'dist/src'), { recursive: true })
  await writeFile(
    join(checkout, 'dist/src/main.js'),
    'console.log(JSON.stringify(process.argv.slice(2)))',
  )
}

test('an installed package runs what was compiled', async () => {
  await compile()
  const { stdout, exitCode } = await ending(launch('24.11.0', ['key', 'list']))
  expect(JSON.parse(stdout)).toEqual(['key', 'list'])
  expect(exitCode).toBe(0)
})

test('an old Node says in one sentence which Node an installed package needs', async () => {
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
