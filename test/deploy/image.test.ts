import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import {
  filesSent,
  type Instruction,
  isIn,
  lastStage,
  ROOT,
  readCopy,
  readImageRecipe,
  readWords,
} from './image-recipe.ts'
import { layOutImage, packagesToRun } from './image-tree.ts'

/** What the image is made of, and the image without a container around it. */

const recipe = readImageRecipe()
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-image-'))
  chmodSync(folder, 0o755)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function only(name: string): Instruction {
  const [found, ...more] = lastStage(recipe).filter((each) => each.name === name)
  if (found === undefined || more.length > 0) throw new Error(`not one ${name}`)
  return found
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    only('ENV')
      .rest.split(/\s+/)
      .map((pair) => pair.split('=', 2)),
  )
}

test('the image has the very Node that the tests run on', () => {
  const stages = recipe.filter(({ name }) => name === 'FROM')
  expect(stages.length).toBeGreaterThan(0)
  for (const { rest } of stages) {
    expect(rest).toMatch(new RegExp(`^node:${process.versions.node}-\\w+-slim( |$)`))
  }
})

test('whatever is copied is sent to the build, and nothing else; no tests, no secrets and no stores are', () => {
  const sent = filesSent()
  const sources = recipe
    .filter(({ name }) => name === 'COPY')
    .map(readCopy)
    .flatMap((copied) => (copied.stage === null ? copied.sources : []))
  expect(sources).toContain('src')
  for (const source of sources) {
    expect(
      sent.some((path) => isIn(path, [source])),
      source,
    ).toBe(true)
  }
  expect(sent.filter((path) => !isIn(path, sources))).toEqual([])
  expect(sent.filter((path) => /\.test\.ts$|\/testing\/|\.env|^data\//.test(path))).toEqual([])
})

test('no package of the image is one that only the build of the page or a test needs', () => {
  const { devDependencies }: { devDependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const packages = packagesToRun(recipe)
  expect(packages).toContain('node_modules/fastify')
  const tools = [...Object.keys(devDependencies), 'rolldown', 'lightningcss', 'esbuild']
  expect(tools.filter((name) => packages.includes(`node_modules/${name}`))).toEqual([])
})

test('the image runs as a user by number that is not root, with settings that exist', () => {
  expect(only('USER').rest).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  const config = readConfig(environment())
  expect(only('EXPOSE').rest).toBe(String(config.PORT))
  expect(config.HOST).toBe('0.0.0.0')
})

test('what the image holds serves, healthy, as another user on a tree that cannot be written', async () => {
  layOutImage(recipe, folder)
  const home = join(folder, only('WORKDIR').rest)
  mkdirSync(join(home, 'data'), { recursive: true })
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  if (isRoot) chownSync(join(home, 'data'), 65_534, 65_534)
  const env = { ...environment(), PATH: join(folder, 'usr/local/bin'), PORT: '0' }
  const start = (words: readonly string[], settings: Record<string, string>) => {
    const [program = '', ...args] = words.map((word) =>
      word.startsWith('/') ? join(folder, word) : word,
    )
    expect(program).toBe('node')
    return spawn(join(folder, 'usr/local/bin/node'), args, { cwd: home, env: settings, ...user })
  }

  const server = start(readWords(only('CMD')), env)
  const ended = once(server, 'exit')
  let notes = ''
  server.stderr.on('data', (chunk) => {
    notes += String(chunk)
  })
  const port = await portServed(server.stdout)
  expect(port, notes).not.toBe('')
  const apiKey = /sk-tollgate-\w+/.exec(notes)?.[0] ?? ''
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: '{"model":"sim/text","messages":[{"role":"user","content":"Hi"}]}',
  })
  await answer.text()
  expect(answer.status).toBe(200)

  const isHealthy = async (): Promise<boolean> => {
    const check = start(readWords(only('HEALTHCHECK')), { ...env, PORT: port })
    const [code] = await once(check, 'exit')
    return code === 0
  }
  expect(await isHealthy()).toBe(true)
  server.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(await isHealthy()).toBe(false)
  expect(readFileSync(join(home, 'data', 'simulator.db')).length).toBeGreaterThan(0)
  const write = `require('node:fs').writeFileSync('${join(folder, 'opt/tollgate/src/x.ts')}', '')`
  const [code] = await once(start(['node', '-e', write], env), 'exit')
  expect(code).toBe(1)
})

/** The port in the log line that says it serves; empty where the log ends without one. */
async function portServed(log: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: log })) {
    const entry: { address?: string } = JSON.parse(line)
    if (entry.address === undefined) continue
    log.resume()
    return new URL(entry.address).port
  }
  return ''
}
