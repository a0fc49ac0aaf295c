import { createHash } from 'node:crypto'
import { cpus, loadavg, platform, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Adapter, AdapterError } from './adapter/adapter.ts'
import { Gateway } from './adapter/gateway.ts'
import { GROUPS } from './checks/checks.ts'
import {
  Broken,
  type Check,
  Lab,
  mustAnswer,
  type Need,
  NotTried,
  type Verdict,
} from './checks/lab.ts'
import { PLAIN_MICROS } from './checks/limits.ts'
import { microsOf } from './provider/bill.ts'
import { type Provider, startProvider } from './provider/provider.ts'

/** What a check found, over all rounds. */
export interface Outcome extends Verdict {
  readonly group: string
  readonly check: string
  readonly seconds: number
  readonly rounds: readonly Round[]
}

interface Round extends Verdict {
  readonly settledMs: number
  readonly requests: readonly {
    readonly id: string
    readonly status: number
    readonly billed: number
  }[]
}

/** A run, as it is written to a result file. */
export interface Result {
  readonly suite: string
  readonly gateway: string
  readonly version: string
  /** The version as the gateway itself reports it; null where the adapter does not ask. */
  readonly reported: string | null
  readonly variant: string
  readonly adapter: string
  readonly adapterHash: string
  readonly docs: string
  readonly replies: string | null
  readonly lacks: Adapter['lacks']
  readonly footnotes: Adapter['footnotes']
  readonly policy: Adapter['policy']
  readonly machine: string
  /** Whether the machine had other work. */
  readonly busy: boolean
  readonly quick: boolean
  readonly command: string
  readonly startedAt: string
  readonly seconds: number
  readonly checks: readonly Outcome[]
}

interface RunInput {
  readonly adapter: Adapter
  readonly variant: string
  readonly suite: string
  readonly command: string
  readonly only: readonly string[]
  readonly rounds: number
  readonly quick: boolean
  readonly busy: boolean
  readonly binary: string | null
  readonly urls: Readonly<Record<'postgres' | 'redis', string | null>>
  /** Says what runs now, and what was found. */
  readonly tell: (told: Outcome | string) => void
}

const CHECK_S = 120
const LOAD_MAX = 0.5
// Requests of a check in a result file: enough to see what went wrong.
const REQUESTS_KEPT = 20

/** Runs checks against a gateway and returns what they found. Throws AdapterError where they can't begin. */
export async function runChecks(input: RunInput): Promise<Result> {
  const { adapter, tell } = input
  const load = (loadavg()[0] ?? 0) / cpus().length
  if (load > LOAD_MAX && !input.busy)
    throw new AdapterError(
      `the machine is busy: a load of ${load.toFixed(2)} a core; --busy runs nevertheless, and the result says so`,
    )
  const names = GROUPS.flatMap(([group, checks]) => [group, ...checks.map(({ name }) => name)])
  const unknown = input.only.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new AdapterError(`no check or group ${unknown}. These are: ${names.join(', ')}`)
  const startedAt = Date.now()
  const provider = await startProvider(adapter.provider_port)
  try {
    tell(`starting ${adapter.gateway} ${adapter.version}`)
    const gateway = await Gateway.open({ ...input, providerPort: provider.port })
    try {
      await passGate(gateway, provider)
      const checks: Outcome[] = []
      for (const [group, check] of chosen(input.only)) {
        tell(check.name)
        const outcome = await runCheck({ group, check, gateway, provider, input })
        checks.push(outcome)
        tell(outcome)
      }
      const reported =
        adapter.reported === undefined ? null : await gateway.readText(adapter.reported)
      return { ...describe(input, startedAt), reported, checks }
    } finally {
      await gateway.close()
    }
  } finally {
    await provider.close()
  }
}

