import { setTimeout as sleep } from 'node:timers/promises'
import type { Adapter, Reading, Values } from '../adapter/adapter.ts'
import type { Gateway } from '../adapter/gateway.ts'
import { type Answer, type Asking, ask, atOnce } from '../client.ts'
import { type Line, microsOf } from '../provider/bill.ts'
import type { Provider } from '../provider/provider.ts'
import { promptOf, type Scripted, scriptOf } from '../provider/script.ts'

export type Judgement = 'pass' | 'fail' | 'figure' | 'n/a' | 'not tried' | 'broken'

/** What a check found in one round. */
export interface Verdict {
  readonly verdict: Judgement
  readonly words: string
  readonly figures?: Readonly<Record<string, number>>
}

/** Sections of an adapter, or properties of the machine, without which a check can't be tried. */
export type Need =
  | 'new_account'
  | 'instances'
  | 'start'
  | 'left'
  | 'top_up'
  | 'reprice'
  | 'rows'
  | 'messages'
  | 'store'

/** One promise, and how it is put to the test. */
export interface Check {
  readonly name: string
  readonly promise: string
  readonly needs?: readonly Need[]
  /** Seconds after which it is broken. */
  readonly within?: number
  run(lab: Lab): Promise<Verdict>
}

/** The suite could not put the promise to the test; shown, never counted. */
export class Broken extends Error {}
/** The machine lacks what a check needs. */
export class NotTried extends Error {}

/** An account or key with a budget. */
export interface Purse {
  readonly values: Values
  readonly apiKey: string
}

/** How one request is sent. */
interface Sending extends Pick<Asking, 'leaveAfterMs' | 'leaveAt' | 'timeoutMs'> {
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

export interface Sent {
  readonly id: string
  readonly answer: Answer
}

const STILL_MS = 4_000
const STILL_QUICK_MS = 1_000
const SETTLES_S = 60

/** What a check works with: a gateway, the provider's bill, and clients. */
export class Lab {
  readonly gateway: Gateway
  readonly provider: Provider
  readonly quick: boolean
  readonly prefix: string
  readonly sent: Sent[] = []
  settledMs = 0

  constructor(parts: { gateway: Gateway; provider: Provider; quick: boolean; prefix: string }) {
    this.gateway = parts.gateway
    this.provider = parts.provider
    this.quick = parts.quick
    this.prefix = parts.prefix
  }

  get adapter(): Adapter {
    return this.gateway.adapter
  }

  /** A new account with a key, and no more money than this. */
  async fund(micros: number): Promise<Purse> {
    const { new_account = [], new_key } = this.adapter
    const budget = Math.ceil(micros * this.adapter.fee_factor)
    const values = await this.gateway.run([...new_account, ...new_key], {
      ...moneyIn(budget),
      prefix: this.#name(),
    })
    return { values, apiKey: values['key'] ?? '' }
  }

