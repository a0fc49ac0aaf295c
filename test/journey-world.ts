import type { EventEmitter } from 'node:events'
import { rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { chat } from '../src/formats/chat.ts'
import type { WireFormat } from '../src/formats/format.ts'
import { DEFAULT_PUBLIC_NAMES } from '../src/formats/testing/exchange.ts'
import { createInference, type EndedRequest, type Inference } from '../src/http/inference.ts'
import { createHttpServer } from '../src/http/server.ts'
import { createByteBudget } from '../src/journey/gate/byte-budget.ts'
import type { Caller } from '../src/journey/gate/caller.ts'
import { Gate } from '../src/journey/gate/gate.ts'
import { ThreadShare } from '../src/journey/gate/thread-share.ts'
import { offerWith, usd } from '../src/journey/hold-size/testing/offers.ts'
import type { JourneyParts } from '../src/journey/journey-parts.ts'
import { Settler } from '../src/journey/settle/settler.ts'
import { TokenFactors } from '../src/journey/settle/usage-charge.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { createApiKey } from '../src/ledger/api-keys.ts'
import { auditStore } from '../src/ledger/audit/audit.ts'
import type { BatchedLedger } from '../src/ledger/engines/batched-ledger.ts'
import { sqliteLedger } from '../src/ledger/engines/create-ledger.ts'
import { registerInstance } from '../src/ledger/instances/open-instance.ts'
import { openStore } from '../src/store/open-store.ts'
import type { RequestRow } from '../src/store/schema.ts'
import type { Store } from '../src/store/store.ts'
import { writeMadeStore } from '../src/store/testing/made-store.ts'
import { makeStoreFolder } from '../src/store/testing/store-folder.ts'
import { openrouter } from '../src/upstreams/openrouter/openrouter.ts'
import { PATIENT_TIMEOUTS, upstreamSettings } from '../src/upstreams/testing/upstream-settings.ts'
import { type Dialect, Upstream } from '../src/upstreams/upstream.ts'
import type { UpstreamTimeouts } from '../src/upstreams/upstream-settings.ts'
import type { Wire } from '../src/upstreams/wire.ts'
import { systemClock } from '../src/vocabulary/clock.ts'
import { createIdSource } from '../src/vocabulary/ids.ts'
import { micros } from '../src/vocabulary/money.ts'
import { Problem } from '../src/vocabulary/problem.ts'
import { HANG_LIMITS } from './hang-limits.ts'
import { startRawServer } from './raw-server.ts'

/** A chat request for the one model that is on sale. */
export const CHAT_BODY = '{"model":"acme/some-model","messages":[],"max_tokens":100}'

/** The same, streamed. */
export const STREAM_BODY = CHAT_BODY.replace('{', '{"stream":true,')

/** One key of one account has as many places in flight, so that a place that leaks is missed. */
const PLACES = 2

export interface JourneyWorldInput {
  /** The provider's dialect. Default: OpenRouter's. */
  readonly dialect?: Dialect
  /** The setting `read_on` of the upstream. Default false. */
  readonly readOn?: boolean
  /** Changes to OpenRouter's chat. Default: none. */
  readonly wire?: Partial<Wire>
  /** The provider's handling of each connection. */
  readonly upstream: (socket: Socket) => unknown
  /** The one served endpoint, at its own path. Default: chat. */
  readonly format?: WireFormat
  readonly timeouts?: Partial<UpstreamTimeouts>
  readonly answerBytesMax?: number
  readonly eventBytesMax?: number
  readonly bodyTimeoutMs?: number
  /** Parts that replace the usual ones, made from them. */
  readonly replace?: (parts: JourneyParts) => Partial<JourneyParts>
}

/** Every part of a journey but catalog and reconciler, real, before a provider written by hand. */
export interface JourneyWorld {
  readonly port: number
  readonly url: string
  /** The store's file. */
  readonly file: string
  readonly inference: Inference
  readonly upstream: Upstream
  /** Entries that were sent to the log. */
  readonly ended: readonly EndedRequest[]
  /** Responses so far, as the gateway's own side of each client. */
  readonly clients: readonly ServerResponse[]
  /** Emits `request` with each of them. */
  readonly arrivals: EventEmitter
  /** The only request that opened a hold, once nothing is in flight; fails if there is none or several. */
  onlyRequest(): Promise<RequestRow>
  /** The reserved bytes of the budget for bodies and answers. */
  bytesReserved(): number
  /** Fails where anything is left of the requests so far: memory, a place in flight, an open hold. */
  expectNothingLeft(): Promise<void>
}

/** Starts a world that ends with the test, which fails where anything is left of its requests. */
export async function startJourneyWorld(input: JourneyWorldInput): Promise<JourneyWorld> {
  const closing = new AsyncDisposableStack()
  onTestFinished(async ({ task }) => {
    await using _closing = closing
    // A test that has failed may have left what never ends.
    if (task.result?.state === 'pass') await world.expectNothingLeft()
  })
  const folder = makeStoreFolder('journey')
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'store.db')
  const clock = systemClock
  await writeMadeStore(file)
  const store = await openStore({ url: `sqlite:${file}`, clock })
  closing.defer(() => store.close())
  const ledger = sqliteLedger({ file, clock })
  closing.defer(() => ledger.close())
  const caller = await makeCaller(store, ledger)
  const settler = new Settler({
    ledger,
    waitMs: 60_000,
    onFailure: (_, cause) => failures.push(cause),
    onSettled: () => {},
  })
  const failures: unknown[] = []
  closing.defer(() => settler.drained())
  const server = await startRawServer((socket) => void input.upstream(socket))
  closing.defer(() => server.close())
  const timeouts = { ...PATIENT_TIMEOUTS, ...input.timeouts }
  const { dialect = openrouter, readOn = false } = input
  const wires = [...dialect.wires].map(([format, wire]) =>
    format === 'chat' ? ([format, { ...wire, ...input.wire }] as const) : ([format, wire] as const),
  )
  const upstream = new Upstream(
    upstreamSettings({
      baseUrl: server.baseUrl,
      timeouts,
      readOn,
      formats: [...dialect.wires.keys()],
    }),
    { ...dialect, wires: new Map(wires) },
  )
  closing.defer(() => upstream.destroy())
  const usual = usualParts({ ledger, settler, upstream, caller, input })
  const parts: JourneyParts = { ...usual, ...input.replace?.(usual) }
  const { inference, port, ended, clients, arrivals } = await serveHttp({ parts, input, closing })
  const idle = async (): Promise<void> => {
    await inference.idle()
    await settler.drained()
    expect(failures).toEqual([])
  }
  const world: JourneyWorld = {
    port,
    url: `http://127.0.0.1:${port}${(input.format ?? chat).path}`,
    file,
    inference,
    upstream,
    ended,
    clients,
    arrivals,
    async onlyRequest() {
      await idle()
      const { requests } = await listRequests(store.db, { limit: 10 })
      expect(requests).toHaveLength(1)
      const [row] = requests
      if (row === undefined) throw new Error('no request')
      return row
    },
    bytesReserved: () => parts.byteBudget.bytesReserved,
    async expectNothingLeft() {
      await idle()
      expect(parts.byteBudget.bytesReserved).toBe(0)
      const slots = Array.from({ length: PLACES }, () => usual.gate.enter(caller))
      for (const slot of slots) slot.leave()
      expect((await listRequests(store.db, { limit: 10, state: 'open' })).requests).toEqual([])
      expect(await auditStore(store)).toMatchObject({ ok: true, differences: [] })
    },
  }
  return world
}

