import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { registerPageFiles } from './page-routes.ts'

const SCRIPT = `console.log(${'1 + '.repeat(500)} 1)`
const HTML = '<!doctype html>\n<html lang="en"><head></head></html>\n'

let folder: string
let app: FastifyInstance
let address: string

beforeEach(async () => {
  folder = join(mkdtempSync(join(tmpdir(), 'tollgate-page-')), 'web')
  app = Fastify()
  registerPageFiles(app, folder)
  address = await app.listen({ port: 0 })
})
afterEach(async () => {
  await app.close()
  rmSync(join(folder, '..'), { recursive: true, force: true })
})

function build(): void {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), HTML)
  writeFileSync(join(folder, 'icon.svg'), '<svg/>')
  writeFileSync(join(folder, '..', 'secret.txt'), 'nothing of the page')
  const script = join(folder, 'assets', 'main-a1b2.js')
  writeFileSync(script, SCRIPT)
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT))
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT))
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(`${address}${path}`, { headers })
  return { httpStatus: answer.status, headers: answer.headers, text: await answer.text() }
}

test('without a build each path answers which command to run, and a build is found without a restart', async () => {
  const { httpStatus, text } = await get('/app')
  expect([httpStatus, text]).toEqual([503, expect.stringContaining('node web/build.ts')])
  build()
  expect((await get('/app')).text).toBe(HTML)
})

describe('a built page', () => {
  beforeEach(build)

  test('runs and shows only files of this server, and cannot be put in a frame', async () => {
    for (const path of ['/app', '/app/assets/main-a1b2.js', '/app/icon.svg']) {
      const { headers } = await get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    }
  })

  test('is index.html at every path that is not a file, so that the page has its own routes', async () => {
    for (const path of ['/app', '/app/', '/app/keys', '/app/activity?from=1', '/app/index.html']) {
      const { httpStatus, text, headers } = await get(path)
      expect([httpStatus, text]).toEqual([200, HTML])
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-cache')
    }
  })

  test('has the theme of the cookie in index.html, and no other text of it', async () => {
    const dark = await get('/app', { cookie: 'a=b; theme=dark' })
    expect(dark.text).toContain('<html lang="en" data-theme="dark">')
    const other = await get('/app', { cookie: 'theme="><script>alert(1)</script>' })
    expect(other.text).toBe(HTML)
    const etags = [dark, other].map(({ headers }) => headers.get('etag'))
    expect(new Set(etags).size).toBe(2)
  })

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['identity', null],
  ])('sends a script to a browser that takes %s as %s', async (accepted, encoding) => {
    const answer = await get('/app/assets/main-a1b2.js', { 'accept-encoding': accepted })
    expect(answer.text).toBe(SCRIPT)
    expect(answer.headers.get('content-encoding')).toBe(encoding)
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(answer.headers.get('vary')).toBe('accept-encoding')
  })

  test('lets browsers cache files whose names change with their bytes, and revalidate others', async () => {
    const script = await get('/app/assets/main-a1b2.js')
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const icon = await get('/app/icon.svg')
    expect(icon.headers.get('cache-control')).toBe('no-cache')
    const etag = icon.headers.get('etag') ?? ''
    expect((await get('/app/icon.svg', { 'if-none-match': etag })).httpStatus).toBe(304)
  })

  test('answers 404 for a script of an earlier build, and not a page in its place', async () => {
    expect((await get('/app/assets/main-old.js')).httpStatus).toBe(404)
  })

  test.each([
    '/app/../secret.txt',
    '/app/%2e%2e/secret.txt',
    '/app/..%2fsecret.txt',
    '/app//etc/passwd',
  ])('never sends a file outside of its folder: %s', async (path) => {
    const { port } = new URL(address)
    const asked = request({ port, path }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const text = Buffer.concat(await answer.toArray()).toString()
    expect([200, 404]).toContain(answer.statusCode)
    expect(text).not.toContain('nothing of the page')
    if (answer.statusCode === 200) expect(text).toBe(HTML)
  })
})