  /** One more key of the same account. */
  async anotherKey({ values }: Purse): Promise<Purse> {
    const more = await this.gateway.run(this.adapter.new_key, { ...values, prefix: this.#name() })
    return { values: more, apiKey: more['key'] ?? '' }
  }

  #named = 0
  #name(): string {
    return `${this.prefix}${++this.#named}`
  }

  /** Sends one request, of which the script says what the provider does. */
  async send(purse: Purse, scripted: Scripted = {}, sending: Sending = {}): Promise<Sent> {
    const { stream = false, format = 'chat', unasked = false, url = this.gateway.url } = sending
    const id = `${this.prefix}${this.sent.length + 1}`
    const place = this.sent.push({ id, answer: NO_ANSWER }) - 1
    const script = scriptOf(id, scripted)
    const cap = sending.cap === undefined ? script.out : sending.cap
    const prompt = promptOf(script)
    const body =
      sending.body?.replace('{prompt}', () => JSON.stringify(prompt).slice(1, -1)) ??
      JSON.stringify({
        model: sending.model ?? this.adapter.model,
        messages: [{ role: 'user', content: prompt }],
        ...(cap === null ? {} : { max_tokens: cap }),
        ...(stream ? { stream: true } : {}),
        ...(stream && !unasked && format === 'chat'
          ? { stream_options: { include_usage: true } }
          : {}),
      })
    const answer = await ask({
      ...sending,
      url: `${url}${format === 'chat' ? '/v1/chat/completions' : '/v1/messages'}`,
      headers: {
        'content-type': 'application/json',
        ...this.gateway.headers,
        authorization: `Bearer ${purse.apiKey}`,
        ...(format === 'messages'
          ? { 'anthropic-version': '2023-06-01', 'x-api-key': purse.apiKey }
          : {}),
      },
      body,
    })
    const sent = { id, answer }
    this.sent[place] = sent
    return sent
  }

  /** Sends the same request so often, at most so many at once. */
  many(count: number, most: number, send: (index: number) => Promise<Sent>): Promise<Sent[]> {
    return atOnce(
      most,
      Array.from({ length: count }, (_, index) => () => send(index)),
    )
  }

  /** The provider's lines of this check, or of one request. */
  lines(id = this.prefix): readonly Line[] {
    const lines = this.provider.bill.lines(id)
    return id === this.prefix ? lines : lines.filter((line) => line.id === id)
  }

  /** What the provider bills for this check, or for some of its requests, with the platform's fee. */
  billed(of?: readonly Sent[]): number {
    const ids = of === undefined ? null : new Set(of.map(({ id }) => id))
    const lines = this.lines().filter(({ id }) => ids === null || ids.has(id))
    return lines.reduce((sum, line) => sum + microsOf(line), 0) * this.adapter.fee_factor
  }

  /** Waits until no request runs and the sum stands still, and returns what the purse was charged. */
  async spent(purse: Purse): Promise<number> {
    const { spent } = this.adapter
    const within = spent?.settles_within_s ?? SETTLES_S
    const until = Date.now() + Math.min(within, this.few(10, within)) * 1_000
    while (this.lines().some(({ end }) => end === 'running') && Date.now() < until) await sleep(20)
    if (spent === undefined) return 0
    const startedAt = Date.now()
    const most = (spent.settles_within_s ?? SETTLES_S) * 1_000
    const usualMs = this.quick ? STILL_QUICK_MS : STILL_MS
    const stillMs = Math.min(Math.max(usualMs, (spent.flushes_every_s ?? 0) * 1_000), most)
    let micros = await this.read(spent, purse)
    let since = startedAt
    while (Date.now() - since < stillMs && Date.now() - startedAt < most) {
      await sleep(Math.min(200, stillMs / 4))
      const now = await this.read(spent, purse)
      if (now !== micros) since = Date.now()
      micros = now
    }
    this.settledMs = Math.max(this.settledMs, since - startedAt)
    return micros
  }

  /** Reads a sum at once. */
  read(reading: Reading, { values }: Purse): Promise<number> {
    return this.gateway.read(reading, values)
  }

  /** The smaller count of a quick run, else the full one. */
  few(quick: number, full: number): number {
    return this.quick ? quick : full
  }
}

/** A sum, as steps are given it. */
export function moneyIn(micros: number): Values {
  return { micros: String(micros), dollars: String(micros / 1_000_000) }
}

const NO_ANSWER: Answer = {
  httpStatus: 0,
  text: '',
  events: [],
  left: false,
  broke: 'not yet',
  tookMs: 0,
}

/** The requests that were answered whole. */
export function answered(sent: readonly Sent[]): Sent[] {
  return sent.filter(
    ({ answer }) => answer.httpStatus === 200 && answer.broke === null && !answer.left,
  )
}

/** Throws Broken unless so many were answered. */
export function mustAnswer(sent: readonly Sent[], count = sent.length): void {
  const whole = answered(sent).length
  if (whole >= count) return
  const other = sent.find(
    ({ answer }) => answer.httpStatus !== 200 || answer.broke !== null,
  )?.answer
  const words = other?.broke ?? `${other?.httpStatus}: ${other?.text.slice(0, 200)}`
  throw new Broken(
    `${whole} of ${sent.length} were answered, needed ${count}; the first other: ${words}`,
  )
}

/** A sum with thousands marked. */
export function money(micros: number): string {
  return micros.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

/** One sum as a part of another. */
export function ratio(micros: number, of: number): string {
  return of === 0 ? (micros === 0 ? '0 of 0' : 'of 0') : `${(micros / of).toFixed(2)} ×`
}

/** Pass or fail. */
export function judge(isKept: boolean, words: string, figures: Verdict['figures'] = {}): Verdict {
  return { verdict: isKept ? 'pass' : 'fail', words, figures }
}

/** Compares what was charged with the bill, to 1 micro-dollar a request. */
export function compare(charged: number, billed: number, requests: number): Verdict {
  const words = `charged ${money(charged)}, billed ${money(billed)} (${ratio(charged, billed)})`
  return judge(Math.abs(charged - billed) <= requests, words, { charged, billed })
}

interface Ruled {
  readonly rule: string
  readonly charged: number
  readonly sums: Readonly<Record<'prompt' | 'billed' | 'whole', number>>
  readonly requests: number
  readonly more?: string
}

/** Holds a gateway to its own written rule; without one, the words and figures stand alone. */
export function byRule(lab: Lab, { rule, charged, sums, requests, more = '' }: Ruled): Verdict {
  const share = `charged ${money(charged)}, billed ${money(sums.billed)} (${ratio(charged, sums.billed)})${more}`
  const figures = { charged, ...sums }
  const policy = lab.adapter.policy[rule]
  if (policy === undefined)
    return { verdict: 'figure', words: `no written rule: ${share}`, figures }
  const expected = policy.charge === 'nothing' ? 0 : sums[policy.charge]
  const tolerance = policy.charge === 'billed' ? Math.max(requests, expected / 4) : requests
  const isKept = Math.abs(charged - expected) <= tolerance
  return judge(isKept, `by its rule (${policy.charge} is charged), ${share}`, figures)
}
