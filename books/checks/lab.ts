import { setTimeout as sleep } from 'node:timers/promises'
import type { Adapter, Reading, Step, Values } from '../adapter/adapter.ts'
import { type Gateway, moneyIn, type Row } from '../adapter/gateway.ts'
import { type Answer, type Asking, ask, atOnce, NOTHING } from '../client.ts'
import { type Line, microsOf } from '../provider/bill.ts'
import type { Provider } from '../provider/provider.ts'
import { promptOf, type Scripted, scriptOf } from '../provider/script.ts'

/** What a check found in one round. */
export interface Verdict {
  readonly verdict: 'pass' | 'fail' | 'figure' | 'n/a' | 'not tried' | 'broken'
  readonly words: string
  readonly figures?: Readonly<Record<string, number>>
}

/** One promise, and how it is put to the test. */
export interface Check {
  readonly promise: string
  /** Seconds after which it is broken. */
  readonly within?: number
  run(lab: Lab): Promise<Verdict>
}

/** Checks by name, in the order in which they run. */
export type Checks = Readonly<Record<string, Check>>

/** The suite could not put the promise to the test; shown, never counted. */
export class Broken extends Error {}

/** The gateway, its adapter or the machine lacks what a check needs. */
export class Lacking extends Error {
  readonly isByDocs: boolean

  constructor(words: string, isByDocs = false) {
    super(words)
    this.isByDocs = isByDocs
  }
}

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

/** What a plain request costs: 100 tokens in, 50 out. */
export const PLAIN_MICROS = 3_500

const AMPLE_MICROS = 100_000_000
const STILL_MS = 4_000
const STILL_QUICK_MS = 1_000
const SETTLES_S = 60

type Parts = Pick<Lab, 'gateway' | 'provider' | 'quick' | 'patienceMs' | 'prefix'>

/** What a check works with: a gateway, the provider's bill, and clients. */
export class Lab {
  readonly gateway: Gateway
  readonly adapter: Adapter
  readonly provider: Provider
  readonly quick: boolean
  readonly patienceMs: number
  readonly prefix: string
  readonly sent: Sent[] = []
  settledMs = 0
  #named = 0

  constructor({ gateway, provider, quick, patienceMs, prefix }: Parts) {
    this.gateway = gateway
    this.adapter = gateway.adapter
    this.provider = provider
    this.quick = quick
    this.patienceMs = patienceMs
    this.prefix = prefix
  }

  /** A section of the adapter, or a store or format. Throws Lacking where the adapter has none. */
  need<Section extends keyof Adapter>(section: Section): NonNullable<Adapter[Section]> {
    const found = this.adapter[section]
    return found === undefined || found === null ? this.lack(section) : found
  }

  /** Throws Lacking with what the adapter says about something that it does not have. */
  lack(name: string): never {
    const { lacks, untried, spent } = this.adapter
    // Who knows no money has none of the rest.
    const of = spent === undefined && name !== 'start' ? 'spent' : name
    if (lacks[of] !== undefined) throw new Lacking(lacks[of], true)
    throw new Lacking(untried[of] ?? `the adapter has no ${of}`)
  }

  /** A new account with a key, and no more money than this. */
  async fund(micros: number): Promise<Purse> {
    this.need('spent')
    return this.#open(micros)
  }

  /** A new key with more money than its requests cost; also of a gateway that knows no money. */
  client(): Promise<Purse> {
    return this.#open(AMPLE_MICROS)
  }

