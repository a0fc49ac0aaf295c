import { setTimeout as sleep } from 'node:timers/promises'
import type { Adapter } from '../adapter/adapter.ts'
import type { Gateway, Row } from '../adapter/gateway.ts'
import { moneyIn, type Step, type Values } from '../adapter/steps.ts'
import { type Asking, ask, NO_ANSWER } from '../client.ts'
import { type Line, microsOf } from '../provider/bill.ts'
import type { Provider } from '../provider/provider.ts'
import { promptOf, type Scripted, scriptOf } from '../provider/script.ts'
import { answered, type Sent } from './sent.ts'
import { Lacking, type Verdict } from './verdict.ts'

/** One promise, and how it is put to the test. */
export interface Check {
  readonly promise: string
  /** Seconds after which it is broken. */
  readonly within: number
  run(lab: Lab): Promise<Verdict>
}

/** Checks by name, in the order in which they run. */
export type Checks = Readonly<Record<string, Check>>

export function check(promise: string, run: Check['run'], within = 120): Check {
  return { promise, run, within }
}

/** An account or key with a budget: what the steps that opened it kept, the `key` with it. */
export type Purse = Values

/** How one request is sent. */
interface Sending extends Pick<Asking, 'leaveAt' | 'timeoutMs' | 'connection'> {
  /** Leaves so long after it came to the provider, however long the gateway takes for that. */
  readonly leaveAfterMs?: number
  readonly stream?: boolean
  /** Whether a stream asks for counts; default: it does. */
  readonly unasked?: boolean
  /** The cap of the answer; default: what the script generates. null: none. */
  readonly cap?: number | null
  readonly format?: 'chat' | 'messages'
  readonly model?: string
  readonly url?: string
  /** The exact body, which has the prompt where `{prompt}` stands. */
  readonly body?: string
}

/** The cost of a plain request: 100 tokens in, 50 out. */
export const PLAIN_MICROS = 3_500

/** A request: whose it is, what the provider does with it, and how it is sent. */
export type Way = Readonly<Parameters<Lab['send']>>

const AMPLE_MICROS = 100_000_000
const SETTLES_S = 60
// How long the provider may take to see that a gateway has left.
const LEAVES_MS = 10_000

/** The common parts of the checks of a run. */
type Bench = Readonly<{ gateway: Gateway; provider: Provider; quick: boolean; patienceMs: number }>

/** The tools of a check: a gateway, the provider's bill, and clients. */
export class Lab {
  readonly bench: Bench
  readonly gateway: Gateway
  readonly adapter: Adapter
  /** The prefix of the IDs of its requests. */
  readonly prefix: string
  readonly sent: Sent[] = []
  readonly purses: Purse[] = []
  settledMs = 0

  constructor(bench: Bench, prefix: string) {
    this.bench = bench
    this.gateway = bench.gateway
    this.adapter = bench.gateway.adapter
    this.prefix = prefix
  }

  /** A section of the adapter. Throws Lacking where it has none. */
  need<Section extends keyof Adapter>(section: Section): NonNullable<Adapter[Section]> {
    return this.adapter[section] ?? this.lack(section)
  }

  /** Throws Lacking with what the adapter says about something that it does not have. */
  lack(name: string): never {
    const { lacks, untried, spent } = this.adapter
    // A gateway without money has none of the rest.
    const of = spent === undefined && name !== 'start' ? 'spent' : name
    const lacking = new Lacking(lacks[of] ?? untried[of] ?? `the adapter has no ${of}`)
    if (lacks[of] !== undefined) lacking.verdict = 'n/a'
    throw lacking
  }

  /** A new account with a key, and no more money than this. */
  fund(micros = AMPLE_MICROS): Promise<Purse> {
    this.need('spent')
    return this.client(micros)
  }

  /** A new key with more money than its requests cost; also of a gateway that knows no money. */
  client(micros = AMPLE_MICROS): Promise<Purse> {
    const { new_account = [], fee_factor } = this.adapter
    return this.newKey(moneyIn(Math.ceil(micros * fee_factor)), new_account)
  }

  /** A key of an account, which first steps may open. */
  async newKey(account: Values, steps: readonly Step[] = []): Promise<Purse> {
    const given = { ...account, prefix: `${this.prefix}${this.purses.length + 1}` }
    const purse = await this.gateway.run([...steps, ...this.adapter.new_key], given)
    this.purses.push(purse)
    return purse
  }

