import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { serve, tollgate } from './tollgate-process.ts'

const shell = promisify(execFile)

test('on an empty folder the printed curl line completes a chat, and the request list shows its charge', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-first-'))
  const server = await serve({ folder })
  const curl = /^ +(curl .*)$/m.exec(server.greeting)?.[1] ?? ''
  const { stdout } = await shell('sh', ['-c', curl])
  const chargeMicros = Number(/^x-service-cost: (\d+)\r$/m.exec(stdout)?.[1])
  const requestId = /^x-request-id: (req_\w+)\r$/m.exec(stdout)?.[1] ?? ''
  expect(stdout).toMatch(/^HTTP\/1\.1 200 /)
  expect(stdout).toContain('"object":"chat.completion"')
  expect(chargeMicros).toBeGreaterThan(0)

  const list = await tollgate(['request', 'list'], { folder })
  expect(list.code, list.notes).toBe(0)
  const line = list.out.split('\n').find((row) => row.startsWith(requestId)) ?? ''
  expect(line).toMatch(new RegExp(`\\$0\\.${String(chargeMicros).padStart(6, '0')}$`))

  const apiKey = /sk-tollgate-[A-Za-z0-9]+/.exec(server.greeting)?.[0] ?? ''
  expect(readFileSync(join(folder, 'data', 'simulator.db')).includes(apiKey)).toBe(false)
  const token = /\/app\/setup#(\S+)/.exec(server.greeting)?.[1] ?? ''
  const person = { token, name: 'Ada', email: 'ada@example.org', password: 'a dozen characters' }
  const setUp = await fetch(`${server.address}/app/api/setup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.address },
    body: JSON.stringify(person),
  })
  expect(setUp.status, await setUp.text()).toBe(201)
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })

  const again = await serve({ folder })
  expect(again.greeting).not.toContain('sk-tollgate-')
  const [account = ''] = /acct_\w+/.exec(server.greeting) ?? []
  expect(again.greeting).toContain(`tollgate is ready at ${again.address}. `)
  expect(again.greeting).toContain(`\n  tollgate key create ${account}\n`)
  const page = `${again.address.replace('127.0.0.1', 'localhost')}/app`
  expect(again.greeting).toContain(`\nThe page: ${page}\n`)
  expect(await again.stop('SIGINT')).toEqual({ code: 0, signal: null })
  rmSync(folder, { recursive: true, force: true })
})

test('the package, the command, GET /v1, the changelog and its install line have one version', async () => {
  const root = join(import.meta.dirname, '..')
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const { version }: { version: string } = JSON.parse(read('package.json'))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-version-'))
  const server = await serve({ folder })
  const answer = await fetch(`${server.address}/v1`)
  expect(await answer.json()).toMatchObject({ version })
  await server.stop('SIGTERM')
  expect((await tollgate(['--version'], { folder })).out).toBe(`${version}\n`)
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^# Changelog\n\n## ${version} `))
  expect(read('compose.yaml')).toContain(`image: tollgate:${version}\n`)
  expect(read('docs/deploy.md')).toContain(`./tollgate-${version}.tgz\n`)
  const [major, minor] = version.split('.')
  expect(read('SECURITY.md')).toContain(`| ${major}.${minor} | yes |`)
  rmSync(folder, { recursive: true, force: true })
})

test('a second server on the same store ends with a message that says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-second-'))
  const server = await serve({ folder })
  await expect(serve({ folder })).rejects.toThrow(/another tollgate serves from .*stop it first/)
  await server.stop('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

test('a server on a real upstream prints how to create an account only while none exists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-live-'))
  const env = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1', UPSTREAM_API_KEY: 'real' }
  const first = await serve({ folder, env })
  expect(first.greeting).toContain('\n  tollgate account create "Ada Lovelace"\n')
  await first.stop('SIGTERM')
  await tollgate(['account', 'create', 'Ada'], { folder, env })
  const second = await serve({ folder, env })
  expect(second.greeting).not.toContain('account create')
  await second.stop('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

test('a server that npm or npx started prints its commands with npx, and any other server without', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-typed-'))
  const byNpx = { npm_lifecycle_event: 'npx' }
  const first = await serve({ folder, env: byNpx })
  expect(first.greeting).toContain('\n  npx tollgate request list\n')
  await first.stop('SIGTERM')
  const second = await serve({ folder })
  expect(second.greeting).toMatch(/\n {2}tollgate key create acct_\w+\n/)
  await second.stop('SIGTERM')
  const created = await tollgate(['account', 'create', 'Ada'], { folder })
  expect(created.notes).toContain('\n    tollgate credit add acct_')
  const createdByNpx = await tollgate(['account', 'create', 'Bob'], { folder, env: byNpx })
  expect(createdByNpx.notes).toContain('\n    npx tollgate credit add acct_')
  rmSync(folder, { recursive: true, force: true })
})

test("a simulator's store is never opened with a real upstream", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-play-'))
  const server = await serve({ folder })
  await server.stop('SIGTERM')
  const env = {
    DATABASE_URL: 'sqlite:./data/simulator.db',
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    UPSTREAM_API_KEY: 'real',
  }
  await expect(serve({ folder, env })).rejects.toThrow(/simulator/)
  rmSync(folder, { recursive: true, force: true })
})
