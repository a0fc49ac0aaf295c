import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import Anthropic, { PaymentRequiredError } from '@anthropic-ai/sdk'
import OpenAI, { APIError } from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { micros } from '../src/vocabulary/money.ts'
import { failureOf } from './clients/failure.ts'
import { worldOfFile } from './world.ts'

const MIB = 1024 * 1024

const world = worldOfFile()

const bodyOf = (bytes: number): string => {
  const body = JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] })
  return body + ' '.repeat(bytes - body.length)
}

async function post(apiKey: string, init: RequestInit): Promise<[number, string | null]> {
  const answer = await fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    ...init,
    headers: { 'x-api-key': apiKey, ...init.headers },
  })
  const { error } = JSON.parse(await answer.text())
  return [answer.status, error?.code ?? null]
}

function streamed(text: string): RequestInit {
  const body = new Blob([text]).stream()
  return { body, duplex: 'half' }
}

describe('an account without credit', () => {
  let apiKey: string
  beforeAll(async () => {
    apiKey = (await world.account({ creditMicros: 0 })).apiKey
  })

  test('sees 402 in the official OpenAI client when it sends 20 MB, and no reset', async () => {
    const client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
    const content = 'a'.repeat(20 * MIB)
    const call = client.chat.completions.create({
      model: 'sim/text',
      messages: [{ role: 'user', content }],
    })
    const error = await failureOf(APIError, call)
    expect([error.status, error.code]).toEqual([402, 'insufficient_credit'])
    expect(error.message).toContain('was not read')
  })

  test('sees 402 in the official Anthropic client when it sends 20 MB, and no reset', async () => {
    const client = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
    const content = 'a'.repeat(20 * MIB)
    const call = client.messages.create({
      model: 'sim/text',
      max_tokens: 10,
      messages: [{ role: 'user', content }],
    })
    const error = await failureOf(PaymentRequiredError, call)
    expect([error.status, error.type]).toEqual([402, 'billing_error'])
    expect(error.message).toContain('was not read')
  })

  test('is answered 402 before the body that it declares as large has arrived', async () => {
    const answer = await answerBeforeBody(`x-api-key: ${apiKey}\r\ncontent-length: ${20 * MIB}`)
    expect(answer).toMatch(/^HTTP\/1\.1 402 /)
    expect(answer).toContain('"code":"insufficient_credit"')
  })

  test('is answered 413 if the length is over the limit', async () => {
    const answer = await answerBeforeBody(`x-api-key: ${apiKey}\r\ncontent-length: ${33 * MIB}`)
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  })

  test.each([
    ['that is chunked', () => streamed(`{"no JSON${' '.repeat(MIB)}`)],
    [
      'that gzip makes small',
      () => ({
        body: gzipSync(`{"no JSON${' '.repeat(MIB)}`),
        headers: { 'content-encoding': 'gzip' },
      }),
    ],
  ])('is answered 402 as soon as a body turns out to be large %s', async (_, init) => {
    expect(await post(apiKey, init())).toEqual([402, 'insufficient_credit'])
  })

  test('gets bodies of up to 64 KB read, and an answer about their content', async () => {
    expect(await post(apiKey, { body: `{"no JSON${' '.repeat(64 * 1024 - 9)}` })).toEqual([
      400,
      'invalid_json',
    ])
  })

  test('gets large bodies read as soon as it has credit', async () => {
    const account = await world.account({ creditMicros: 0 })
    const body = bodyOf(MIB)
    expect(await post(account.apiKey, { body })).toEqual([402, 'insufficient_credit'])
    await world.gateway.ledger.addCredit({
      accountId: account.id,
      purse: 'backed',
      amountMicros: micros(1_000_000),
      expiresAtMs: null,
      reference: 'later',
    })
    expect(await post(account.apiKey, { body })).toEqual([200, null])
    expect(await post(account.apiKey, streamed(body))).toEqual([200, null])
  })
})

/** The answer to a head with these headers while no byte of the body is sent. */
function answerBeforeBody(headers: string): Promise<string> {
  const { hostname, port } = new URL(world.gateway.address)
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname)
    let text = ''
    socket.on('error', reject)
    socket.on('data', (part) => {
      text += String(part)
      if (!text.endsWith('}}')) return
      socket.destroy()
      resolve(text)
    })
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`)
  })
}
