import { PRICES, promptMicros } from '../provider/bill.ts'
import { type Scripted, scriptOf } from '../provider/script.ts'
import { type Checks, check, type Lab, type Way } from './lab.ts'
import { answered, mustAnswer, otherOf } from './sent.ts'
import { adding, beside, byRule, judge, tell, type Verdict } from './verdict.ts'

/** Sends some streams that end the same way, and adds up what they cost. */
async function endLike(lab: Lab, scripted: Scripted, leaving: Way[2] = {}) {
  const count = lab.few(5, 20)
  const script = scriptOf('', scripted)
  const each = promptMicros(script) + script.out * PRICES.output
  const purse = await lab.fund(count * each * 5)
  const sent = await lab.many(count, 10, [purse, scripted, { stream: true, ...leaving }])
  const charged = await lab.spent(purse)
  const lines = lab.lines()
  if (lines.length < count) throw new Error(`${lines.length} of ${count} requests arrived`)
  const shown = sent.reduce((sum, { answer }) => sum + Math.max(0, answer.events.length - 1), 0)
  const after = Math.max(0, lines.reduce((sum, { out }) => sum + out, 0) - shown)
  const rows = (await lab.rows(purse))?.list.length ?? null
  const fee = lab.adapter.fee_factor
  const sums = { prompt: count * promptMicros(script) * fee, whole: count * each * fee }
  const words = sent.some(({ answer }) => answer.left)
    ? `; ${after} tokens generated after ${count} clients left`
    : `; ${lines.length} calls for ${count} requests, rows: ${rows ?? 'not read'}`
  return { lab, sent, charged, billed: lab.billed(), ...sums, rows, words }
}

type Ended = Awaited<ReturnType<typeof endLike>>

function judged(ended: Ended, rule: string, isKept: boolean | null): Verdict {
  return adding(byRule(ended.lab.adapter.policy[rule], ended, isKept), ended.words)
}

/** A broken answer is charged by a rule, at most the bill, and has a row. */
async function brokenAnswer(lab: Lab, rule: string, scripted: Scripted): Promise<Verdict> {
  const ended = await endLike(lab, scripted)
  const { charged, billed, sent, rows, words } = ended
  const isBounded = charged <= billed + sent.length && (rows === null || rows >= sent.length)
  if (isBounded) return judged(ended, rule, true)
  return adding(judge(false, beside(charged, billed)), words)
}

async function slots(lab: Lab): Promise<Verdict> {
  // Money that those who left may hold is no matter here.
  const purse = await lab.fund()
  const count = lab.few(60, 200)
  const { in_flight: most } = lab.adapter
  await lab.many(count, most, [purse, { wait: 1_500 }, { stream: true, leaveAfterMs: 150 }])
  await lab.spent(purse)
  const startedAt = Date.now()
  const sent = await lab.many(most, most, [purse, {}, { timeoutMs: 10_000 }])
  if (lab.lines().length === 0) mustAnswer(sent)
  const whole = answered(sent).length
  const told = tell`after ${count} cancels, ${{ answered: whole }} of ${most} at once answered in ${Date.now() - startedAt} ms${otherOf(sent)}`
  return judge(whole === most, told)
}

/** Whether answers that do not reach their end follow a rule. */
export const broken: Checks = {
  'left-early': check('leaving before the first token follows a rule', async (lab) =>
    judged(await endLike(lab, { wait: 1_500 }, { leaveOnceThereMs: 400 }), 'left_early', null),
  ),
  'left-midway': check('reading half costs half', async (lab) => {
    const leaving = { leaveAt: (_: string, count: number) => count >= 21 }
    const ended = await endLike(lab, { out: 200, gap: 20 }, leaving)
    const { charged, billed, sent } = ended
    if (!sent.some(({ answer }) => answer.text.includes('"content":" ')))
      throw new Error('no token was shown')
    return judged(ended, 'left_midway', charged >= 0.75 * billed && charged <= 1.25 * billed)
  }),
  'left-before-usage': check('reading all and leaving is not free', async (lab) => {
    const isLast = (event: string): boolean => /"finish_reason":\s*"(?:stop|length)"/.test(event)
    const ended = await endLike(lab, { out: 200, usage: 'late' }, { leaveAt: isLast })
    const { charged, billed, sent } = ended
    if (!sent.some(({ answer }) => answer.left)) throw new Error('no finish chunk was shown')
    return judge(charged >= 0.9 * billed, beside(charged, billed))
  }),
  dropped: check('an answer that the provider breaks off follows a rule', (lab) =>
    brokenAnswer(lab, 'dropped', { out: 100, fault: 'drop', after: 30 }),
  ),
  lost: check('an answer that is lost at its end follows a rule', (lab) =>
    brokenAnswer(lab, 'lost', { fault: 'lost' }),
  ),
  slots: check('who leaves takes no place', slots),
}
