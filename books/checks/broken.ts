import { eventsOf } from '../client.ts'
import { sumOf } from '../json.ts'
import { PRICES, promptMicros } from '../provider/bill.ts'
import { type Scripted, scriptOf } from '../provider/script.ts'
import { type Checks, check, type Lab, type Way } from './lab.ts'
import { answered, mustAnswer, otherOf } from './sent.ts'
import { adding, beside, byRule, judge, tell, type Verdict } from './verdict.ts'

/** Sends some streams that end the same way, and adds up what they cost. */
async function endLike(lab: Lab, scripted: Scripted, leaving: Way[2] = {}) {
  const requests = lab.few(5, 20)
  const script = scriptOf('', scripted)
  const each = promptMicros(script) + script.out * PRICES.output
  const purse = await lab.fund(requests * each * 5)
  const sent = await lab.many(requests, 10, [purse, scripted, { stream: true, ...leaving }])
  const charged = await lab.spent(purse)
  const lines = lab.lines()
  if (lines.length < requests) throw new Error(`${lines.length} of ${requests} requests arrived`)
  const tokens = sent.map(({ answer }) => Math.max(0, eventsOf(answer.text).length - 1))
  const after = Math.max(0, sumOf(lines.map(({ out }) => out)) - sumOf(tokens))
  const rows = (await lab.gateway.rows(purse))?.length
  const fee = lab.adapter.fee_factor
  const sums = { prompt: requests * promptMicros(script) * fee, whole: requests * each * fee }
  const words = sent.some(({ answer }) => answer.left)
    ? `; ${after} tokens generated after ${requests} clients left`
    : `; ${lines.length} calls for ${requests} requests, rows: ${rows ?? 'not read'}`
  return { lab, sent, requests, charged, billed: lab.billed(), ...sums, rows, words }
}

type Ended = Awaited<ReturnType<typeof endLike>>

/** Holds a gateway to a rule that it has in writing; '' is none. */
function judged(ended: Ended, rule: string, isKept: boolean | null): Verdict {
  return adding(byRule(ended.lab.adapter.policy[rule], ended, isKept), ended.words)
}

/** A broken answer is charged by a rule, at most the bill, and has a row. */
async function brokenAnswer(lab: Lab, rule: string, scripted: Scripted): Promise<Verdict> {
  const ended = await endLike(lab, scripted)
  const { charged, billed, requests, rows = requests } = ended
  const isBounded = charged <= billed + requests && rows >= requests
  return judged(ended, isBounded ? rule : '', isBounded)
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
    judged(await endLike(lab, { wait: 1_500 }, { leaveAfterMs: 400 }), 'left_early', null),
  ),
  'left-midway': check('reading half costs half', async (lab) => {
    const leaving = { leaveAt: (text: string) => eventsOf(text).length >= 21 }
    const ended = await endLike(lab, { out: 200, gap: 20 }, leaving)
    const { charged, billed, sent } = ended
    if (!sent.some(({ answer }) => answer.text.includes('"content":" ')))
      throw new Error('no token was shown')
    return judged(ended, 'left_midway', charged >= 0.75 * billed && charged <= 1.25 * billed)
  }),
  'left-before-usage': check('reading all and leaving is not free', async (lab) => {
    const isRead = (text: string): boolean => /"finish_reason":\s*"(?:stop|length)"/.test(text)
    const ended = await endLike(lab, { out: 200, usage: 'late' }, { leaveAt: isRead })
    if (!ended.sent.some(({ answer }) => answer.left)) throw new Error('no finish chunk was shown')
    return beside(ended.charged >= 0.9 * ended.billed, ended)
  }),
  dropped: check('an answer that the provider breaks off follows a rule', (lab) =>
    brokenAnswer(lab, 'dropped', { out: 100, fault: 'drop', after: 30 }),
  ),
  lost: check('an answer that is lost at its end follows a rule', (lab) =>
    brokenAnswer(lab, 'lost', { fault: 'lost' }),
  ),
  slots: check('clients that leave take no place', slots),
}
