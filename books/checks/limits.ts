import { setTimeout as sleep } from 'node:timers/promises'
import { moneyIn } from '../adapter/gateway.ts'
import { UNPRICED } from '../provider/provider.ts'
import {
  adding,
  answered,
  Broken,
  type Checks,
  isRefused,
  judge,
  type Lab,
  mustAnswer,
  PLAIN_MICROS,
  type Purse,
  ratio,
  type Sent,
  tell,
  type Verdict,
} from './lab.ts'

/** Judges that no more was billed than there was money for. */
function within(lab: Lab, budgetMicros: number, sent: readonly Sent[]): Verdict {
  mustAnswer(sent, 1)
  const billed = lab.billed()
  const budget = budgetMicros * lab.adapter.fee_factor
  const whole = answered(sent).length
  const told = tell`${sent.length} requests, budget ${{ budget }}: ${{ answered: whole }} answered, billed ${{ billed }} (${ratio(billed, budget)})`
  return judge(billed <= budget, told)
}

/** Sends many at once that there is not enough money for, with keys in turn. */
async function race(lab: Lab, keys: number, urls: readonly string[]): Promise<Verdict> {
  const budget = lab.few(10, 25) * PLAIN_MICROS
  const purse = await lab.fund(budget)
  const purses = [purse]
  while (purses.length < keys) purses.push(await lab.anotherKey(purse))
  return within(lab, budget, await raceOf(lab, purses, urls))
}

function raceOf(lab: Lab, purses: readonly Purse[], urls: readonly string[]): Promise<Sent[]> {
  const count = lab.few(40, 100)
  return lab.many(count, count, (index) => {
    const [purse] = purses.slice(index % purses.length)
    const [url = lab.gateway.url] = urls.slice(index % Math.max(1, urls.length))
    if (purse === undefined) throw new Broken('no key')
    return lab.send(purse, { wait: 1_000 }, { url })
  })
}

/** Sends plain requests one after another until one is not answered, at most so many. */
async function untilRefused(lab: Lab, purse: Purse, most: number): Promise<Sent[]> {
  const sent: Sent[] = []
  while (sent.length < most && answered(sent).length === sent.length)
    sent.push(await lab.send(purse))
  return sent
}

/** Spends all of a small budget. */
export async function spendAll(lab: Lab): Promise<Purse> {
  const purse = await lab.fund(3 * PLAIN_MICROS)
  mustAnswer(await untilRefused(lab, purse, 6), 1)
  return purse
}

/** Endings of all kinds, at most 20 at once. */
async function mixed(lab: Lab, purse: Purse, count: number): Promise<void> {
  await lab.many(count, 20, (index) => {
    if (index % 5 === 0) return lab.send(purse, { fault: '500' })
    if (index % 5 === 1) return lab.send(purse, { wait: 500 }, { stream: true, leaveAfterMs: 100 })
    if (index % 5 === 2) return lab.send(purse, { fault: 'hang' }, { leaveAfterMs: 300 })
    if (index % 5 === 3) return lab.send(purse, { fault: 'drop', after: 10 }, { stream: true })
    return lab.send(purse)
  })
}

