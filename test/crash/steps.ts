import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { catalogSettingsOf, readConfig } from '../../src/app/config.ts'
import { Catalog } from '../../src/catalog/catalog.ts'
import { CatalogRefresher } from '../../src/catalog/catalog-refresher.ts'
import { createCatalogStore } from '../../src/catalog/catalog-store.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { parseModels } from '../../src/upstreams/openrouter/catalog.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import type { RequestState } from '../../src/vocabulary/outcome.ts'
import { startRawServer } from '../raw-server.ts'
import { chatAt, type ServeProcess } from '../tollgate-process.ts'
import type { CrashBench } from './crash-bench.ts'
import { type CommitOf, holdCommit, holdStore } from './held-store.ts'

/** The cost in the answer of every step, with the fee. */
const CHARGE_MICROS = 1_050
/** The cost in the provider's record, with the fee. */
const LOOKED_UP_MICROS = 1_260

const COSTS: Fault = { costUsd: 0.001, lookupCostUsd: 0.0012 }

/** The expected state of a request. */
export interface Left {
  /** Null: it never opened a hold. */
  readonly state: RequestState | null
  readonly chargeMicros: number
  /** Whether the provider has a record to look up. */
  readonly canBeLookedUp: boolean
}

/** One moment in the life of a request, at which its gateway is killed. */
export interface Step {
  readonly name: string
  /** Settings of the first gateway in addition to the bench's. Default: none. */
  readonly settings?: (bench: CrashBench) => Promise<Readonly<Record<string, string>>>
  /** Brings one request there. The answer ends what keeps it there, once the gateway is dead. */
  readonly bring: (bench: CrashBench, gateway: ServeProcess) => Promise<() => Promise<void>>
  /** As the next gateway finds it, before it has asked the provider anything. */
  readonly left: Left
  /** The state after the look-up. */
  readonly inTheEnd: Left
}

/** The entries of the request in the end, oldest first. */
export function postingsOf({ left, inTheEnd }: Pick<Step, 'left' | 'inTheEnd'>): readonly string[] {
  if (inTheEnd.chargeMicros === 0) return []
  if (left.state === 'unresolved') return [`charge -${LOOKED_UP_MICROS}`]
  const moreMicros = LOOKED_UP_MICROS - CHARGE_MICROS
  return [`charge -${CHARGE_MICROS}`, `correction -${moreMicros}`]
}

const NO_HOLD: Left = { state: null, chargeMicros: 0, canBeLookedUp: false }
// Its generation ID is unknown: it is released after a day, or settled by an admin.
const UNKNOWN: Left = { state: 'unresolved', chargeMicros: 0, canBeLookedUp: false }
const UNRESOLVED: Left = { state: 'unresolved', chargeMicros: 0, canBeLookedUp: true }
const PROVISIONAL: Left = { state: 'provisional', chargeMicros: CHARGE_MICROS, canBeLookedUp: true }
const LOOKED_UP: Left = { state: 'final', chargeMicros: LOOKED_UP_MICROS, canBeLookedUp: true }

const NOTHING_HELD = async (): Promise<void> => {}

/** Steps at which a gateway waits for its client or for the provider: its store makes no difference. */
export const OUTSIDE_STEPS: readonly Step[] = [
  {
    name: 'before the hold, with half of the body read',
    async bring(bench, gateway) {
      const body = '{"model":"sim/text","messages":[{"role":"user","content":"Hi"}]}'
      const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nexpect: 100-continue\r\n` +
          `x-api-key: ${bench.apiKeys[0].text}\r\ncontent-length: ${body.length}\r\n\r\n`,
      )
      const [goOn] = await once(socket, 'data')
      expect(String(goOn)).toMatch(/^HTTP\/1.1 100 /)
      socket.write(body.slice(0, body.length / 2))
      await hasReadAll(gateway)
      return NOTHING_HELD
    },
    left: NO_HOLD,
    inTheEnd: NO_HOLD,
  },
  {
    name: 'after the hold, while the connection upstream is not open yet',
    async settings(bench) {
      const { port } = await silentUpstream(bench)
      const baseUrl = `https://127.0.0.1:${port}/v1`
      await storeCatalog(bench, baseUrl)
      return { UPSTREAM_BASE_URL: baseUrl }
    },
    async bring(bench, gateway) {
      sendAndLose(bench, gateway, 'whole')
      const [row] = await bench.until((rows) => rows.length === 1)
      expect(row).toMatchObject({ state: 'open' })
      return NOTHING_HELD
    },
    left: UNKNOWN,
    inTheEnd: UNKNOWN,
  },
  heldUpstream({ name: 'mid-upstream, before an answer', hold: 'beforeHeaders' }),
  heldUpstream({ name: 'mid-upstream, with half of an answer read', hold: { afterBytes: 60 } }),
  {
    name: 'mid-upstream, before the first event of a stream',
    async bring(bench, gateway) {
      bench.simulator.script({ ...COSTS, hold: 'afterHeaders' })
      sendAndLose(bench, gateway, 'stream')
      await bench.until(isIdNoted)
      return NOTHING_HELD
    },
    left: UNRESOLVED,
    inTheEnd: LOOKED_UP,
  },
  {
    name: 'mid-stream, which the client reads',
    async bring(bench, gateway) {
      bench.simulator.script({ ...COSTS, hold: { afterEvents: 3 } })
      const answer = await send(bench, gateway, 'stream')
      await answer.body?.getReader().read()
      await bench.until(isIdNoted)
      return NOTHING_HELD
    },
    left: UNRESOLVED,
    inTheEnd: LOOKED_UP,
  },
  {
    name: 'mid-reconcile, while the provider is asked',
    async bring(bench, gateway) {
      await answered(bench, gateway)
      await bench.simulator.gate('look-up').arrived()
      return NOTHING_HELD
    },
    left: PROVISIONAL,
    inTheEnd: LOOKED_UP,
  },
]

