import { setTimeout as sleep } from 'node:timers/promises'
import { UNPRICED } from '../adapter/gateway.ts'
import {
  answered,
  Broken,
  type Check,
  judge,
  type Lab,
  money,
  moneyIn,
  mustAnswer,
  type Purse,
  ratio,
  type Sent,
  type Verdict,
} from './lab.ts'

/** What a plain request costs: 100 tokens in, 50 out. */
export const PLAIN_MICROS = 3_500

/** Judges that no more was billed than there was money for. */
function within(lab: Lab, budget: number, sent: readonly Sent[]): Verdict {
  mustAnswer(sent, 1)
  const billed = lab.billed()
  const most = budget * lab.adapter.fee_factor
  const words = `${sent.length} requests, budget ${money(most)}: ${answered(sent).length} answered, billed ${money(billed)} (${ratio(billed, most)})`
  return judge(billed <= most, words, { budget: most, billed, answered: answered(sent).length })
}

/** Sends many at once that there is not enough money for, with keys in turn. */
async function race(lab: Lab, purses: readonly Purse[], urls: readonly string[]): Promise<Sent[]> {
  const count = lab.few(40, 100)
  return lab.many(count, count, (index) => {
    const url = urls[index % urls.length] ?? lab.gateway.url
    return lab.send(purses[index % purses.length] ?? fail(), { wait: 1_000 }, { url })
  })
}

/** Sends plain requests one after another until one is refused, at most so many. */
export async function untilRefused(lab: Lab, purse: Purse, most: number): Promise<Sent[]> {
  const sent: Sent[] = []
  while (sent.length < most) {
    sent.push(await lab.send(purse))
    if (sent.at(-1)?.answer.httpStatus !== 200) break
  }
  return sent
}