function describe(input: RunInput, startedAt: number): Omit<Result, 'reported' | 'checks'> {
  const { adapter, suite, variant, busy, quick, command } = input
  const { gateway, version, docs, lacks, footnotes, policy } = adapter
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return {
    ...{ suite, gateway, version, variant, docs, lacks, footnotes, policy, busy, quick, command },
    adapter: adapter.file,
    adapterHash: createHash('sha256').update(adapter.text).digest('hex'),
    replies: adapter.replies ?? null,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${memoryGb} GB, ${platform()}`,
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round((Date.now() - startedAt) / 1_000),
  }
}

function chosen(only: readonly string[]): (readonly [string, Check])[] {
  return GROUPS.flatMap(([group, checks]) =>
    checks
      .filter(({ name }) => only.length === 0 || only.includes(group) || only.includes(name))
      .map((check) => [group, check] as const),
  )
}

/** Nothing is judged before one plain request was answered, billed and charged. */
async function passGate(gateway: Gateway, provider: Provider): Promise<void> {
  const lab = new Lab({ gateway, provider, quick: true, prefix: 'gate-0-' })
  try {
    const purse = await lab.fund(100 * PLAIN_MICROS)
    mustAnswer([await lab.send(purse)])
    const charged = gateway.adapter.spent === undefined ? 1 : await lab.spent(purse)
    if (lab.billed() === PLAIN_MICROS * gateway.adapter.fee_factor && charged > 0) return
    throw new Broken(
      `billed ${lab.billed()}, charged ${charged}: is there a price in its settings?`,
    )
  } catch (error) {
    throw new AdapterError(
      `one plain request did not work, so nothing is judged: ${wordsOf(error)}`,
      { cause: error },
    )
  }
}

interface CheckInput {
  readonly group: string
  readonly check: Check
  readonly gateway: Gateway
  readonly provider: Provider
  readonly input: RunInput
}

async function runCheck({ group, check, gateway, provider, input }: CheckInput): Promise<Outcome> {
  const startedAt = Date.now()
  const missing = lackOf(check, gateway.adapter)
  const rounds: Round[] = []
  for (let round = 1; round <= input.rounds && missing === null; round++) {
    const lab = new Lab({
      gateway,
      provider,
      quick: input.quick,
      prefix: `${check.name}-${round}-`,
    })
    const verdict = await Promise.race([judged(check, lab), tooLong(check)])
    const requests = lab.sent.slice(0, REQUESTS_KEPT).map(({ id, answer }) => ({
      id,
      status: answer.httpStatus,
      billed: lab.lines(id).reduce((sum, line) => sum + microsOf(line), 0),
    }))
    rounds.push({ ...verdict, settledMs: lab.settledMs, requests })
    if (verdict.verdict === 'not tried' || verdict.verdict === 'broken') break
  }
  const seconds = Math.round((Date.now() - startedAt) / 100) / 10
  return { group, check: check.name, seconds, rounds, ...(missing ?? sumUp(rounds)) }
}

async function judged(check: Check, lab: Lab): Promise<Verdict> {
  try {
    return await check.run(lab)
  } catch (error) {
    return { verdict: error instanceof NotTried ? 'not tried' : 'broken', words: wordsOf(error) }
  }
}

async function tooLong({ within = CHECK_S }: Check): Promise<Verdict> {
  await sleep(within * 1_000, undefined, { ref: false })
  return { verdict: 'broken', words: `no verdict in ${within} s` }
}

/** Of several rounds, the worst counts. */
function sumUp(rounds: readonly Round[]): Verdict {
  const failed = rounds.filter(({ verdict }) => verdict === 'fail')
  const worst = rounds.find(({ verdict }) => verdict === 'broken') ?? failed[0] ?? rounds.at(-1)
  const { verdict = 'broken', words = 'no round', figures = {} } = worst ?? {}
  const share =
    verdict === 'fail' && rounds.length > 1 ? `   ${failed.length}/${rounds.length}` : ''
  return { verdict, words: words + share, figures }
}

function lackOf(check: Check, adapter: Adapter): Verdict | null {
  const lacks = adapter.lacks[check.name]
  if (lacks !== undefined) return { verdict: 'n/a', words: lacks }
  const budgeted = UNBUDGETED.includes(check.name) ? [] : (['spent'] as const)
  for (const need of [...budgeted, ...(check.needs ?? [])]) {
    if (has(adapter, need)) continue
    const page = adapter.lacks[need]
    if (page !== undefined) return { verdict: 'n/a', words: page }
    return { verdict: 'not tried', words: adapter.untried[need] ?? `the adapter has no ${need}` }
  }
  return null
}

// What a gateway without budgets is asked all the same.
const UNBUDGETED = ['prompts', 'secrets', 'bytes', 'whole-streams', 'cost']

function has(adapter: Adapter, need: Need | 'spent'): boolean {
  if (need === 'messages') return adapter.formats.includes('messages')
  if (need === 'store') return adapter.needs.length > 0
  return adapter[need] !== undefined
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
