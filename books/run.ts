import { createHash } from 'node:crypto'
import { cpus, loadavg, platform, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Adapter, AdapterError } from './adapter/adapter.ts'
import { Gateway, type Machine } from './adapter/gateway.ts'
import { CHECKS } from './checks/checks.ts'
import { type Check, Lab, PLAIN_MICROS } from './checks/lab.ts'
import { mustAnswer } from './checks/sent.ts'
import { Broken, Lacking, type Verdict } from './checks/verdict.ts'
import { wordsOf } from './json.ts'
import { microsOf } from './provider/bill.ts'
import { startProvider } from './provider/provider.ts'

/** What a check found, over all rounds. */
export interface Outcome extends Verdict {
  readonly group: string
  readonly check: string
  readonly seconds: number
  readonly rounds: readonly Round[]
}

interface Round extends Verdict {
  readonly settledMs: number
  readonly requests: readonly { id: string; status: number; billed: number }[]
}

type Told = Pick<Adapter, 'gateway' | 'version' | 'docs' | 'lacks' | 'footnotes' | 'policy'>

/** A run, as it is written to a result file. */
export interface Result
  extends Told,
    Pick<RunInput, 'suite' | 'variant' | 'busy' | 'quick' | 'command'> {
  /** The version as the gateway itself reports it; null where the adapter does not ask. */
  readonly reported: string | null
  readonly adapter: string
  readonly adapterHash: string
  readonly replies: string | null
  readonly machine: string
  readonly startedAt: string
  readonly seconds: number
  readonly checks: readonly Outcome[]
}

interface RunInput extends Machine {
  readonly adapter: Adapter
  readonly variant: string
  readonly suite: string
  readonly command: string
  /** Names of checks and groups; all where there is none. */
  readonly only: readonly string[]
  readonly rounds: number
  readonly quick: boolean
  /** How long requests that ended may keep money reserved, in milliseconds. */
  readonly patienceMs: number
  /** Whether the machine has other work. */
  readonly busy: boolean
  /** Says what runs now, and what was found. */
  readonly tell: (told: Outcome | string) => void
}

const CHECK_S = 120
const LOAD_MAX = 0.5
// Requests of a check in a result file: enough to see what went wrong.
const REQUESTS_KEPT = 20

/** Runs checks against a gateway and returns what they found. Throws AdapterError where they can't begin. */
export async function runChecks(input: RunInput): Promise<Result> {
  const { adapter, only, tell } = input
  const load = (loadavg()[0] ?? 0) / cpus().length
  if (load > LOAD_MAX && !input.busy)
    throw new AdapterError(
      `the machine is busy: a load of ${load.toFixed(2)} a core; --busy runs nevertheless, and the result says so`,
    )
  const names = [...new Set(CHECKS.flatMap(({ group, name }) => [group, name]))]
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new AdapterError(`no check or group ${unknown}. These are: ${names.join(', ')}`)
  const startedAt = Date.now()
  const provider = await startProvider(adapter.provider_port)
  const gateway = new Gateway(adapter, provider.port, input)
  const bench = { gateway, provider, quick: input.quick, patienceMs: input.patienceMs }
  try {
    tell(`starting ${adapter.gateway} ${adapter.version}`)
    await gateway.open()
    await passGate(new Lab({ ...bench, quick: true }, 'gate-0-'))
    const checks: Outcome[] = []
    for (const { group, name, check } of CHECKS) {
      if (only.length > 0 && !only.includes(group) && !only.includes(name)) continue
      tell(name)
      const labs = Array.from(
        { length: input.rounds },
        (_, round) => new Lab(bench, `${name}-${round + 1}-`),
      )
      const outcome = { group, check: name, ...(await roundsOf(check, labs)) }
      checks.push(outcome)
      tell(outcome)
    }
    const { reported } = adapter
    return {
      ...describe(input, startedAt),
      reported: reported === undefined ? null : await gateway.readText(reported),
      checks,
    }
  } finally {
    await gateway.close()
    await provider.close()
  }
}

function describe(input: RunInput, startedAt: number): Omit<Result, 'reported' | 'checks'> {
  const { adapter, suite, variant, busy, quick, command } = input
  const { gateway, version, docs, lacks, footnotes, policy, replies = null } = adapter
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return {
    ...{ suite, gateway, version, variant, docs, lacks, footnotes, policy, busy, quick, command },
    adapter: adapter.file,
    adapterHash: createHash('sha256').update(adapter.text).digest('hex'),
    replies,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${memoryGb} GB, ${platform()}`,
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round((Date.now() - startedAt) / 1_000),
  }
}

/** Nothing is judged before one plain request was answered, billed and charged. */
async function passGate(lab: Lab): Promise<void> {
  const { spent, fee_factor } = lab.adapter
  try {
    const purse = await lab.client()
    mustAnswer([await lab.send(purse)])
    const charged = spent === undefined ? 1 : await lab.spent(purse)
    if (lab.billed() === PLAIN_MICROS * fee_factor && charged > 0) return
    throw new Broken(
      `billed ${lab.billed()}, charged ${charged}: is there a price in its settings?`,
    )
  } catch (error) {
    const words = `one plain request did not work, so nothing is judged: ${wordsOf(error)}`
    throw new AdapterError(words, { cause: error })
  }
}

/** Runs a check in one lab after another, as long as it is judged. */
async function roundsOf(
  check: Check,
  labs: readonly Lab[],
): Promise<Omit<Outcome, 'group' | 'check'>> {
  const startedAt = Date.now()
  const rounds: Round[] = []
  for (const lab of labs) {
    const verdict = await Promise.race([judged(check, lab), tooLong(check)])
    const requests = lab.sent.slice(0, REQUESTS_KEPT).map((sent) => ({
      id: sent.id,
      status: sent.answer.httpStatus,
      billed: microsOf(...lab.lines([sent])),
    }))
    rounds.push({ ...verdict, settledMs: lab.settledMs, requests })
    if (!JUDGED.includes(verdict.verdict)) break
  }
  const seconds = Math.round((Date.now() - startedAt) / 100) / 10
  return { seconds, rounds, ...sumUp(rounds) }
}

const JUDGED = ['pass', 'fail', 'figure']

async function judged(check: Check, lab: Lab): Promise<Verdict> {
  try {
    return await check.run(lab)
  } catch (error) {
    const words = wordsOf(error)
    if (error instanceof Lacking) return { verdict: error.isByDocs ? 'n/a' : 'not tried', words }
    return { verdict: 'broken', words }
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
  const isSome = verdict === 'fail' && rounds.length > 1
  const share = isSome ? `   ${failed.length}/${rounds.length}` : ''
  return { verdict, words: words + share, figures }
}