const raceBudget = (lab: Lab): number => lab.few(10, 25) * PLAIN_MICROS

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
export const LIMITS: readonly Check[] = [
  {
    name: 'race-key',
    promise: 'N at once never spend more than the key has',
    async run(lab) {
      const purse = await lab.fund(raceBudget(lab))
      return within(lab, raceBudget(lab), await race(lab, [purse], [lab.gateway.url]))
    },
  },
  {
    name: 'race-account',
    promise: 'four keys share one budget',
    needs: ['new_account'],
    async run(lab) {
      const purses = [await lab.fund(raceBudget(lab))]
      while (purses.length < 4) purses.push(await lab.anotherKey(purses[0] ?? fail()))
      return within(lab, raceBudget(lab), await race(lab, purses, [lab.gateway.url]))
    },
  },
  {
    name: 'race-instances',
    promise: 'two processes on one store share one budget',
    needs: ['instances', 'start'],
    async run(lab) {
      const purse = await lab.fund(raceBudget(lab))
      try {
        const urls = [lab.gateway.url, await lab.gateway.startSecond()]
        return within(lab, raceBudget(lab), await race(lab, [purse], urls))
      } finally {
        await lab.gateway.stopOthers()
      }
    },
  },
  {
    name: 'race-prompts',
    promise: 'the prompt counts before it is sent',
    async run(lab) {
      const costMicros = 40_000 * 10 + 10 * 50
      const purse = await lab.fund(2 * costMicros + 20_000)
      const sent = await lab.many(5, 5, () => lab.send(purse, { in: 40_000, out: 10, wait: 1_000 }))
      return within(lab, 2 * costMicros + 20_000, sent)
    },
  },
  {
    name: 'last-cent',
    promise: 'all of the money can be spent, not more',
    async run(lab) {
      const purse = await lab.fund(20 * PLAIN_MICROS)
      const sent = await untilRefused(lab, purse, 30)
      const verdict = within(lab, 20 * PLAIN_MICROS, sent)
      const status = sent.at(-1)?.answer.httpStatus ?? 0
      const words = status === 200 ? ', never refused' : `, then refused with ${status}`
      const isRefused = status >= 400 && status < 500
      return judge(verdict.verdict === 'pass' && isRefused, verdict.words + words, verdict.figures)
    },
  },
  {
    name: 'no-cap',
    promise: "a client that sets no cap can't overspend",
    async run(lab) {
      const budget = 100 * 10 + 300 * 50
      const purse = await lab.fund(budget)
      const sent = await lab.send(purse, { out: 4_096 }, { cap: null })
      const line = lab.lines()[0]
      const status = sent.answer.httpStatus
      if (status !== 200 && (status < 400 || status > 499)) mustAnswer([sent])
      const ran =
        line === undefined ? `refused with ${status}` : `ran, cut to ${line.outMax} tokens`
      const billed = lab.billed()
      return judge(
        billed <= budget * lab.adapter.fee_factor,
        `budget ${money(budget)}: ${ran}, billed ${money(billed)}`,
        { budget, billed },
      )
    },
  },
  {
    name: 'phantom',
    promise: 'nothing stays reserved for requests that ended',
    within: 240,
    async run(lab) {
      const fresh = await lab.fund(5 * PLAIN_MICROS)
      mustAnswer(await untilRefused(lab, fresh, 6), 1)
      const unused = 5 * PLAIN_MICROS * lab.adapter.fee_factor - (await lab.spent(fresh))
      const count = lab.few(40, 100)
      const budget = count * PLAIN_MICROS
      const purse = await lab.fund(budget)
      await mixed(lab, purse, count)
      const giveUpAt = Date.now() + lab.few(10_000, 60_000)
      let left: number
      do {
        left = budget * lab.adapter.fee_factor - (await lab.spent(purse))
        if (left <= unused + PLAIN_MICROS) break
        await untilRefused(lab, purse, Math.floor(left / PLAIN_MICROS))
      } while (Date.now() < giveUpAt)
      const words = `after ${count} mixed requests, ${money(left)} of ${money(budget)} could not be spent; of a new key, ${money(unused)}`
      return judge(left <= unused + PLAIN_MICROS, words, { left, unused })
    },
  },
  {
    name: 'negative',
    promise: 'money is never below zero',
    needs: ['left'],
    async run(lab) {
      const { left } = lab.adapter
      if (left === undefined) return fail()
      const purse = await lab.fund(raceBudget(lab))
      let isOver = false
      let lowest = await lab.read(left, purse)
      const racing = race(lab, [purse], [lab.gateway.url]).finally(() => {
        isOver = true
      })
      while (!isOver) {
        await sleep(100)
        lowest = Math.min(lowest, await lab.read(left, purse))
      }
      mustAnswer(await racing, 1)
      await lab.spent(purse)
      lowest = Math.min(lowest, await lab.read(left, purse))
      return judge(lowest >= 0, `the lowest that was read: ${money(lowest)}`, { lowest })
    },
  },
  {
    name: 'top-up',
    promise: 'money that is added while money is spent is all there',
    needs: ['top_up', 'left'],
    async run(lab) {
      const { left, top_up: steps = [] } = lab.adapter
      if (left === undefined) return fail()
      const start = 60 * PLAIN_MICROS * 2
      const purse = await lab.fund(start)
      const spending = lab.many(60, 10, () => lab.send(purse, { wait: 50 }))
      for (let time = 1; time <= 20; time++)
        await lab.gateway.run(steps, {
          ...purse.values,
          ...moneyIn(10_000),
          prefix: `${lab.prefix}add-${time}`,
        })
      mustAnswer(await spending)
      const charged = await lab.spent(purse)
      const there = await lab.read(left, purse)
      const expected = start * lab.adapter.fee_factor + 20 * 10_000 - charged
      return judge(
        Math.abs(there - expected) <= 60,
        `expected ${money(expected)}, left ${money(there)}`,
        { expected, there },
      )
    },
  },
  {
    name: 'unpriced',
    promise: 'what has no price is not free',
    async run(lab) {
      const purse = await lab.fund(20 * PLAIN_MICROS)
      const { answer } = await lab.send(purse, {}, { model: lab.adapter.unpriced_model })
      const charged = await lab.spent(purse)
      const arrivals = lab.lines().filter(({ model }) => model === UNPRICED).length
      const isRefused = answer.httpStatus >= 400 && arrivals === 0
      if (!isRefused && arrivals === 0)
        throw new Broken(`answered ${answer.httpStatus} without a call`)
      return judge(
        isRefused || charged > 0,
        isRefused ? `refused with ${answer.httpStatus}` : `ran, charged ${money(charged)}`,
        { charged },
      )
    },
  },
]

function fail(): never {
  throw new Broken('a check ran without what it needs')
}