/** Steps at which a commit waits for the store, or comes next. */
export const STORE_STEPS: readonly Step[] = [
  {
    name: 'before the hold, which waits for the store',
    async bring(bench, gateway) {
      const store = await holdStore(bench.url)
      sendAndLose(bench, gateway, 'whole')
      await store.untilStatementWaits(() => hasReadAll(gateway))
      return () => store.letGo()
    },
    left: NO_HOLD,
    inTheEnd: NO_HOLD,
  },
  {
    name: 'after the answer, before its settle',
    async bring(bench, gateway) {
      bench.simulator.script({ ...COSTS, hold: 'beforeHeaders' })
      sendAndLose(bench, gateway, 'whole')
      await bench.simulator.gate().arrived()
      const store = await holdStore(bench.url)
      bench.simulator.gate().release()
      const upstream = await bench.simulator.nextRequest()
      expect(await upstream.ended).toBe('finished')
      await store.untilStatementWaits(() => hasReadAll(gateway))
      return () => store.letGo()
    },
    left: UNKNOWN,
    inTheEnd: UNKNOWN,
  },
  {
    name: 'after a stream that the client has whole, before its settle',
    async bring(bench, gateway) {
      bench.simulator.script({ ...COSTS, hold: { afterEvents: 3 } })
      const answer = await send(bench, gateway, 'stream')
      await bench.until(isIdNoted)
      const store = await holdStore(bench.url)
      bench.simulator.gate().release()
      expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/)
      return () => store.letGo()
    },
    left: UNRESOLVED,
    inTheEnd: LOOKED_UP,
  },
  {
    name: 'mid-reconcile, between what the provider said and its correction',
    async bring(bench, gateway) {
      await answered(bench, gateway)
      await bench.simulator.gate('look-up').arrived()
      const store = await holdStore(bench.url)
      await letLookUpGo(bench)
      await store.untilStatementWaits(() => hasReadAll(gateway))
      return () => store.letGo()
    },
    left: PROVISIONAL,
    inTheEnd: LOOKED_UP,
  },
]

/** Steps within a commit of PostgreSQL, which continues in the server when its client is dead. */
export const COMMIT_STEPS: readonly Step[] = [
  commitStep({ commit: 'hold', how: 'undone', left: NO_HOLD, inTheEnd: NO_HOLD }),
  commitStep({ commit: 'hold', how: 'done', left: UNKNOWN, inTheEnd: UNKNOWN }),
  commitStep({ commit: 'settle', how: 'undone', left: UNRESOLVED, inTheEnd: LOOKED_UP }),
  commitStep({ commit: 'settle', how: 'done', left: PROVISIONAL, inTheEnd: LOOKED_UP }),
  commitStep({ commit: 'correction', how: 'undone', left: PROVISIONAL, inTheEnd: LOOKED_UP }),
  commitStep({ commit: 'correction', how: 'done', left: LOOKED_UP, inTheEnd: LOOKED_UP }),
]

interface HeldUpstream extends Pick<Step, 'name'> {
  readonly hold: NonNullable<Fault['hold']>
}

/** A call that is not a stream, at the provider: its generation ID comes with its answer. */
function heldUpstream({ name, hold }: HeldUpstream): Step {
  return {
    name,
    async bring(bench, gateway) {
      bench.simulator.script({ ...COSTS, hold })
      sendAndLose(bench, gateway, 'whole')
      await bench.simulator.gate().arrived()
      await hasReadAll(gateway)
      return NOTHING_HELD
    },
    left: UNKNOWN,
    inTheEnd: UNKNOWN,
  }
}

