import { hash } from 'node:crypto'
import { cpus, loadavg, platform, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Adapter } from './adapter/adapter.ts'
import { Gateway, type Machine, type Row } from './adapter/gateway.ts'
import { broken } from './checks/broken.ts'
import { charges } from './checks/charges.ts'
import { type Check, check, Lab, PLAIN_MICROS } from './checks/lab.ts'
import { limits } from './checks/limits.ts'
import { mustAnswer, type Sent } from './checks/sent.ts'
import { survives } from './checks/survives.ts'
import { tells } from './checks/tells.ts'
import { judge, Lacking, type Verdict } from './checks/verdict.ts'
import { wire } from './checks/wire.ts'
import { wordsOf } from './json.ts'
import { type Line, microsOf } from './provider/bill.ts'
import { startProvider } from './provider/provider.ts'

/** All checks with their groups, in the order in which they run. */
export const CHECKS = Object.entries({ limits, charges, broken, survives, tells, wire }).flatMap(
  ([group, checks]) => Object.entries(checks).map(([name, check]) => ({ group, name, check })),
)

/** The result of a check, over all rounds. */
export interface Outcome extends Verdict {
  readonly group: string
  readonly check: string
  readonly seconds: number
  readonly rounds: readonly Round[]
}

type Round = Awaited<ReturnType<typeof roundOf>>

/** A run, as it is written to a result file. */
export type Result = ReturnType<typeof describe> & {
  /** The version as the gateway itself reports it; null where the adapter does not ask. */
  readonly reported: string | null
  readonly checks: readonly Outcome[]
  /** Checks whose cells a maker disputes: written by hand, until a new run settles it. */
  readonly disputed?: readonly string[]
}

/** The input of a run. */
export interface RunInput extends Machine {
  readonly adapter: Adapter
  readonly variant: string
  readonly suite: string
  readonly command: string
  /** Names of checks and groups. */
  readonly only: readonly string[]
  readonly rounds: number
  readonly quick: boolean
  /** How long requests that ended may keep money reserved, in milliseconds. */
  readonly patienceMs: number
  /** Whether the machine has other work. */
  readonly busy: boolean
  /** Hears what runs now, with words for the time left; then what was found. */
  readonly tell: (told: Outcome | string, left?: string) => void
  /** Hears of each request of a check that ended. */
  readonly trace?: ((sent: Sent, lines: readonly Line[], row: Row | undefined) => void) | undefined
}

const LOAD_MAX = 0.5
// Requests of a check in a result file: enough to see what went wrong.
const REQUESTS_KEPT = 20

/** Runs checks against a gateway and returns what they found. Throws where they can't begin. */
export async function runChecks(input: RunInput): Promise<Result> {
  const { adapter, only, tell } = input
  const load = (loadavg()[0] ?? 0) / cpus().length
  const words = `the machine is busy: a load of ${load.toFixed(2)} a core; --busy runs nevertheless`
  if (load > LOAD_MAX && !input.busy) throw new Error(`${words}, and the result says so`)
  const names = new Set(CHECKS.flatMap(({ group, name }) => [group, name]))
  const unknown = only.find((name) => !names.has(name))
  if (unknown !== undefined)
    throw new Error(`no check or group ${unknown}. These are: ${[...names].join(', ')}`)
  const chosen = CHECKS.filter(({ group, name }) => only.includes(group) || only.includes(name))
  const startedAt = Date.now()
  const provider = await startProvider(adapter.provider_port)
  const gateway = new Gateway(adapter, provider.port, input)
  const bench = { gateway, provider, quick: input.quick, patienceMs: input.patienceMs }
  try {
    tell(`starting ${adapter.gateway} ${adapter.version}`)
    await gateway.open()
    const gate = await roundOf(GATE, new Lab({ ...bench, quick: true }, 'gate-0-'), undefined)
    if (gate.verdict !== 'pass')
      throw new Error(`one plain request did not work, so nothing is judged: ${gate.words}`)
    const checks: Outcome[] = []
    const firstAt = Date.now()
    for (const [index, { group, name, check }] of chosen.entries()) {
      const begunAt = Date.now()
      const rounds: Round[] = []
      while (rounds.length < input.rounds && rounds.every(isJudged)) {
        const done = (index + rounds.length / input.rounds) / chosen.length
        tell(name, leftText(Date.now() - firstAt, done))
        const lab = new Lab(bench, `${name}-${rounds.length + 1}-`)
        rounds.push(await roundOf(check, lab, input.trace))
      }
      const seconds = Math.round((Date.now() - begunAt) / 100) / 10
      const outcome = { group, check: name, seconds, rounds, ...sumUp(rounds) }
      checks.push(outcome)
      tell(outcome)
    }
    const reported = adapter.reported ? String(await gateway.ask(adapter.reported)) : null
    return { ...describe(input, startedAt), reported, checks }
  } finally {
    await gateway.close()
    await provider.close()
  }
}

