import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { bundled } from './bundled.ts'
import { firstKey, serve, tollgate } from './tollgate-process.ts'

const shell = promisify(execFile)

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const { version: VERSION }: { readonly version: string } = JSON.parse(read('package.json'))

// The launcher and the page are in the first test; the others are of what a server says.
const program = bundled('tollgate')

test('on an empty folder the printed curl line completes a chat, the request list shows its charge, and GET /v1 its version', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-first-'))
  const server = await serve({ folder })
  const curl = /^ +(curl .*)$/m.exec(server.greeting)?.[1] ?? ''
  const { stdout } = await shell('sh', ['-c', curl])
  const chargeMicros = Number(/^x-service-cost: (\d+)\r$/m.exec(stdout)?.[1])
  const requestId = /^x-request-id: (req_\w+)\r$/m.exec(stdout)?.[1] ?? ''
  expect(stdout).toMatch(/^HTTP\/1\.1 200 /)
  expect(stdout).toContain('"object":"chat.completion"')
  expect(chargeMicros).toBeGreaterThan(0)
  const root = await fetch(`${server.address}/v1`)
  expect(await root.json()).toMatchObject({ version: VERSION })

  const list = await tollgate(['request', 'list'], { folder })
  expect(list.code, list.notes).toBe(0)
  const line = list.out.split('\n').find((row) => row.startsWith(requestId)) ?? ''
  expect(line).toMatch(new RegExp(`\\$0\\.${String(chargeMicros).padStart(6, '0')}$`))

  const apiKey = firstKey(server)
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

test('the package, the command, the changelog and its install line have one version', async () => {
  const version = VERSION
  expect((await tollgate(['--version'], { folder: tmpdir() })).out).toBe(`${version}\n`)
  expect(read('CHANGELOG.md')).toMatch(new RegExp(`^# Changelog\n\n## ${version} `))
  expect(read('compose.yaml')).toContain(`image: tollgate:${version}\n`)
  expect(read('docs/deploy.md')).toContain(`./tollgate-${version}.tgz\n`)
  const [major, minor] = version.split('.')
  expect(read('SECURITY.md')).toContain(`| ${major}.${minor} | yes |`)
})

test("a second server on the same store ends with a message that says what to do, and so does one that would open a simulator's store with a real upstream", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-second-'))
  const server = await serve({ folder, program })
  await expect(serve({ folder, program })).rejects.toThrow(
    /another tollgate serves from .*stop it first/,
  )
  await server.stop('SIGTERM')
  const env = {
    DATABASE_URL: 'sqlite:./data/simulator.db',
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    UPSTREAM_API_KEY: 'real',
  }
  await expect(serve({ folder, env, program })).rejects.toThrow(/simulator/)
  rmSync(folder, { recursive: true, force: true })
})

test('a server on a real upstream prints how to create an account only while none exists', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-live-'))
  const env = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1', UPSTREAM_API_KEY: 'real' }
  const first = await serve({ folder, env, program })
  expect(first.greeting).toContain('\n  tollgate account create "Ada Lovelace"\n')
  await first.stop('SIGTERM')
  await tollgate(['account', 'create', 'Ada'], { folder, env, program })
  const second = await serve({ folder, env, program })
  expect(second.greeting).not.toContain('account create')
  await second.stop('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

test('a server that npm or npx started prints its commands with npx, and any other server without', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-typed-'))
  const byNpx = { npm_lifecycle_event: 'npx' }
  const first = await serve({ folder, env: byNpx, program })
  expect(first.greeting).toContain('\n  npx tollgate request list\n')
  await first.stop('SIGTERM')
  const second = await serve({ folder, program })
  expect(second.greeting).toMatch(/\n {2}tollgate key create acct_\w+\n/)
  await second.stop('SIGTERM')
  const created = await tollgate(['account', 'create', 'Ada'], { folder, program })
  expect(created.notes).toContain('\n    tollgate credit add acct_')
  const createdByNpx = await tollgate(['account', 'create', 'Bob'], {
    folder,
    env: byNpx,
    program,
  })
  expect(createdByNpx.notes).toContain('\n    npx tollgate credit add acct_')
  rmSync(folder, { recursive: true, force: true })
})