  async #open(micros: number): Promise<Purse> {
    const { new_account = [], new_key, fee_factor } = this.adapter
    const money = moneyIn(Math.ceil(micros * fee_factor))
    return this.#purse([...new_account, ...new_key], money)
  }

  /** One more key of the same account. */
  anotherKey({ values }: Purse): Promise<Purse> {
    return this.#purse(this.adapter.new_key, values)
  }

  async #purse(steps: readonly Step[], given: Values): Promise<Purse> {
    const prefix = `${this.prefix}${++this.#named}`
    const values = await this.gateway.run(steps, { ...given, prefix })
    return { values, apiKey: values['key'] ?? '' }
  }

  /** Sends one request, of which the script says what the provider does. */
  async send(purse: Purse, scripted: Scripted = {}, sending: Sending = {}): Promise<Sent> {
    const { stream = false, format = 'chat', unasked = false, url = this.gateway.url } = sending
    const { model = this.adapter.model } = sending
    const isChat = format === 'chat'
    const id = `${this.prefix}${this.sent.length + 1}`
    const place = this.sent.push({ id, answer: NO_ANSWER }) - 1
    const script = scriptOf(id, scripted)
    const cap = sending.cap === undefined ? script.out : sending.cap
    const content = promptOf(script)
    const body = {
      model,
      messages: [{ role: 'user', content }],
      ...(cap === null ? {} : { max_tokens: cap }),
      ...(stream ? { stream } : {}),
      ...(stream && !unasked && isChat ? { stream_options: { include_usage: true } } : {}),
    }
    const answer = await ask({
      ...sending,
      url: `${url}${isChat ? '/v1/chat/completions' : '/v1/messages'}`,
      headers: {
        'content-type': 'application/json',
        ...this.gateway.headers,
        authorization: `Bearer ${purse.apiKey}`,
        ...(isChat ? {} : { 'anthropic-version': '2023-06-01', 'x-api-key': purse.apiKey }),
      },
      body:
        sending.body?.replace('{prompt}', () => JSON.stringify(content).slice(1, -1)) ??
        JSON.stringify(body),
    })
    const sent = { id, answer }
    this.sent[place] = sent
    return sent
  }

  /** Sends the same request so often, at most so many at once. */
  many(count: number, most: number, send: (index: number) => Promise<Sent>): Promise<Sent[]> {
    const tasks = Array.from({ length: count }, (_, index) => () => send(index))
    return atOnce(most, tasks)
  }

  /** The provider's lines of this check, or of some of its requests. */
  lines(of?: readonly Sent[]): readonly Line[] {
    const ids = new Set(of?.map(({ id }) => id))
    return this.provider.bill.lines(this.prefix).filter(({ id }) => !of || ids.has(id))
  }

  /** What the provider bills for this check, or for some of its requests, with the platform's fee. */
  billed(of?: readonly Sent[]): number {
    return microsOf(...this.lines(of)) * this.adapter.fee_factor
  }

  /** Waits until a condition holds, or so long. */
  async until(isSo: () => boolean, withinMs = 30_000): Promise<void> {
    const startedAt = Date.now()
    while (!isSo() && Date.now() - startedAt < withinMs) await sleep(10)
  }

  /** Waits until no request runs and the sum stands still, and returns what the purse was charged. */
  async spent(purse: Purse): Promise<number> {
    const { spent } = this.adapter
    const mostMs = (spent?.settles_within_s ?? SETTLES_S) * 1_000
    const hasEnded = (): boolean => this.lines().every(({ end }) => end !== 'running')
    await this.until(hasEnded, this.quick ? Math.min(10_000, mostMs) : mostMs)
    if (spent === undefined) return 0
    const usualMs = this.quick ? STILL_QUICK_MS : STILL_MS
    const stillMs = Math.min(Math.max(usualMs, (spent.flushes_every_s ?? 0) * 1_000), mostMs)
    const startedAt = Date.now()
    let since = startedAt
    let micros = await this.read(spent, purse)
    while (Date.now() - since < stillMs && Date.now() - startedAt < mostMs) {
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

  /** The gateway's own rows of a purse. Throws Lacking where it lists none. */
  rows({ values }: Purse): Promise<readonly Row[]> {
    return this.gateway.rows(this.need('rows'), values)
  }

  /** The smaller count of a quick run, else the full one. */
  few(quick: number, full: number): number {
    return this.quick ? quick : full
  }
}

const NO_ANSWER: Answer = { ...NOTHING, broke: 'not yet' }

/** The requests that were answered whole. */
export function answered(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ answer }) => isWhole(answer) && !answer.left)
}