function describe(input: RunInput, startedAt: number) {
  const { suite, variant, busy, quick, command } = input
  const { gateway, version, docs, lacks, footnotes, policy, replies = null } = input.adapter
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return {
    ...{ suite, gateway, version, variant, docs, lacks, footnotes, policy, busy, quick, command },
    ...{ adapter: input.adapter.file, adapterHash: hash('sha256', input.adapter.text), replies },
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${memoryGb} GB, ${platform()}`,
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round((Date.now() - startedAt) / 1_000),
  }
}

/** Nothing is judged before this is kept. */
const GATE = check('one plain request is answered, billed and charged', async (lab) => {
  const { spent, fee_factor } = lab.adapter
  const purse = await lab.client()
  mustAnswer([await lab.send(purse)])
  const charged = spent === undefined ? 1 : await lab.spent(purse)
  const words = `billed ${lab.billed()}, charged ${charged}: is there a price in its settings?`
  return judge(lab.billed() === PLAIN_MICROS * fee_factor && charged > 0, { words })
})

/** Whether a promise was put to the test. */
export const isJudged = ({ verdict }: Verdict): boolean =>
  ['pass', 'fail', 'figure'].includes(verdict)

/** About how long a run takes on, where this part of it is done, from 0 to 1; '' at its start. */
export function leftText(elapsedMs: number, done: number): string {
  if (done === 0) return ''
  const leftS = (elapsedMs * (1 - done)) / done / 1_000
  return `, about ${leftS < 90 ? `${Math.ceil(leftS)} s` : `${Math.ceil(leftS / 60)} min`} left`
}

/** The result of a check in one lab, within its time limit. */
async function roundOf({ run, within }: Check, lab: Lab, trace: RunInput['trace']) {
  const tooLong = { verdict: 'broken', words: `no verdict in ${within} s` } as const
  const late = sleep<Verdict>(within * 1_000, tooLong, { ref: false })
  const verdict: Verdict = await Promise.race([run(lab), late]).catch((error) => ({
    verdict: error instanceof Lacking ? error.verdict : 'broken',
    words: wordsOf(error),
  }))
  // A gateway that lists no requests any more was judged nevertheless.
  const rowOf = await lab.rowFinder().catch(() => () => undefined)
  for (const sent of lab.sent) trace?.(sent, lab.lines([sent]), rowOf(sent))
  const requests = lab.sent.slice(0, REQUESTS_KEPT).map((sent) => {
    const billed = microsOf(...lab.lines([sent]))
    const charged = rowOf(sent)?.micros ?? null
    return { id: sent.id, status: sent.answer.httpStatus, billed, charged }
  })
  return { ...verdict, settledMs: lab.settledMs, requests }
}

/** The worst of several rounds counts. */
function sumUp(rounds: readonly Round[]): Verdict {
  const failed = rounds.filter(({ verdict }) => verdict === 'fail')
  const worst = rounds.find(({ verdict }) => verdict === 'broken') ?? failed[0] ?? rounds.at(-1)
  const { verdict = 'broken', words = 'no round', figures = {} } = worst ?? {}
  const isSome = verdict === 'fail' && rounds.length > 1
  return { verdict, words: words + (isSome ? `   ${failed.length}/${rounds.length}` : ''), figures }
}
