import { setTimeout as sleep } from 'node:timers/promises'
import { moneyIn } from '../adapter/steps.ts'
import { NO_ANSWER } from '../client.ts'
import { UNPRICED } from '../provider/provider.ts'
import { type Checks, check, type Lab, PLAIN_MICROS, type Purse, type Way } from './lab.ts'
import { answered, isRefused, mustAnswer, type Sent } from './sent.ts'
import { adding, judge, ratio, tell, type Verdict } from './verdict.ts'

/** Judges that no more was billed than there was money for. */
function within(lab: Lab, budgetMicros: number, sent: readonly Sent[]): Verdict {
  mustAnswer(sent, 1)
  const billed = lab.billed()
  const budget = budgetMicros * lab.adapter.fee_factor
  const whole = answered(sent).length
  const told = tell`${sent.length} requests, budget ${{ budget }}: ${{ answered: whole }} answered, billed ${{ billed }} (${ratio(billed, budget)})`
  return judge(billed <= budget, told)
}

/** The budget of a race, in micro-dollars: a quarter of the cost of all requests. */
const budgetOf = (lab: Lab): number => lab.few(10, 25) * PLAIN_MICROS

/** Sends many at once, with each key to each address by turns. */
function sendRace(lab: Lab, purses: readonly Purse[], urls = [lab.gateway.url]): Promise<Sent[]> {
  const count = lab.few(40, 100)
  const toEach = (purse: Purse): Way[] => urls.map((url) => [purse, { wait: 1_000 }, { url }])
  return lab.many(count, count, ...purses.flatMap(toEach))
}

async function race(lab: Lab, keys = 1, urls?: string[]): Promise<Verdict> {
  if (keys > 1) lab.need('new_account')
  const purses = [await lab.fund(budgetOf(lab))]
  for (const [purse] = purses; purse && purses.length < keys; ) purses.push(await lab.newKey(purse))
  return within(lab, budgetOf(lab), await sendRace(lab, purses, urls))
}

async function raceInstances(lab: Lab): Promise<Verdict> {
  lab.need('instances')
  const { running, at } = await lab.gateway.launch()
  return race(lab, 1, [lab.gateway.url, at.url]).finally(() => running.stop('SIGTERM'))
}

/** Spends all of a small budget. */
export async function spendAll(lab: Lab): Promise<Purse> {
  const purse = await lab.fund(3 * PLAIN_MICROS)
  mustAnswer(await lab.untilRefused(6, 1, [purse]), 1)
  return purse
}

async function phantom(lab: Lab): Promise<Verdict> {
  const fee = lab.adapter.fee_factor
  const unused = Math.max(0, 3 * PLAIN_MICROS * fee - (await lab.spent(await spendAll(lab))))
  const count = lab.few(40, 100)
  const budget = count * PLAIN_MICROS
  const purse = await lab.fund(budget)
  await lab.many(
    count,
    20,
    [purse, { fault: '500' }],
    [purse, { wait: 500 }, { stream: true, leaveAfterMs: 100 }],
    [purse, { fault: 'hang' }, { leaveAfterMs: 300 }],
    [purse, { fault: 'drop', after: 10 }, { stream: true }],
    [purse],
  )
  let left = budget * fee - (await lab.spent(purse))
  const isFree = async (): Promise<boolean> => {
    await lab.untilRefused(Math.floor(left / PLAIN_MICROS), 1, [purse])
    left = budget * fee - (await lab.spent(purse))
    return left <= unused + PLAIN_MICROS
  }
  await lab.until(isFree, lab.bench.patienceMs)
  const told = tell`after ${count} mixed requests, ${{ left }} of ${{ budget }} could not be spent; of a new key, ${{ unused }}`
  return judge(left <= unused + PLAIN_MICROS, told)
}