const isWhole = ({ httpStatus, broke }: Answer): boolean => httpStatus === 200 && broke === null

/** Whether it was refused as a client's fault. */
export function isRefused({ answer }: Sent): boolean {
  return answer.httpStatus >= 400 && answer.httpStatus < 500
}

/** Throws Broken unless so many were answered. */
export function mustAnswer(sent: readonly Sent[], count = sent.length): void {
  const whole = answered(sent).length
  if (whole >= count) return
  throw new Broken(`${whole} of ${sent.length} were answered, needed ${count}${otherOf(sent)}`)
}

/** What the first was answered that was not answered whole; '' where there is none. */
export function otherOf(sent: readonly Sent[]): string {
  const [other] = sent.filter(({ answer }) => !isWhole(answer))
  if (other === undefined) return ''
  const { broke, httpStatus, text } = other.answer
  return `; the first other: ${broke ?? `${httpStatus}: ${text.slice(0, 200)}`}`
}

/** The sum of rows. */
export function sumOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { micros }) => sum + micros, 0)
}

/** A sum with thousands marked. */
export function money(micros: number): string {
  return micros.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

/** One sum as a part of another. */
export function ratio(micros: number, of: number): string {
  return of === 0 ? (micros === 0 ? '0 of 0' : 'of 0') : `${(micros / of).toFixed(2)} ×`
}

type Told = Pick<Verdict, 'words' | 'figures'>

/** Words of a verdict and its figures at once: `{ charged }` in the text is a sum of this name. */
export function tell(texts: TemplateStringsArray, ...values: readonly unknown[]): Required<Told> {
  const figures: Record<string, number> = {}
  const shown = values.map((value) => {
    if (typeof value !== 'object' || value === null) return String(value)
    Object.assign(figures, value)
    return Object.values(value).map(money).join(', ')
  })
  return { words: String.raw({ raw: texts }, ...shown), figures }
}

/** Pass or fail. */
export function judge(isKept: boolean, told: Told): Verdict {
  return { verdict: isKept ? 'pass' : 'fail', ...told }
}

/** What was charged, beside the bill. */
export function beside(charged: number, billed: number): Required<Told> {
  return tell`charged ${{ charged }}, billed ${{ billed }} (${ratio(charged, billed)})`
}

/** Compares what was charged with the bill, to 1 micro-dollar a request. */
export function compare(charged: number, billed: number, requests: number): Verdict {
  return judge(Math.abs(charged - billed) <= requests, beside(charged, billed))
}

/** Requests that ended the same way: what they were charged, and the sums of which one is the rule. */
export interface Ending {
  readonly sent: readonly Sent[]
  readonly charged: number
  readonly prompt: number
  readonly billed: number
  readonly whole: number
}

/** Holds a gateway to its own written rule; null without one. */
export function byRule(lab: Lab, rule: string, ending: Ending): Verdict | null {
  const policy = lab.adapter.policy[rule]
  if (policy === undefined) return null
  const { charged, billed, sent } = ending
  const expected = policy.charge === 'nothing' ? 0 : ending[policy.charge]
  const tolerance = policy.charge === 'billed' ? Math.max(sent.length, expected / 4) : sent.length
  const { words, figures } = beside(charged, billed)
  return judge(Math.abs(charged - expected) <= tolerance, {
    words: `by its rule (${policy.charge} is charged), ${words}`,
    figures: { ...figures, expected },
  })
}

/** The same verdict with more words. */
export function adding(verdict: Verdict, more: string): Verdict {
  return { ...verdict, words: verdict.words + more }
}
