import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import type { WebhookDeliveryRow, WebhookRow } from '../store/webhook-tables.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { Deliverer, sendMessage } from './deliverer.ts'
import {
  addMessage,
  listDeliveries,
  RETRY_WAITS_MS,
  recordAttempt,
  takeMessage,
} from './deliveries.ts'
import { createWebhook, getWebhook } from './registry.ts'
import { AddressRules, type Resolve } from './target.ts'
import { type Receiver, startReceiver } from './testing/receiver.ts'

const LOOPBACK = [{ address: '127.0.0.1', family: 4 }] as const
const rules = new AddressRules(['127.0.0.1'])

let bench: StoreBench
let receivers: Receiver[]
let deliverers: Deliverer[]

async function receive(answer: (response: ServerResponse) => void): Promise<Receiver> {
  const receiver = await startReceiver(answer)
  receivers.push(receiver)
  return receiver
}

function answering(httpStatus: number, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => void response.writeHead(httpStatus, headers).end('thanks')
}

function deliverer(
  input: {
    readonly resolve?: Resolve
    readonly rules?: AddressRules
    readonly timeoutMs?: number
    readonly random?: () => number
  } = {},
) {
  const made = new Deliverer({
    db: bench.db,
    clock: bench.clock,
    rules,
    resolve: async () => LOOPBACK,
    random: () => 0,
    onAttempt: () => {},
    onFailure: (cause) => {
      throw cause
    },
    // Far above what a busy machine needs, where no test waits for it.
    timeoutMs: HOUR_MS,
    ...input,
  })
  deliverers.push(made)
  return made
}

async function deliverAll(sender = deliverer()): Promise<void> {
  await sender.begin()
  await sender.idle()
}

function webhookTo(url: string): Promise<WebhookRow> {
  const made = { url, events: ['balance.low'], by: null } as const
  return createWebhook(bench, made)
}

async function message(webhook: WebhookRow) {
  const fields = { account_id: 'acct_1' }
  const made = {
    ids: bench.ids,
    nowMs: bench.nowMs,
    webhook,
    event: 'balance.low',
    fields,
  } as const
  const row = await addMessage(bench.db, made)
  if (row === null) throw new Error('too many wait')
  return row
}