/** Whether no more than there is can be spent, and all of that. */
export const limits: Checks = {
  'race-key': check('requests at once never spend more than the key has', (lab) => race(lab)),
  'race-account': check('four keys share one budget', (lab) => race(lab, 4)),
  'race-instances': check('two processes on one store share one budget', raceInstances),
  'race-prompts': check('the prompt counts before it is sent', async (lab) => {
    const budget = 2 * (40_000 * 10 + 10 * 50) + 20_000
    const purse = await lab.fund(budget)
    return within(lab, budget, await lab.many(5, 5, [purse, { in: 40_000, out: 10, wait: 1_000 }]))
  }),
  'last-cent': check('all of the money can be spent, not more', async (lab) => {
    const sent = await lab.untilRefused(30, 1, [await lab.fund(20 * PLAIN_MICROS)])
    const verdict = within(lab, 20 * PLAIN_MICROS, sent)
    const refused = sent.find(isRefused)
    if (refused) return adding(verdict, `, then refused with ${refused.answer.httpStatus}`)
    return { ...adding(verdict, ', never refused'), verdict: 'fail' }
  }),
  'no-cap': check("a client that sets no cap can't overspend", async (lab) => {
    const budget = 100 * 10 + 300 * 50
    const sent = await lab.send(await lab.fund(budget), { out: 4_096 }, { cap: null })
    if (!isRefused(sent)) mustAnswer([sent])
    const [line] = lab.lines()
    const ran = line ? `cut to ${line.outMax} tokens` : `refused with ${sent.answer.httpStatus}`
    const billed = lab.billed()
    const told = tell`budget ${{ budget }}: ${ran}, billed ${{ billed }}`
    return judge(billed <= budget * lab.adapter.fee_factor, told)
  }),
  phantom: check('nothing stays held for requests that ended', phantom, 240),
  negative: check('money is never below zero', async (lab) => {
    const left = lab.need('left')
    const purse = await lab.fund(budgetOf(lab))
    const seen: number[] = []
    const look = async (): Promise<unknown> => seen.push(await lab.gateway.read(left, purse))
    const racing = sendRace(lab, [purse])
    const isOver = (): boolean => lab.sent.every(({ answer }) => answer !== NO_ANSWER)
    do await look().then(() => sleep(100))
    while (!isOver())
    mustAnswer(await racing, 1)
    await lab.spent(purse)
    await look()
    const lowest = Math.min(...seen)
    return judge(lowest >= 0, tell`the lowest that was read: ${{ lowest }}`)
  }),
  'top-up': check('money that is added while money is spent is all there', async (lab) => {
    const [steps, left] = [lab.need('top_up'), lab.need('left')]
    const start = 120 * PLAIN_MICROS
    const purse = await lab.fund(start)
    const spending = lab.many(60, 10, [purse, { wait: 50 }])
    for (let time = 1; time <= 20; time++) {
      const added = { ...moneyIn(10_000), prefix: `${lab.prefix}add-${time}` }
      await lab.gateway.run(steps, { ...purse, ...added })
    }
    mustAnswer(await spending)
    const charged = await lab.spent(purse)
    const there = await lab.gateway.read(left, purse)
    const expected = start * lab.adapter.fee_factor + 20 * 10_000 - charged
    const told = tell`expected ${{ expected }}, left ${{ left: there }}`
    return judge(Math.abs(there - expected) <= 60, told)
  }),
  unpriced: check('a model without a price is not free', async (lab) => {
    const purse = await lab.fund(20 * PLAIN_MICROS)
    const { answer } = await lab.send(purse, {}, { model: lab.adapter.unpriced_model })
    const charged = await lab.spent(purse)
    const hasRun = lab.lines().some(({ model }) => model === UNPRICED)
    if (hasRun) return judge(charged > 0, tell`ran, charged ${{ charged }}`)
    if (answer.httpStatus >= 400) return judge(true, tell`refused with ${answer.httpStatus}`)
    throw new Error(`answered ${answer.httpStatus} without a call`)
  }),
}