  /** Sends one request, of which the script says what the provider does. */
  async send(purse: Purse, scripted: Scripted = {}, sending: Sending = {}): Promise<Sent> {
    const { stream = false, unasked = false, url = this.gateway.url, leaveAfterMs } = sending
    const isChat = sending.format !== 'messages'
    const id = `${this.prefix}${this.sent.length + 1}`
    const { cap = scripted.out ?? 50, model = this.adapter.model } = sending
    const content = promptOf(scriptOf(id, scripted))
    const plain = {
      ...{ model, messages: [{ role: 'user', content }] },
      ...(cap === null ? {} : { max_tokens: cap }),
      ...(stream ? { stream } : {}),
      ...(stream && !unasked && isChat ? { stream_options: { include_usage: true } } : {}),
    }
    const prompt = JSON.stringify(content).slice(1, -1)
    const body = sending.body?.replace('{prompt}', () => prompt) ?? JSON.stringify(plain)
    const sent = { id, body, answer: NO_ANSWER }
    this.sent.push(sent)
    const stay = async (): Promise<unknown> => {
      await this.until(() => sent.answer !== NO_ANSWER || this.lines([sent]).length > 0)
      return sleep(leaveAfterMs)
    }
    const key = purse['key'] ?? ''
    sent.answer = await ask({
      ...sending,
      leaveAfter: leaveAfterMs === undefined ? undefined : stay(),
      url: `${url}${isChat ? '/v1/chat/completions' : '/v1/messages'}`,
      headers: {
        ...{ 'content-type': 'application/json', ...this.gateway.headers },
        authorization: `Bearer ${key}`,
        ...(isChat ? {} : { 'anthropic-version': '2023-06-01', 'x-api-key': key }),
      },
      body,
    })
    return sent
  }

  /** Sends so many, in these ways by turns and at most so many at once; resolves with them in order. */
  async many(count: number, most: number, ...ways: readonly Way[]): Promise<Sent[]> {
    const sent: Sent[] = []
    const turns = Array.from({ length: count }, (_, turn) => ways[turn % ways.length]).entries()
    const work = async (): Promise<void> => {
      for (const [turn, way] of turns) if (way) sent[turn] = await this.send(...way)
    }
    await Promise.all(Array.from({ length: most }, work))
    return sent
  }

  /** Sends in one way, so many at once, until one is not answered or there were so many. */
  async untilRefused(count: number, most: number, way: Way): Promise<Sent[]> {
    const sent: Sent[] = []
    while (sent.length < count && answered(sent).length === sent.length)
      sent.push(...(await this.many(most, most, way)))
    return sent
  }

  /** The provider's lines of this check, or of some of its requests. */
  lines(of: readonly Sent[] = this.sent): readonly Line[] {
    const ids = new Set(of.map(({ id }) => id))
    return this.bench.provider.bill.filter(({ id }) => ids.has(id))
  }

  /** The provider's bill for this check, or for some of its requests, with the platform's fee. */
  billed(of?: readonly Sent[]): number {
    return microsOf(...this.lines(of)) * this.adapter.fee_factor
  }

  /** Waits until a condition holds, and returns the milliseconds that it took. The last look begins after this time. */
  async until(isSo: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<number> {
    const startedAt = Date.now()
    for (let isLast = false; !(await isSo()) && !isLast; await sleep(10))
      isLast = Date.now() - startedAt > withinMs
    return Date.now() - startedAt
  }

  /** Waits until no request runs and the sum stands still, and returns what the purse was charged. */
  async spent(purse: Purse): Promise<number> {
    const { spent } = this.adapter
    const mostMs = (spent?.settles_within_s ?? SETTLES_S) * 1_000
    const hasEnded = (): boolean => this.lines().every(({ end }) => end !== 'running')
    await this.until(hasEnded, this.few(LEAVES_MS, Math.max(LEAVES_MS, mostMs)))
    if (spent === undefined) return 0
    const usualMs = this.few(1_000, 4_000)
    const stillMs = Math.min(Math.max(usualMs, (spent.flushes_every_s ?? 0) * 1_000), mostMs)
    const startedAt = Date.now()
    let since = startedAt
    let micros = await this.gateway.read(spent, purse)
    while (Date.now() - since < stillMs && Date.now() - startedAt < mostMs) {
      await sleep(Math.min(200, stillMs / 4))
      const now = await this.gateway.read(spent, purse)
      if (now !== micros) since = Date.now()
      micros = now
    }
    this.settledMs = Math.max(this.settledMs, since - startedAt)
    return micros
  }

  /** Finds the gateway's row of a request whose answer says the row's id, in a header or near the start of its JSON. */
  async rowFinder(): Promise<(sent: Sent) => Row | undefined> {
    const isNamed = this.adapter.rows?.id !== undefined
    const lists = isNamed ? this.purses.map((purse) => this.gateway.rows(purse)) : []
    const rows = (await Promise.all(lists)).flatMap((list) => list ?? [])
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ({ answer: { headers, text } }) => {
      const texts = [...headers, ...text.slice(0, 2_000).split('"')]
      return texts.map((each) => byId.get(each)).find((row) => row !== undefined)
    }
  }

  /** The smaller count of a quick run, else the full one. */
  few(quick: number, full: number): number {
    return this.bench.quick ? quick : full
  }
}