/** Whether no more than there is can be spent, and all of that. */
export const LIMITS: Checks = {
  'race-key': {
    promise: 'N at once never spend more than the key has',
    run: (lab) => race(lab, 1, []),
  },
  'race-account': {
    promise: 'four keys share one budget',
    async run(lab) {
      lab.need('new_account')
      return race(lab, 4, [])
    },
  },
  'race-instances': {
    promise: 'two processes on one store share one budget',
    async run(lab) {
      lab.need('instances')
      try {
        return await race(lab, 1, [lab.gateway.url, await lab.gateway.startSecond()])
      } finally {
        await lab.gateway.stopOthers()
      }
    },
  },
  'race-prompts': {
    promise: 'the prompt counts before it is sent',
    async run(lab) {
      const budget = 2 * (40_000 * 10 + 10 * 50) + 20_000
      const purse = await lab.fund(budget)
      const sent = await lab.many(5, 5, () => lab.send(purse, { in: 40_000, out: 10, wait: 1_000 }))
      return within(lab, budget, sent)
    },
  },
  'last-cent': {
    promise: 'all of the money can be spent, not more',
    async run(lab) {
      const sent = await untilRefused(lab, await lab.fund(20 * PLAIN_MICROS), 30)
      const verdict = within(lab, 20 * PLAIN_MICROS, sent)
      const refused = sent.find(isRefused)
      if (refused) return adding(verdict, `, then refused with ${refused.answer.httpStatus}`)
      return { ...adding(verdict, ', never refused'), verdict: 'fail' }
    },
  },
  'no-cap': {
    promise: "a client that sets no cap can't overspend",
    async run(lab) {
      const budget = 100 * 10 + 300 * 50
      const sent = await lab.send(await lab.fund(budget), { out: 4_096 }, { cap: null })
      if (!isRefused(sent)) mustAnswer([sent])
      const [line] = lab.lines()
      const ran = line ? `cut to ${line.outMax} tokens` : `refused with ${sent.answer.httpStatus}`
      const billed = lab.billed()
      const told = tell`budget ${{ budget }}: ${ran}, billed ${{ billed }}`
      return judge(billed <= budget * lab.adapter.fee_factor, told)
    },
  },
  phantom: {
    promise: 'nothing stays reserved for requests that ended',
    within: 240,
    async run(lab) {
      const fee = lab.adapter.fee_factor
      const unused = 3 * PLAIN_MICROS * fee - (await lab.spent(await spendAll(lab)))
      const count = lab.few(40, 100)
      const budget = count * PLAIN_MICROS
      const purse = await lab.fund(budget)
      await mixed(lab, purse, count)
      const giveUpAt = Date.now() + lab.patienceMs
      let left = Number.POSITIVE_INFINITY
      while (left > unused + PLAIN_MICROS && Date.now() < giveUpAt) {
        if (left <= budget * fee) await untilRefused(lab, purse, Math.floor(left / PLAIN_MICROS))
        left = budget * fee - (await lab.spent(purse))
      }
      const told = tell`after ${count} mixed requests, ${{ left }} of ${{ budget }} could not be spent; of a new key, ${{ unused }}`
      return judge(left <= unused + PLAIN_MICROS, told)
    },
  },
  negative: {
    promise: 'money is never below zero',
    async run(lab) {
      const left = lab.need('left')
      const purse = await lab.fund(lab.few(10, 25) * PLAIN_MICROS)
      const seen = [await lab.read(left, purse)]
      let isOver = false
      const racing = raceOf(lab, [purse], []).finally(() => {
        isOver = true
      })
      while (!isOver) {
        await sleep(100)
        seen.push(await lab.read(left, purse))
      }
      mustAnswer(await racing, 1)
      await lab.spent(purse)
      const lowest = Math.min(...seen, await lab.read(left, purse))
      return judge(lowest >= 0, tell`the lowest that was read: ${{ lowest }}`)
    },
  },
  'top-up': {
    promise: 'money that is added while money is spent is all there',
    async run(lab) {
      const steps = lab.need('top_up')
      const readLeft = lab.need('left')
      const start = 120 * PLAIN_MICROS
      const purse = await lab.fund(start)
      const spending = lab.many(60, 10, () => lab.send(purse, { wait: 50 }))
      for (let time = 1; time <= 20; time++) {
        const added = { ...moneyIn(10_000), prefix: `${lab.prefix}add-${time}` }
        await lab.gateway.run(steps, { ...purse.values, ...added })
      }
      mustAnswer(await spending)
      const charged = await lab.spent(purse)
      const left = await lab.read(readLeft, purse)
      const expected = start * lab.adapter.fee_factor + 20 * 10_000 - charged
      const told = tell`expected ${{ expected }}, left ${{ left }}`
      return judge(Math.abs(left - expected) <= 60, told)
    },
  },
  unpriced: {
    promise: 'what has no price is not free',
    async run(lab) {
      const purse = await lab.fund(20 * PLAIN_MICROS)
      const { answer } = await lab.send(purse, {}, { model: lab.adapter.unpriced_model })
      const charged = await lab.spent(purse)
      const hasRun = lab.lines().some(({ model }) => model === UNPRICED)
      if (hasRun) return judge(charged > 0, tell`ran, charged ${{ charged }}`)
      if (answer.httpStatus >= 400) return judge(true, tell`refused with ${answer.httpStatus}`)
      throw new Broken(`answered ${answer.httpStatus} without a call`)
    },
  },
}
