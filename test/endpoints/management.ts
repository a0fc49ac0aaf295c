import { type Dispatcher, request } from 'undici'
import { afterAll, expect } from 'vitest'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/json/walk.ts'
import { startWorld, type World, type WorldInput, worldOfEach, worldOfFile } from '../world.ts'

export const ADMIN_TOKEN = 'a-token-for-tests-alone'

/** The answer of a management endpoint. */
export interface Answer {
  readonly httpStatus: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly json: JsonObject
}

export interface Call {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: object | string
  /** Default the admin's; null: none is sent. */
  readonly token?: string | null
}

/** A world whose admin API is on. */
export class Management {
  readonly world: World

  private constructor(world: World) {
    this.world = world
  }

  static async start(input: WorldInput = {}): Promise<Management> {
    return new Management(await startWorld(withToken(input)))
  }

  /** One for all tests of a file, after which its ledger must be exact. */
  static ofFile(input: WorldInput | (() => WorldInput) = {}): Management {
    const world = worldOfFile(() => withToken(typeof input === 'function' ? input() : input))
    afterAll(async () => {
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })
    return new Management(world)
  }

  /** One of its own for each test. */
  static ofEach(input: WorldInput = {}): Management {
    return new Management(worldOfEach(withToken(input)))
  }

  /** Sends a call and reads its answer, which has a request id whatever it is. */
  async call({ method, path, body, token = ADMIN_TOKEN }: Call): Promise<Answer> {
    const answer = await request(this.world.url(path), {
      method,
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const { statusCode: httpStatus, headers } = answer
    const json: JsonObject = JSON.parse(await answer.body.text())
    expect(headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
    return { httpStatus, headers, json }
  }

  get(path: string, token: string | null = ADMIN_TOKEN): Promise<Answer> {
    return this.call({ method: 'GET', path, token })
  }

  post(path: string, body: object | string): Promise<Answer> {
    return this.call({ method: 'POST', path, body })
  }

  patch(path: string, body: object): Promise<Answer> {
    return this.call({ method: 'PATCH', path, body })
  }

  /** Makes an account; with credit where micro-dollars are given. Answers its id. */
  async account(creditMicros = 0): Promise<string> {
    const made = await this.post('/v1/admin/accounts', { name: 'test' })
    expect(made.httpStatus).toBe(201)
    const id = textOf(made.json, 'id')
    if (creditMicros !== 0) {
      const added = await this.credit(id, { amountMicros: creditMicros, reference: 'first' })
      expect(added.httpStatus).toBe(201)
    }
    return id
  }

  /** Adds paid credit. */
  credit(
    accountId: string,
    { amountMicros, reference }: { readonly amountMicros: number; readonly reference: string },
  ): Promise<Answer> {
    const body = { kind: 'backed', amount: amountMicros, reference }
    return this.post(`/v1/admin/accounts/${accountId}/credit`, body)
  }

  /** Makes a key of an account. */
  async apiKey(accountId: string): Promise<{ readonly id: string; readonly text: string }> {
    const made = await this.post(`/v1/admin/accounts/${accountId}/keys`, { name: 'test' })
    expect(made.httpStatus).toBe(201)
    return { id: textOf(made.json, 'id'), text: textOf(made.json, 'key') }
  }

  /** Makes an account without credit, and a key of it. */
  async buyer(): Promise<{ readonly accountId: string; readonly apiKey: string }> {
    const accountId = await this.account()
    return { accountId, apiKey: (await this.apiKey(accountId)).text }
  }

  /** Sends a chat that the simulator answers. */
  async chat(apiKey: string): Promise<Answer> {
    const messages = [{ role: 'user', content: 'Say hello.' }]
    const body = { model: 'sim/text', max_tokens: 16, messages }
    return this.call({ method: 'POST', path: '/v1/chat/completions', body, token: apiKey })
  }

  close(): Promise<void> {
    return this.world.close()
  }
}

function withToken(input: WorldInput): WorldInput {
  return { ...input, settings: { ADMIN_API_TOKEN: ADMIN_TOKEN, ...input.settings } }
}

/** A text in an answer. */
export function textOf(json: JsonObject, name: string): string {
  const value = json[name]
  if (typeof value !== 'string') throw new Error(`${name} is ${JSON.stringify(value)}`)
  return value
}

/** The expected error, in the OpenAI-style envelope. */
export function errorOf(code: string, param: string | null = null): object {
  return { error: { code, param, type: expect.any(String), message: expect.any(String) } }
}

/** The answer of a refused call, without its headers. */
export function refusal(httpStatus: number, code: string, param: string | null = null): object {
  return expect.objectContaining({ httpStatus, json: errorOf(code, param) })
}

/** The values of a field of a page's items. */
export function column({ json }: Answer, name: string): JsonValue[] {
  const items = json['data']
  if (!Array.isArray(items)) throw new Error('not a list')
  return items.map((item) => (isJsonObject(item) ? (item[name] ?? null) : null))
}