async function deliveryOf({ webhookId, id }: WebhookDeliveryRow): Promise<WebhookDeliveryRow> {
  const page = await listDeliveries(bench.db, { webhookId, cursor: null, limit: 100 })
  const found = page.rows.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no delivery ${id}`)
  return found
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    receivers = []
    deliverers = []
    bench = await open()
    bench.nowMs = Date.now()
  })
  afterEach(async () => {
    for (const each of deliverers) await each.stop()
    for (const each of receivers) await each.close()
    await bench.close()
  })

  test('a message is posted once, signed so that the library of Standard Webhooks accepts it', async () => {
    const receiver = await receive(answering(204))
    const webhook = await webhookTo(receiver.url)
    const sent = await message(webhook)
    await deliverAll()
    await deliverAll()
    const [got, ...more] = receiver.received
    expect(more).toEqual([])
    expect(got?.path).toBe('/hook?of=mine')
    expect(got?.headers).toMatchObject({
      host: `receiver.example:${receiver.port}`,
      'content-type': 'application/json',
      'webhook-id': sent.id,
      'webhook-timestamp': String(Math.floor(bench.nowMs / 1_000)),
    })
    expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const headers = Object.fromEntries(
      Object.entries(got?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    expect(new Webhook(webhook.secret).verify(got?.body ?? '', headers)).toEqual({
      type: 'balance.low',
      timestamp: new Date(bench.nowMs).toISOString(),
      data: { account_id: 'acct_1' },
    })
    const forged = () => new Webhook(webhook.secret).verify(`${got?.body} `, headers)
    expect(forged).toThrow()
    expect(await deliveryOf(sent)).toMatchObject({ state: 'delivered', attempts: 1, failure: null })
  })

  test('messages that fail together are sent again at different times, up to a tenth after their wait', async () => {
    const receiver = await receive(answering(500))
    const webhook = await webhookTo(receiver.url)
    const [early, late] = [await message(webhook), await message(webhook)]
    const chances = [0.5, 0.999]
    await deliverAll(deliverer({ random: () => chances.shift() ?? 0 }))
    const delays = [await deliveryOf(early), await deliveryOf(late)]
    const [waitMs = 0] = RETRY_WAITS_MS
    expect(delays.map(({ nextAttemptAtMs }) => nextAttemptAtMs - bench.nowMs).toSorted()).toEqual([
      waitMs * 1.05,
      Math.floor(waitMs * 1.0999),
    ])
  })

  test('a message that fails is sent again with the same ID after each wait, then dropped', async () => {
    const receiver = await receive(answering(500))
    const sent = await message(await webhookTo(receiver.url))
    for (const [place, waitMs] of RETRY_WAITS_MS.entries()) {
      await deliverAll()
      expect(receiver.received.length).toBe(place + 1)
      expect(await deliveryOf(sent)).toMatchObject({
        state: 'waiting',
        attempts: place + 1,
        httpStatus: 500,
        nextAttemptAtMs: bench.nowMs + waitMs,
      })
      bench.nowMs += waitMs - 1
      await deliverAll()
      expect(receiver.received.length).toBe(place + 1)
      bench.nowMs += 1
    }
    await deliverAll()
    expect(await deliveryOf(sent)).toMatchObject({ state: 'failed', endedAtMs: bench.nowMs })
    bench.nowMs += 100 * HOUR_MS
    await deliverAll()
    expect(receiver.received.length).toBe(RETRY_WAITS_MS.length + 1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([sent.id]),
    )
    const spanMs = RETRY_WAITS_MS.reduce((sum, waitMs) => sum + waitMs, 0)
    expect(spanMs).toBeGreaterThan(24 * HOUR_MS)
  })

  test('a receiver that hangs delays no other receiver, and its attempt ends at the deadline', async () => {
    const hanging = await receive(() => {})
    const quick = await receive(answering(200))
    const stuck: WebhookDeliveryRow[] = []
    const toHanging = await webhookTo(hanging.url)
    for (let count = 0; count < 10; count++) stuck.push(await message(toHanging))
    const toQuick = await webhookTo(quick.url)
    const fast = [await message(toQuick), await message(toQuick)]
    const sender = deliverer()
    await sender.begin()
    for (const each of fast) {
      while ((await deliveryOf(each)).state !== 'delivered');
    }
    expect((await deliveryOf(stuck[0] as WebhookDeliveryRow)).attempts).toBe(0)
    await sender.stop()
    await deliverAll(deliverer({ timeoutMs: 50 }))
    const ended = await Promise.all(stuck.map(deliveryOf))
    const late = ended.filter(({ failure }) => failure === 'did not answer in time')
    expect(late.length).toBeGreaterThan(3)
    expect(late.every(({ attempts, state }) => attempts === 1 && state === 'waiting')).toBe(true)
  })

  test('a receiver that answers with a redirect is not followed', async () => {
    const other = await receive(answering(200))
    const receiver = await receive(answering(307, { location: other.url }))
    const sent = await message(await webhookTo(receiver.url))
    await deliverAll()
    expect([receiver.received.length, other.received.length]).toEqual([1, 0])
    expect(await deliveryOf(sent)).toMatchObject({ state: 'waiting', httpStatus: 307 })
  })

  test('an answer of 100 MB is not read', async () => {
    const piece = Buffer.alloc(1024 * 1024)
    let written = 0
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const receiver = await receive((response) => {
      response.on('close', close)
      response.writeHead(200)
      const write = (): void => {
        while (written < 100 && !response.destroyed) {
          written++
          if (!response.write(piece)) {
            response.once('drain', write)
            return
          }
        }
        if (written === 100) response.end()
      }
      write()
    })
    const sent = await message(await webhookTo(receiver.url))
    await deliverAll()
    await closed
    expect(written).toBeLessThan(50)
    expect(await deliveryOf(sent)).toMatchObject({ state: 'delivered', httpStatus: 200 })
  })

  test('a host name is looked up once for each attempt, and only its allowed addresses are connected to', async () => {
    const receiver = await receive(answering(200))
    const sent = await message(await webhookTo(receiver.url))
    const answers = [
      [{ address: '10.0.0.1', family: 4 }],
      [...LOOPBACK, { address: '169.254.169.254', family: 4 }],
      [{ address: '::ffff:10.0.0.1', family: 6 }],
      [],
      LOOPBACK,
      [{ address: '10.0.0.1', family: 4 }],
    ] as const
    let lookUps = 0
    const sender = deliverer({ resolve: async () => answers[lookUps++] ?? [] })
    for (const waitMs of RETRY_WAITS_MS.slice(0, 4)) {
      await deliverAll(sender)
      expect(receiver.received.length).toBe(0)
      expect(await deliveryOf(sent)).toMatchObject({
        state: 'waiting',
        failure: 'its address is in a private network',
      })
      bench.nowMs += waitMs
    }
    await deliverAll(sender)
    expect([receiver.received.length, lookUps]).toEqual([1, 5])
  })

  test('a host name of this machine is not connected to unless a setting allows its network', async () => {
    const receiver = await receive(answering(200))
    const sent = await message(await webhookTo(receiver.url))
    await deliverAll(deliverer({ rules: new AddressRules([]) }))
    expect(receiver.received.length).toBe(0)
    expect(await deliveryOf(sent)).toMatchObject({
      state: 'waiting',
      failure: 'its address is in a private network',
    })
    bench.nowMs += RETRY_WAITS_MS[0] ?? 0
    await deliverAll()
    expect(receiver.received.length).toBe(1)
  })

  test("a host name without an address, or with another host's certificate, fails with a clear message", async () => {
    const receiver = await receive(answering(200))
    const unknown = await message(await webhookTo(receiver.url))
    await deliverAll(deliverer({ resolve: () => Promise.reject(new Error('ENOTFOUND secret')) }))
    expect(await deliveryOf(unknown)).toMatchObject({ failure: 'its host name has no address' })
    const wrong = receiver.url.replace('receiver.example', 'wrong.example')
    const mismatched = await message(await webhookTo(wrong))
    await deliverAll()
    const { failure } = await deliveryOf(mismatched)
    expect(failure).toBe('has a certificate that is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)')
  })

  test('an answer of 410 ends the message and disables its webhook', async () => {
    const receiver = await receive(answering(410))
    const webhook = await webhookTo(receiver.url)
    const sent = await message(webhook)
    const later = await message(webhook)
    await deliverAll()
    expect(await deliveryOf(sent)).toMatchObject({ state: 'failed', attempts: 1 })
    expect(await getWebhook(bench.db, webhook.id)).toMatchObject({ disabled: true })
    const before = receiver.received.length
    bench.nowMs += HOUR_MS
    await deliverAll()
    expect(receiver.received.length).toBe(before)
    expect((await deliveryOf(later)).id).toBe(later.id)
  })

  test('a message is sent again with the same ID if the process dies between sending and recording it', async () => {
    const receiver = await receive(answering(200))
    const webhook = await webhookTo(receiver.url)
    const sent = await message(webhook)
    const taken = await takeMessage(bench.db, { webhookId: webhook.id, nowMs: bench.nowMs })
    if (taken === null) throw new Error('nothing is due')
    const attempt = { webhook, message: taken, nowMs: bench.nowMs, timeoutMs: HOUR_MS, rules }
    const stopped = new AbortController().signal
    await sendMessage({ ...attempt, resolve: async () => LOOPBACK, stopped })
    await deliverAll()
    expect(receiver.received.length).toBe(1)
    bench.nowMs += 30_000
    await deliverAll()
    const seen = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(seen).toEqual([sent.id, sent.id])
    // Were it not dead but slow, its record would come too late.
    const end = { kind: 'failed', failure: 'late' } as const
    await recordAttempt(bench.db, { message: taken, end, nowMs: bench.nowMs, chance: 0 })
    expect(await deliveryOf(sent)).toMatchObject({ state: 'delivered', failure: null })
  })

  test('several processes deliver each message once', async () => {
    const receiver = await receive(answering(200))
    const webhook = await webhookTo(receiver.url)
    const sent: string[] = []
    for (let count = 0; count < 40; count++) sent.push((await message(webhook)).id)
    const processes = [deliverer(), deliverer(), deliverer()]
    for (let pass = 0; pass < 3; pass++) await Promise.all(processes.map(deliverAll))
    const seen = receiver.received.map(({ headers }) => String(headers['webhook-id']))
    expect(seen.toSorted()).toEqual(sent.toSorted())
  })

  test('a message that is being sent when the process stops can be sent by another process at once', async () => {
    const hanging = await receive(() => {})
    const sent = await message(await webhookTo(hanging.url))
    const sender = deliverer()
    await sender.begin()
    await sender.stop()
    expect(await deliveryOf(sent)).toMatchObject({
      state: 'waiting',
      attempts: 0,
      leasedUntilMs: 0,
    })
  })

  test('a message from a time when the clock was far ahead is sent after the clock is set back', async () => {
    const receiver = await receive(answering(200))
    const rightMs = bench.nowMs
    bench.nowMs += 10_000 * HOUR_MS
    const webhook = await webhookTo(receiver.url)
    // The same process: it has sent something with the wrong clock.
    const sender = deliverer()
    await deliverAll(sender)
    await message(webhook)
    bench.nowMs = rightMs
    await deliverAll(sender)
    expect(receiver.received.length).toBe(1)
  })

  test('messages are kept for 30 days', async () => {
    const receiver = await receive(answering(200))
    const webhook = await webhookTo(receiver.url)
    await message(webhook)
    await deliverAll()
    const listed = async () =>
      (await listDeliveries(bench.db, { webhookId: webhook.id, cursor: null, limit: 9 })).rows
        .length
    bench.nowMs += 30 * 24 * HOUR_MS
    await deliverAll()
    expect(await listed()).toBe(1)
    bench.nowMs += 60_000
    await deliverAll()
    expect(await listed()).toBe(0)
  })
})