interface CommitStep extends Pick<Step, 'left' | 'inTheEnd'> {
  readonly commit: CommitOf
  readonly how: 'done' | 'undone'
}

function commitStep({ commit, how, ...becomes }: CommitStep): Step {
  return {
    name: `mid-commit of a ${commit}, which the server then has ${how}`,
    async bring(bench, gateway) {
      const held = await bringToCommit(commit, { bench, gateway })
      await held.isUnderWay()
      return () => held.end(how)
    },
    ...becomes,
  }
}

async function bringToCommit(
  commit: CommitOf,
  { bench, gateway }: { readonly bench: CrashBench; readonly gateway: ServeProcess },
) {
  if (commit === 'hold') {
    const held = await holdCommit(bench.url, commit)
    sendAndLose(bench, gateway, 'whole')
    return held
  }
  if (commit === 'correction') {
    await answered(bench, gateway)
    await bench.simulator.gate('look-up').arrived()
    const held = await holdCommit(bench.url, commit)
    await letLookUpGo(bench)
    return held
  }
  bench.simulator.script({ ...COSTS, hold: { afterEvents: 3 } })
  const answer = await send(bench, gateway, 'stream')
  await bench.until(isIdNoted)
  const held = await holdCommit(bench.url, commit)
  bench.simulator.gate().release()
  expect(await answer.text()).toMatch(/data: \[DONE\]\n\n$/)
  return held
}

/** Whether the one request could be looked up, were its gateway to die now. */
function isIdNoted([row]: readonly RequestRow[]): boolean {
  return typeof row?.generationId === 'string'
}

type AnswerKind = 'whole' | 'stream'

function send(bench: CrashBench, gateway: ServeProcess, kind: AnswerKind): Promise<Response> {
  const asked = { max_tokens: 64, stream: kind === 'stream' }
  return chatAt(gateway, bench.apiKeys[0].text, asked)
}

/** Sends a request whose client is not to get a whole answer. */
function sendAndLose(bench: CrashBench, gateway: ServeProcess, kind: AnswerKind): void {
  const heard = send(bench, gateway, kind).then(
    async (answer) => `${answer.status} ${await answer.text()}`,
  )
  const lost = heard.then(
    (text) => expect.fail(`the client was answered: ${text}`),
    () => {},
  )
  bench.closing.defer(() => lost)
}

/** Has a request answered, whose look-up then waits at the gate `look-up`. */
async function answered(bench: CrashBench, gateway: ServeProcess): Promise<void> {
  bench.simulator.script([COSTS, { path: '/generation', hold: 'beforeHeaders', gate: 'look-up' }])
  const answer = await send(bench, gateway, 'whole')
  expect(answer.headers.get('x-service-cost')).toBe(String(CHARGE_MICROS))
  await answer.text()
}

async function letLookUpGo({ simulator }: CrashBench): Promise<void> {
  simulator.gate('look-up').release()
  const asked = await simulator.waitFor(({ path }) => path === '/generation')
  expect(await asked.ended).toBe('finished')
}

/**
 * Resolves once a gateway has read everything that was sent to it before: its one loop reads in the
 * order in which it came, and answers this after.
 */
async function hasReadAll(gateway: ServeProcess): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    const answer = await fetch(`${gateway.address}/v1`)
    await answer.text()
  }
}

/** A server of connections that never get to where a request could be written: it says no word of TLS. */
async function silentUpstream(bench: CrashBench): Promise<{ readonly port: number }> {
  // The first connections are for the catalog, which cannot be fetched; `serve` continues with the stored one.
  let refused = 0
  const server = await startRawServer((socket) => {
    if (refused++ === 0) socket.destroy()
  })
  bench.closing.defer(() => server.close())
  return server
}

/** Stores the simulator's catalog as that of another upstream, as an earlier run has left it. */
async function storeCatalog(bench: CrashBench, source: string): Promise<void> {
  const outcome = await bench.look((store) => {
    const settings = catalogSettingsOf(readConfig({}))
    return new CatalogRefresher({
      catalog: new Catalog({
        clock: systemClock,
        settings,
        upstreams: [{ name: settings.upstream, models: [], formats: new Set(['chat']) }],
      }),
      store: createCatalogStore(store.db),
      source,
      place: 0,
      clock: systemClock,
      settings,
      narrowing: { only: null, except: [] },
      written: [],
      endpointsOf: () => ['chat'],
      fetchModels: async (listing) => {
        const listed = await fetch(`${bench.simulator.baseUrl}/models?output_modalities=all`)
        return parseModels(await listed.json(), listing)
      },
      fetchFlatImagePrice: null,
      endpoints: { encode: () => null, restore: () => {} },
      onRefreshed: () => {},
    }).refreshNow()
  })
  expect(outcome).toMatchObject({ kind: 'refreshed', storeFailure: null })
}
