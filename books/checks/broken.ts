import { PRICES, promptMicros } from '../provider/bill.ts'
import { type Scripted, scriptOf } from '../provider/script.ts'
import {
  adding,
  answered,
  Broken,
  beside,
  byRule,
  type Checks,
  type Ending,
  judge,
  type Lab,
  mustAnswer,
  otherOf,
  tell,
  type Verdict,
} from './lab.ts'

interface Ended extends Ending {
  readonly lab: Lab
  /** What the gateway made of them. */
  readonly words: string
  readonly rows: number | null
}

/** Sends some streams that end the same way, and adds up what they cost. */
async function endLike(
  lab: Lab,
  scripted: Scripted,
  leaving: Parameters<Lab['send']>[2] = {},
): Promise<Ended> {
  const count = lab.few(5, 20)
  const script = scriptOf('', scripted)
  const each = promptMicros(script) + script.out * PRICES.output
  const purse = await lab.fund(count * each * 5)
  const sent = await lab.many(count, 10, () =>
    lab.send(purse, scripted, { stream: true, ...leaving }),
  )
  const charged = await lab.spent(purse)
  const lines = lab.lines()
  if (lines.length < count)
    throw new Broken(`${lines.length} of ${count} requests arrived at the provider`)
  const shown = sent.reduce((sum, { answer }) => sum + Math.max(0, answer.events.length - 1), 0)
  const after = Math.max(0, lines.reduce((sum, { out }) => sum + out, 0) - shown)
  const rows = lab.adapter.rows ? (await lab.rows(purse)).length : null
  const fee = lab.adapter.fee_factor
  const sums = { prompt: count * promptMicros(script) * fee, whole: count * each * fee }
  const left = sent.some(({ answer }) => answer.left)
  const words = left
    ? `; ${after} tokens generated after ${count} clients left`
    : `; ${lines.length} calls for ${count} requests, rows: ${rows ?? 'not read'}`
  return { lab, sent, charged, billed: lab.billed(), ...sums, rows, words }
}

/** Holds an ending to the gateway's rule, or else to bounds; without either it is a figure. */
function judged(ended: Ended, rule: string, isKept: boolean | null): Verdict {
  const { lab, charged, billed, words } = ended
  const told = beside(charged, billed)
  const verdict =
    byRule(lab, rule, ended) ??
    (isKept === null
      ? { ...told, verdict: 'figure' as const, words: `no written rule: ${told.words}` }
      : judge(isKept, told))
  return adding(verdict, words)
}

/** A broken answer is charged by a rule, at most the bill, and has a row. */
async function brokenAnswer(lab: Lab, rule: string, scripted: Scripted): Promise<Verdict> {
  const ended = await endLike(lab, scripted)
  const { charged, billed, sent, rows, words } = ended
  const isBounded = charged <= billed + sent.length && (rows === null || rows >= sent.length)
  return isBounded
    ? judged(ended, rule, true)
    : judge(false, { words: beside(charged, billed).words + words, figures: { charged, billed } })
}

/** Whether answers that do not reach their end follow a rule. */
export const BROKEN: Checks = {
  'left-early': {
    promise: 'leaving before the first token follows a rule',
    async run(lab) {
      const ended = await endLike(lab, { wait: 1_500 }, { leaveAfterMs: 400 })
      return judged(ended, 'left_early', null)
    },
  },
  'left-midway': {
    promise: 'reading half costs half',
    async run(lab) {
      const leaving = { leaveAt: (_: string, count: number) => count >= 21 }
      const ended = await endLike(lab, { out: 200, gap: 20 }, leaving)
      const { charged, billed, sent } = ended
      if (!sent.some(({ answer }) => answer.text.includes('"content":" ')))
        throw new Broken('no token was shown')
      return judged(ended, 'left_midway', charged >= 0.75 * billed && charged <= 1.25 * billed)
    },
  },
  'left-before-usage': {
    promise: 'reading all and leaving is not free',
    async run(lab) {
      const isLast = (event: string): boolean => /"finish_reason":\s*"(?:stop|length)"/.test(event)
      const ended = await endLike(lab, { out: 200, usage: 'late' }, { leaveAt: isLast })
      if (!ended.sent.some(({ answer }) => answer.left))
        throw new Broken('no finish chunk was shown')
      return judge(ended.charged >= 0.9 * ended.billed, beside(ended.charged, ended.billed))
    },
  },
  dropped: {
    promise: 'an answer that the provider breaks off follows a rule',
    run: (lab) => brokenAnswer(lab, 'dropped', { out: 100, fault: 'drop', after: 30 }),
  },
  lost: {
    promise: 'an answer that is lost at its end follows a rule',
    run: (lab) => brokenAnswer(lab, 'lost', { fault: 'lost' }),
  },
  slots: {
    promise: 'who leaves takes no place',
    async run(lab) {
      const purse = await lab.fund(2_000_000)
      const count = lab.few(60, 200)
      const { in_flight: most } = lab.adapter
      const leaving = { stream: true, leaveAfterMs: 150 }
      await lab.many(count, most, () => lab.send(purse, { wait: 1_500 }, leaving))
      await lab.spent(purse)
      const startedAt = Date.now()
      const sent = await lab.many(most, most, () => lab.send(purse, {}, { timeoutMs: 10_000 }))
      if (lab.lines().length === 0) mustAnswer(sent)
      const whole = answered(sent).length
      const told = tell`after ${count} cancels, ${{ answered: whole }} of ${most} at once answered in ${Date.now() - startedAt} ms${otherOf(sent)}`
      return judge(whole === most, told)
    },
  },
}
