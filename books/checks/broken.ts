import { microsOf, PRICES, promptMicros } from '../provider/bill.ts'
import { type Scripted, scriptOf } from '../provider/script.ts'
import {
  answered,
  Broken,
  byRule,
  type Check,
  judge,
  type Lab,
  money,
  mustAnswer,
  ratio,
  type Sent,
  type Verdict,
} from './lab.ts'

interface Ending {
  readonly charged: number
  readonly sent: readonly Sent[]
  readonly sums: { readonly prompt: number; readonly billed: number; readonly whole: number }
  /** Tokens that the provider generated after the client had left. */
  readonly after: number
  readonly rows: number | null
}

/** Sends some requests that end the same way, and adds up what they cost. */
async function endLike(
  lab: Lab,
  scripted: Scripted,
  send: Parameters<Lab['send']>[2],
): Promise<Ending> {
  const count = lab.few(5, 20)
  const script = scriptOf('', scripted)
  const whole = promptMicros(script) + script.out * PRICES.output
  const purse = await lab.fund(count * whole * 5)
  const sent = await lab.many(count, 10, () => lab.send(purse, scripted, send))
  const charged = await lab.spent(purse)
  const lines = lab.lines()
  if (lines.length < count)
    throw new Broken(`${lines.length} of ${count} requests arrived at the provider`)
  const shown = sent.reduce((sum, { answer }) => sum + Math.max(0, answer.events.length - 1), 0)
  const { rows } = lab.adapter
  return {
    charged,
    sent,
    sums: {
      prompt: count * promptMicros(script) * lab.adapter.fee_factor,
      billed: lines.reduce((sum, line) => sum + microsOf(line), 0) * lab.adapter.fee_factor,
      whole: count * whole * lab.adapter.fee_factor,
    },
    after: Math.max(0, lines.reduce((sum, { out }) => sum + out, 0) - shown),
    rows: rows === undefined ? null : (await lab.gateway.rows(rows, purse.values)).length,
  }
}

const sums = ({ charged, sums: { billed } }: Ending): string =>
  `charged ${money(charged)}, billed ${money(billed)} (${ratio(charged, billed)})`

/** A broken answer is charged by a rule, at most the bill, and has a row. */
async function brokenAnswer(lab: Lab, rule: string, scripted: Scripted): Promise<Verdict> {
  const ending = await endLike(lab, scripted, { stream: true })
  const { charged, sent, rows } = ending
  const arrivals = lab.lines().length
  const words = `${sums(ending)}; ${arrivals} calls for ${sent.length} requests, rows: ${rows ?? 'not read'}`
  const isBounded =
    charged <= ending.sums.billed + sent.length && (rows === null || rows >= sent.length)
  if (!isBounded || lab.adapter.policy[rule] === undefined)
    return judge(isBounded, words, { charged, ...ending.sums })
  return byRule(lab, {
    rule,
    charged,
    sums: ending.sums,
    requests: sent.length,
    more: `; ${words}`,
  })
}

/** Whether answers that do not reach their end follow a rule. */
export const BROKEN: readonly Check[] = [
  {
    name: 'left-early',
    promise: 'leaving before the first token follows a rule',
    async run(lab) {
      const ending = await endLike(lab, { wait: 1_500 }, { stream: true, leaveAfterMs: 400 })
      const { charged, sent } = ending
      return byRule(lab, { rule: 'left_early', charged, sums: ending.sums, requests: sent.length })
    },
  },
  {
    name: 'left-midway',
    promise: 'reading half costs half',
    async run(lab) {
      let seen = 0
      const isToken = (event: string): boolean => event.includes('"content":" ')
      const ending = await endLike(
        lab,
        { out: 200, gap: 20 },
        { stream: true, leaveAt: (_, count) => ++seen > 0 && count >= 21 },
      )
      const { charged, sent } = ending
      const { billed } = ending.sums
      if (!sent.some(({ answer }) => answer.events.some(isToken)))
        throw new Broken('no token was shown')
      const more = `; ${ending.after} tokens generated after ${sent.length} clients left`
      if (lab.adapter.policy['left_midway'] !== undefined)
        return byRule(lab, {
          rule: 'left_midway',
          charged,
          sums: ending.sums,
          requests: sent.length,
          more,
        })
      return judge(charged >= 0.75 * billed && charged <= 1.25 * billed, sums(ending) + more, {
        charged,
        billed,
        after: ending.after,
      })
    },
  },
  {
    name: 'left-before-usage',
    promise: 'reading all and leaving is not free',
    async run(lab) {
      const ending = await endLike(
        lab,
        { out: 200, usage: 'late' },
        { stream: true, leaveAt: (event) => /"finish_reason":\s*"(?:stop|length)"/.test(event) },
      )
      const { charged } = ending
      if (ending.sent.filter(({ answer }) => answer.left).length === 0)
        throw new Broken('no finish chunk was shown')
      return judge(charged >= 0.9 * ending.sums.billed, sums(ending), { charged, ...ending.sums })
    },
  },
  {
    name: 'dropped',
    promise: 'an answer that the provider breaks off follows a rule',
    run: (lab) => brokenAnswer(lab, 'dropped', { out: 100, fault: 'drop', after: 30 }),
  },
  {
    name: 'lost',
    promise: 'an answer that is lost at its end follows a rule',
    run: (lab) => brokenAnswer(lab, 'lost', { fault: 'lost' }),
  },
  {
    name: 'slots',
    promise: 'who leaves takes no place',
    async run(lab) {
      const purse = await lab.fund(2_000_000)
      const count = lab.few(60, 200)
      const { in_flight: most } = lab.adapter
      await lab.many(count, most, () =>
        lab.send(purse, { wait: 1_500 }, { stream: true, leaveAfterMs: 150 }),
      )
      await lab.spent(purse)
      const startedAt = Date.now()
      const sent = await lab.many(most, most, () => lab.send(purse, {}, { timeoutMs: 10_000 }))
      const whole = answered(sent).length
      const other = sent.find(({ answer }) => answer.httpStatus !== 200)?.answer
      if (lab.lines().length === 0) mustAnswer(sent)
      const words = `after ${count} cancels, ${whole} of ${most} at once answered in ${Date.now() - startedAt} ms${other === undefined ? '' : `, others ${other.httpStatus}`}`
      return judge(whole === most, words, { answered: whole })
    },
  },
]
