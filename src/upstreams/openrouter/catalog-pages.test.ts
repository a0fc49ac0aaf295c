import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { wholeRequest } from '../../../test/raw-server.ts'
import { UpstreamRefusesAccount } from '../provider-records.ts'
import { closeOpened, serverThat, upstreamAt } from '../testing/attempts.ts'
import type { Upstream } from '../upstream.ts'
import { fetchImageEndpoints, fetchModels } from './catalog.ts'

afterEach(closeOpened)

let upstream: Upstream
let asked: string[]
let answer: string
/** The answers to the requests after the first one. */
let further: string[]

beforeEach(async () => {
  asked = []
  further = []
  const { baseUrl } = await serverThat(async (socket) => {
    asked.push(await wholeRequest(socket))
    socket.end(asked.length === 1 ? answer : (further.shift() ?? answer))
  })
  upstream = upstreamAt(baseUrl)
})

function http(httpStatus: string, body: string): string {
  return `HTTP/1.1 ${httpStatus}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

function answering(httpStatus: string, body: string): void {
  answer = http(httpStatus, body)
}

/** The requested targets. */
function targets(): string[] {
  return asked.map((head) => head.split(' ')[1] ?? '')
}

function page(ids: readonly string[], next: unknown): string {
  return JSON.stringify({ data: ids.map((id) => ({ id })), links: { next } })
}

describe('the list of models', () => {
  test('is requested with every kind of output and our own key', async () => {
    answering('200 OK', '{"data":[]}')
    expect(await fetchModels(upstream)).toEqual({ data: [] })
    expect(asked[0]).toMatch(/^GET \/v1\/models\?output_modalities=all HTTP\/1\.1\r\n/)
    expect(asked[0]).toMatch(/^authorization: Bearer key\r$/m)
  })

  test.each([
    ['401 Unauthorized', 'it does not know the API key'],
    ['402 Payment Required', "the provider's account has no credit left"],
  ])(
    'that is answered %s is reported as a refusal of our own account, with the reason',
    async (httpStatus, why) => {
      answering(httpStatus, '{"error":{"message":"LEAK"}}')
      const error = await fetchModels(upstream).catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(UpstreamRefusesAccount)
      expect(String(error)).toContain(httpStatus.slice(0, 3))
      expect(String(error)).toContain(why)
      expect(String(error)).not.toContain('LEAK')
    },
  )

  test.each<[string, string]>([
    ['500 Bad', '{"data":[]}'],
    ['302 Found', '{"data":[]}'],
    ['200 OK', '<html>'],
    ['200 OK', ''],
  ])('that is answered %s %j is refused', async (httpStatus, body) => {
    answering(httpStatus, body)
    await expect(fetchModels(upstream)).rejects.toThrow()
  })

  test('in pages is read to the last one, at our own address', async () => {
    answering('200 OK', page(['a/1'], '/api/v1/models?output_modalities=all&offset=1&limit=1'))
    further = [
      http('200 OK', page(['a/2'], 'https://elsewhere.example/v1/models?offset=2&limit=1')),
      http('200 OK', page(['a/3'], null)),
    ]
    expect(await fetchModels(upstream)).toEqual({
      data: [{ id: 'a/1' }, { id: 'a/2' }, { id: 'a/3' }],
    })
    expect(targets()).toEqual([
      '/v1/models?output_modalities=all',
      '/v1/models?output_modalities=all&offset=1&limit=1',
      '/v1/models?offset=2&limit=1&output_modalities=all',
    ])
  })

  test.each<[string, string]>([
    ['fails', http('500 Bad', '{}')],
    ['is not a list', http('200 OK', '{"data":null}')],
  ])('of which a page %s is refused', async (_, second) => {
    answering('200 OK', page(['a/1'], '?offset=1'))
    further = [second]
    await expect(fetchModels(upstream)).rejects.toThrow()
  })

  test.each([[7], [''], ['/v1/models'], ['http://[']])(
    'whose next page is the invalid address %j is refused',
    async (next) => {
      answering('200 OK', page(['a/1'], next))
      await expect(fetchModels(upstream)).rejects.toThrow()
      expect(asked).toHaveLength(1)
    },
  )

  test('whose pages never end is refused', async () => {
    answering('200 OK', page(['a/1'], '?offset=1'))
    await expect(fetchModels(upstream)).rejects.toThrow()
    expect(asked).toHaveLength(20)
  })

  test.each([[undefined], [null], [{}], [{ next: null }]])(
    'with links of %j is complete',
    async (links) => {
      answering('200 OK', JSON.stringify({ data: [], links }))
      expect(await fetchModels(upstream)).toMatchObject({ data: [] })
      expect(asked).toHaveLength(1)
    },
  )

  test('has ten seconds for all of its pages together', async () => {
    const allowedMs: number[] = []
    const slow = {
      async getJson(_: string, { timeoutMs }: { readonly timeoutMs: number }) {
        allowedMs.push(timeoutMs)
        const untilMs = performance.now() + 5
        while (performance.now() < untilMs);
        return { httpStatus: 200, json: JSON.parse(page(['a/1'], '/models?offset=1')) }
      },
    } as unknown as Upstream
    await expect(fetchModels(slow)).rejects.toThrow('does not end')
    expect(allowedMs[0]).toBeLessThanOrEqual(10_000)
    // Each page took 5 ms or more of the time of the next.
    for (const [place, ms] of allowedMs.slice(1).entries()) {
      expect(ms).toBeLessThanOrEqual((allowedMs[place] ?? 0) - 4)
    }
  })

  test('that breaks off is refused', async () => {
    answer = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"data":[]}'
    await expect(fetchModels(upstream)).rejects.toThrow()
  })
})

describe("an image model's prices", () => {
  test('are requested by its id, with any characters', async () => {
    answering('200 OK', '{"endpoints":[]}')
    expect(await fetchImageEndpoints(upstream, 'acme/draw one?x#y')).toEqual({ endpoints: [] })
    expect(asked[0]).toMatch(/^GET \/v1\/images\/models\/acme\/draw%20one%3Fx%23y\/endpoints HTTP/)
  })

  test('are null if the upstream has no such page', async () => {
    answering('404 Not Found', '{}')
    expect(await fetchImageEndpoints(upstream, 'acme/draw')).toBeNull()
  })

  test('are unknown for any other answer', async () => {
    answering('503 Busy', '{}')
    await expect(fetchImageEndpoints(upstream, 'acme/draw')).rejects.toThrow('503')
  })
})

describe('a request of the gateway itself', () => {
  const bounds = { timeoutMs: 60_000, bytesMax: 10 }

  test('is aborted if the answer is above its limit', async () => {
    answering('200 OK', '12345678901')
    await expect(upstream.getBytes('/x', bounds)).rejects.toThrow('over 10 bytes')
    answering('200 OK', '1234567890')
    expect((await upstream.getBytes('/x', bounds)).bytes.toString()).toBe('1234567890')
  })

  test('is aborted if the answer takes too long, before it begins or in its middle', async () => {
    for (const begun of ['', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n1']) {
      const silent = await serverThat((socket) => socket.write(begun))
      const slow = upstreamAt(silent.baseUrl)
      await expect(slow.getBytes('/x', { timeoutMs: 20, bytesMax: 10 })).rejects.toThrow()
    }
  })

  test('is aborted by its signal', async () => {
    const silent = await serverThat(() => {})
    const left = new AbortController()
    const asking = upstreamAt(silent.baseUrl).getBytes('/x', { ...bounds, signal: left.signal })
    left.abort()
    await expect(asking).rejects.toThrow()
  })
})
