import { type Dispatcher, request } from 'undici'
import { describe, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'

/** Responses without a key: each is made once, and a client that has it gets 304. */

const world = worldOfFile()

const PATHS = ['/v1', '/v1/models', '/v1/models/sim/text', '/docs', '/openapi.json'] as const

async function ask(
  path: string,
  {
    method = 'GET',
    ifNoneMatch,
  }: { readonly method?: Dispatcher.HttpMethod; readonly ifNoneMatch?: string } = {},
) {
  const answer = await request(world.url(path), {
    method,
    headers: ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch },
  })
  const { statusCode: httpStatus, headers } = answer
  return { httpStatus, headers, etag: String(headers['etag']), text: await answer.body.text() }
}

describe.each(PATHS)('GET %s', (path) => {
  test('has a strong entity tag, the same until its content changes', async () => {
    const first = await ask(path)
    const second = await ask(path)
    expect(first.httpStatus).toBe(200)
    expect(first.etag).toMatch(/^"[\w-]{20,}"$/)
    expect(second.etag).toBe(first.etag)
    expect(second.text === first.text).toBe(true)
    expect(first.headers['content-length']).toBe(String(Buffer.byteLength(first.text)))
    expect(first.headers['cache-control']).toBe('no-cache')
  })

  test('is 304 without a body to a client that has it', async () => {
    const { etag } = await ask(path)
    for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, `"other",W/${etag}`, '*']) {
      const answer = await ask(path, { ifNoneMatch })
      expect([answer.httpStatus, answer.text.length], ifNoneMatch).toEqual([304, 0])
      expect(answer.etag).toBe(etag)
      expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
    }
  })

  test('is sent whole to a client with another tag', async () => {
    const { etag, text } = await ask(path)
    for (const ifNoneMatch of ['"other"', etag.slice(1, -1), `${etag.slice(0, -1)}x"`, '', '"*"']) {
      const answer = await ask(path, { ifNoneMatch })
      expect([answer.httpStatus, answer.text === text], ifNoneMatch).toEqual([200, true])
    }
  })

  test('has the same headers for HEAD, and no body', async () => {
    const { headers, etag } = await ask(path)
    const head = await ask(path, { method: 'HEAD' })
    expect([head.httpStatus, head.text, head.etag]).toEqual([200, '', etag])
    for (const name of ['content-type', 'content-length', 'cache-control']) {
      expect(head.headers[name], name).toBe(headers[name])
    }
    const known = await ask(path, { method: 'HEAD', ifNoneMatch: etag })
    expect([known.httpStatus, known.text]).toEqual([304, ''])
  })
})

test('each of them has its own tag', async () => {
  const tags = await Promise.all(PATHS.map(async (path) => (await ask(path)).etag))
  expect(new Set(tags).size).toBe(PATHS.length)
})

test('a model has one tag, by any of its names', async () => {
  const { etag, text } = await ask('/v1/models/sim/text')
  expect(await ask('/v1/models/SIM/Text')).toMatchObject({ etag, text })
})
