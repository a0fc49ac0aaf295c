import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bundled } from '../bundled.ts'
import { serve, tollgate } from '../tollgate-process.ts'

const program = bundled('tollgate')

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-dotenv-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function writeDotenv(text: string): void {
  writeFileSync(join(folder, '.env'), text)
}

test('settings of .env apply, and the environment overrides them', async () => {
  writeDotenv(`
    # comments, quotes and export are read as Node reads them
    export DATABASE_URL="sqlite:./from-dotenv.db"
  `)
  expect(await tollgate(['account', 'create', 'x'], { folder, program })).toMatchObject({ code: 0 })
  expect(existsSync(join(folder, 'from-dotenv.db'))).toBe(true)
  const env = { DATABASE_URL: 'sqlite:./from-environment.db' }
  expect(await tollgate(['account', 'create', 'x'], { folder, program, env })).toMatchObject({
    code: 0,
  })
  expect(existsSync(join(folder, 'from-environment.db'))).toBe(true)
})

test('the admin token can be in .env, also as the first setting of a file that begins with a byte order mark', async () => {
  writeDotenv('\uFEFFADMIN_API_TOKEN=token-from-dotenv\r\nLOG_LEVEL=info\r\n')
  const server = await serve({ folder, page: 'off', program })
  const answer = await request(`${server.address}/v1/admin/accounts`, {
    headers: { authorization: 'Bearer token-from-dotenv' },
  })
  await answer.body.dump()
  expect(answer.statusCode).toBe(200)
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('all faults of .env and the environment are reported at once, and nothing starts', async () => {
  writeDotenv('TOLLGATE_REQUESTS_PER_MINUTE=many\nTOLLGATE_KEY_TAGG=x\n')
  const { code, out, notes } = await tollgate(['serve'], { folder, program, env: { PORT: 'http' } })
  expect([code, out]).toEqual([1, ''])
  expect(notes).toBe(`tollgate: the environment cannot be used (docs/config.md has all settings):
  - PORT is "http": it must be a whole number, 0 to 65535
  - TOLLGATE_REQUESTS_PER_MINUTE is "many": it must be a whole number, 1 or more
  - TOLLGATE_KEY_TAGG is not a setting: did you mean TOLLGATE_KEY_TAG?
`)
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

test('a .env that cannot be read is reported', async () => {
  mkdirSync(join(folder, '.env'))
  const { code, notes } = await tollgate(['account', 'list'], { folder, program })
  expect(code).toBe(1)
  expect(notes).toContain('the file .env cannot be read')
})