interface UsualPartsInput {
  readonly ledger: BatchedLedger
  readonly settler: Settler
  readonly upstream: Upstream
  readonly caller: Caller
  readonly input: JourneyWorldInput
}

function usualParts({ ledger, settler, upstream, caller, input }: UsualPartsInput): JourneyParts {
  const offer = offerWith({ input: usd('0.000001'), output: usd('0.000002') })
  return {
    formats: [input.format ?? chat],
    authenticate: async () => caller,
    gate: new Gate({
      clock: systemClock,
      settings: {
        inFlightMax: PLACES,
        requestsPerMinuteMax: 1_000,
        unbackedRequestsPerMinuteMax: 1_000,
      },
    }),
    byteBudget: createByteBudget({ bytesMax: 256 * 1024 * 1024 }),
    threadShare: new ThreadShare(),
    inflateShare: new ThreadShare(),
    hasPostedCredit: async () => true,
    offerFor: () => offer,
    holdOffer: (listed) => listed,
    ledger,
    takeVerdicts: () => ledger.takeVerdicts(),
    settler,
    tokenFactors: new TokenFactors(),
    fieldRefused: () => undefined,
    ownCapRefused: () => undefined,
    costStands: () => false,
    upstreams: new Map([[offer.upstream, upstream]]),
    accountTag: () => 'tag',
    clock: systemClock,
    publicNames: DEFAULT_PUBLIC_NAMES,
    instanceId: 'inst_test',
    answerBytesMax: input.answerBytesMax ?? 128 * 1024 * 1024,
    eventBytesMax: input.eventBytesMax ?? 64 * 1024 * 1024,
  }
}

interface ServeHttpInput {
  readonly parts: JourneyParts
  readonly input: JourneyWorldInput
  readonly closing: AsyncDisposableStack
}

async function serveHttp({ parts, input, closing }: ServeHttpInput) {
  const { bodyTimeoutMs = HANG_LIMITS.testTimeout } = input
  const ids = idSource()
  const ended: EndedRequest[] = []
  const clients: ServerResponse[] = []
  const inference = createInference({
    parts,
    ids,
    bodyTimeoutMs,
    onEnded: (each) => ended.push(each),
  })
  const app = createHttpServer({
    formats: parts.formats,
    publicNames: parts.publicNames,
    ids,
    inference,
    threadShare: parts.threadShare,
    catalog: {
      served: () => ({
        listBytes: Buffer.from('{"object":"list","data":[]}'),
        bytesById: new Map(),
      }),
      idOf: () => null,
      notFound: () => new Problem('model_not_found'),
    },
    callerOf: async () => null,
    root: { version: '0', mode: 'live' },
    onFailure: ({ problem }) => {
      throw problem
    },
  })
  app.server.prependListener('request', (_, client) => clients.push(client))
  await app.listen({ host: '127.0.0.1', port: 0 })
  closing.defer(() => app.close())
  const bound = app.server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  return { inference, port, ended, clients, arrivals: app.server }
}

function idSource() {
  return createIdSource({
    clock: systemClock,
    fillRandom: (bytes) => globalThis.crypto.getRandomValues(bytes),
  })
}

async function makeCaller(store: Store, ledger: BatchedLedger): Promise<Caller> {
  const ids = idSource()
  await registerInstance(store.db, { id: 'inst_test', nowMs: Date.now() })
  const { id: accountId } = await ledger.createAccount({ id: ids.next('acct'), name: 'test' })
  await ledger.addCredit({
    accountId,
    purse: 'backed',
    amountMicros: micros(10_000_000),
    expiresAtMs: null,
    reference: 'test',
  })
  const created = await createApiKey(ledger, {
    id: ids.next('key'),
    accountId,
    name: 'test',
    keyTag: 'tollgate',
  })
  if (created === null) throw new Error('no key')
  const apiKeyId = created.apiKey.id
  return { accountId, apiKeyId, hasBackedCredit: true, feeBasisPoints: null, models: null }
}
