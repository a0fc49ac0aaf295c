import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'undici'
import { beforeAll, expect } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import type { JsonValue } from '../../src/json/walk.ts'
import { getRequest, listRequests } from '../../src/ledger/activity/activity.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { startWorld, type TestAccount, type World, type WorldInput, worldOfFile } from '../world.ts'
import type { FormatRow } from './format-row.ts'
import { jsonOf, textAt } from './json-reading.ts'
import { DIALECT, SERVED_FORMATS, VENDOR } from './rows.ts'

/** A client's request on a row's path. */
export interface SendInput {
  /** Default the key of the file's payer. */
  readonly apiKey?: string
  /** Default the row's own request; text is sent as it is. */
  readonly body?: object | string | Buffer
  /** Adds `stream: true`. Default false. */
  readonly stream?: boolean
  /** Befalls this request upstream. */
  readonly fault?: Fault
  readonly headers?: Readonly<Record<string, string>>
  /** Behind the path. Default none. */
  readonly query?: string
}

/** The answer that the client got. */
export interface Answer {
  readonly httpStatus: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Undefined if the body is not JSON. */
  readonly json: JsonValue | undefined
  /** The charge in the answer, in micro-dollars; null: none. */
  readonly toldMicros: number | null
  readonly requestId: string
}

const CREDIT_MICROS = 100_000_000

/** A world that all tests of a file share, with their questions to it. */
export class Bench {
  readonly world: World
  /** The key of an account with credit, for all tests of a file; empty if the bench is not the file's. */
  apiKey = ''
  readonly #payers: TestAccount[] = []

  private constructor(world: World) {
    this.world = world
  }

  static async start(input: WorldInput = {}): Promise<Bench> {
    return new Bench(await startWorld(benchInput(input))).#withoutLookups()
  }

  /** One for all tests of a file or a `describe`. */
  static ofFile(input: WorldInput = {}): Bench {
    const bench = new Bench(worldOfFile(benchInput(input)))
    beforeAll(async () => {
      bench.#withoutLookups()
      bench.apiKey = (await bench.payer()).apiKey
    })
    return bench
  }

  /** No look-up finds anything: charges stay as the end of the request left them. */
  #withoutLookups(): this {
    this.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
    return this
  }

  /** A new account with credit and a key, whose ledger is audited at the end. */
  async payer(): Promise<TestAccount> {
    const account = await this.world.account({ creditMicros: CREDIT_MICROS })
    this.#payers.push(account)
    return account
  }

  /** Sends one request, and holds the answer to what every answer of an inference endpoint has. */
  async send(row: FormatRow, input: SendInput = {}): Promise<Answer> {
    const { apiKey = this.apiKey, fault, headers = {}, query = '' } = input
    if (fault !== undefined) this.world.simulator.script({ path: pathUpstream(row), ...fault })
    const sent = await request(this.world.url(row.path + query), {
      method: 'POST',
      headers: apiKey === '' ? headers : { authorization: `Bearer ${apiKey}`, ...headers },
      body: bodyOf(row, input),
    })
    const text = await sent.body.text()
    const answer = {
      httpStatus: sent.statusCode,
      headers: sent.headers,
      text,
      json: jsonOf(text),
      toldMicros: toldMicros(sent.headers),
      requestId: textAt({ id: sent.headers['x-request-id'] ?? null }, 'id'),
    }
    expectHeadersOfAny(row, answer)
    return answer
  }

  /** The request's row in Activity, once nothing is in flight; null: it is not there. */
  async activity({ requestId }: Answer): Promise<RequestRow | null> {
    await this.world.gateway.settled()
    return getRequest(this.world.gateway.store.db, requestId)
  }

  /** How many inference requests the provider has had: look-ups, which come at their own time, are none. */
  get forwardedCount(): number {
    return this.world.simulator.requests.filter(({ isInference }) => isInference).length
  }

  /** The code of the problem that a request was answered with, which messages does not show. */
  loggedCode({ requestId }: Answer): string {
    const line = this.world.log.findLast(
      (text) => text.includes(requestId) && text.includes('errorCode'),
    )
    return textAt(jsonOf(line ?? ''), 'errorCode')
  }

  /** Every payer's balance is the added credit less the charges in Activity, and the audit agrees. */
  async expectExactLedger(): Promise<void> {
    await this.world.gateway.settled()
    const { db } = this.world.gateway.store
    for (const { id } of this.#payers) {
      const { requests } = await listRequests(db, { accountId: id, limit: 100_000 })
      const chargedMicros = requests.reduce((sum, row) => sum + row.backedChargeMicros, 0)
      expect(await this.world.backedBalanceMicros(id)).toBe(CREDIT_MICROS - chargedMicros)
    }
    expect(await this.world.audit()).toMatchObject({ ok: true, differences: [] })
    expect(this.world.simulator.isScriptDone).toBe(true)
  }

  close(): Promise<void> {
    return this.world.close()
  }
}

function benchInput(input: WorldInput): WorldInput {
  return {
    formats: SERVED_FORMATS,
    ...(DIALECT === undefined ? {} : { dialect: DIALECT }),
    ...(VENDOR === undefined ? {} : { vendor: VENDOR }),
    ...input,
    // The tests' one key may ask as often as they like.
    settings: { TOLLGATE_REQUESTS_PER_MINUTE: '1000000', ...input.settings },
  }
}

/** The path of a format as the simulator names it. */
export function pathUpstream({ path, upstreamPath }: FormatRow): string {
  return upstreamPath ?? path.slice('/v1'.length)
}

function bodyOf(row: FormatRow, { body = row.body, stream = false }: SendInput): string | Buffer {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return body
  return JSON.stringify(stream ? { ...body, stream } : body)
}

function toldMicros(headers: IncomingHttpHeaders): number | null {
  const chargeHeader = headers['x-service-cost']
  if (chargeHeader === undefined) return null
  expect(chargeHeader).toMatch(/^\d+$/)
  return Number(chargeHeader)
}

function expectHeadersOfAny(
  row: FormatRow,
  { httpStatus, headers, requestId, toldMicros }: Answer,
) {
  expect(requestId).toMatch(/^req_[0-9a-z]{26}$/)
  expect(headers['request-id']).toBe(row.family === 'messages' ? requestId : undefined)
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  expect(toldMicros !== null).toBe(httpStatus === 200 && !isStream)
}
