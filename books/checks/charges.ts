import { setTimeout as sleep } from 'node:timers/promises'
import { promptMicros } from '../provider/bill.ts'
import type { Scripted } from '../provider/script.ts'
import {
  answered,
  Broken,
  byRule,
  type Check,
  compare,
  judge,
  type Lab,
  money,
  mustAnswer,
  ratio,
  type Sent,
  type Verdict,
} from './lab.ts'
import { PLAIN_MICROS } from './limits.ts'
import { SAMPLES } from './samples.ts'

interface Charge {
  readonly name: string
  readonly promise: string
  readonly scripted: Scripted
  readonly modes: readonly Mode[]
}

type Mode = { readonly stream: boolean; readonly unasked?: boolean; readonly format?: 'messages' }

const PLAIN: Mode = { stream: false }
const STREAM: Mode = { stream: true }

const CHARGED: readonly Charge[] = [
  { name: 'plain', promise: 'the charge is the bill', scripted: {}, modes: [PLAIN] },
  { name: 'stream', promise: 'the charge of a stream is the bill', scripted: {}, modes: [STREAM] },
  {
    name: 'stream-unasked',
    promise: 'also when the client did not ask for counts',
    scripted: {},
    modes: [{ stream: true, unasked: true }],
  },
  {
    name: 'cached',
    promise: 'cached tokens cost what they cost, once',
    scripted: { in: 1_000, cached: 900 },
    modes: [PLAIN, STREAM],
  },
  {
    name: 'written',
    promise: 'tokens that are written to a cache cost what they cost',
    scripted: { in: 1_000, written: 900 },
    modes: [
      { ...PLAIN, format: 'messages' },
      { ...STREAM, format: 'messages' },
    ],
  },
  {
    name: 'reasoning',
    promise: 'hidden tokens are charged',
    scripted: { out: 200, reason: 180 },
    modes: [PLAIN, STREAM],
  },
  {
    name: 'late-usage',
    promise: 'counts that come late count',
    scripted: { usage: 'late' },
    modes: [STREAM],
  },
]

/** Sends some of each mode and returns the sums of all. */
async function charge(
  lab: Lab,
  scripted: Scripted,
  modes: readonly Mode[],
): Promise<{ charged: number; billed: number; sent: Sent[] }> {
  const count = lab.few(6, 20)
  const { in: tokens = 100, out = 50 } = scripted
  const purse = await lab.fund(modes.length * count * 3 * (tokens * 12 + out * 50))
  const sent: Sent[] = []
  for (const mode of modes)
    sent.push(...(await lab.many(count, 5, () => lab.send(purse, scripted, mode))))
  mustAnswer(sent)
  return { charged: await lab.spent(purse), billed: lab.billed(), sent }
}

function chargeCheck({ name, promise, scripted, modes }: Charge): Check {
  return {
    name,
    promise,
    ...(modes.some(({ format }) => format !== undefined) ? { needs: ['messages'] as const } : {}),
    async run(lab) {
      const { charged, billed, sent } = await charge(lab, scripted, modes)
      const verdict = compare(charged, billed, sent.length)
      if (!modes.some(({ unasked }) => unasked)) return verdict
      const extra =
        sent.reduce((sum, { answer }) => sum + answer.events.length - 53, 0) / sent.length
      return { ...verdict, words: `${verdict.words}; events more than the provider sent: ${extra}` }
    },
  }
}

async function withoutCounts(lab: Lab): Promise<Verdict> {
  const purse = await lab.fund(1_000_000)
  const shares: string[] = []
  const sums = { prompt: 0, billed: 0, whole: 0 }
  let before = 0
  const sent: Sent[] = []
  for (const { language, text, tokens } of SAMPLES) {
    const billedBefore = lab.billed()
    for (const stream of [false, true])
      sent.push(await lab.send(purse, { in: tokens + 40, text, usage: 'never' }, { stream }))
    const charged = await lab.spent(purse)
    sums.prompt += 2 * promptMicros({ in: tokens + 40, cached: 0, written: 0 })
    shares.push(`${language} ${ratio(charged - before, lab.billed() - billedBefore)}`)
    before = charged
  }
  mustAnswer(sent)
  sums.billed = sums.whole = lab.billed()
  const ruled = { rule: 'no_usage', charged: before, sums, requests: sent.length }
  if (lab.adapter.policy['no_usage'] !== undefined)
    return byRule(lab, { ...ruled, more: `; ${shares.join(', ')}` })
  const words = `charged ${money(before)}, billed ${money(sums.billed)}; ${shares.join(', ')}`
  return judge(before > 0, words, { charged: before, billed: sums.billed })
}

async function retried(lab: Lab): Promise<Verdict> {
  const purse = await lab.fund(40 * PLAIN_MICROS)
  const { apiKey } = purse
  const count = lab.few(3, 10)
  let arrivals = 0
  for (let turn = 0; turn < count; turn++) {
    const { id, answer } = await lab.send(purse, { fault: '500', times: 2 })
    arrivals += lab.lines(id).length
    if (apiKey === '' || answer.httpStatus === 0) throw new Broken(`no answer: ${answer.broke}`)
  }
  const verdict = compare(await lab.spent(purse), lab.billed(), count)
  const whole = answered(lab.sent).length
  return {
    ...verdict,
    words: `${arrivals} arrivals for ${count} requests, ${whole} answered; ${verdict.words}`,
  }
}

async function repriced(lab: Lab): Promise<Verdict> {
  const { reprice = [] } = lab.adapter
  const purse = await lab.fund(60 * PLAIN_MICROS)
  const before = lab.many(10, 10, () => lab.send(purse, { wait: 1_500 }))
  // All of them are under way.
  while (lab.lines().length < 10 && lab.sent.some(({ answer }) => answer.broke === 'not yet'))
    await sleep(10)
  await lab.gateway.run(reprice, { ...purse.values, factor: '2' })
  try {
    mustAnswer(await before)
    const old = await lab.spent(purse)
    const billed = lab.billed()
    mustAnswer(await lab.many(10, 5, () => lab.send(purse)))
    const now = (await lab.spent(purse)) - old
    const words = `under way: charged ${money(old)} of ${money(billed)}; after: ${money(now)} of ${money(2 * billed)}`
    return judge(Math.abs(old - billed) <= 10 && Math.abs(now - 2 * billed) <= 10, words, {
      old,
      now,
    })
  } finally {
    await lab.gateway.run(reprice, { ...purse.values, factor: '1' })
  }
}

async function drift(lab: Lab): Promise<Verdict> {
  const count = lab.few(500, 10_000)
  const purse = await lab.fund(count * 60 * 200)
  mustAnswer(await lab.many(count, 32, () => lab.send(purse, { in: 1, out: 1 })))
  const charged = await lab.spent(purse)
  const billed = lab.billed()
  const { rows } = lab.adapter
  const summed =
    rows === undefined
      ? charged
      : (await lab.gateway.rows(rows, purse.values)).reduce((sum, { micros }) => sum + micros, 0)
  const words = `${count} requests: charged ${money(charged)}, billed ${money(billed)}, rows ${money(summed)}`
  const isExact = Math.abs(charged - billed) < 0.001 * count && Math.round(charged) === billed
  return judge(isExact && Math.round(summed) === Math.round(charged), words, {
    charged,
    billed,
    summed,
  })
}

/** Whether what is charged is what is billed. */
export const CHARGES: readonly Check[] = [
  ...CHARGED.map(chargeCheck),
  { name: 'no-usage', promise: 'an answer without counts follows a rule', run: withoutCounts },
  {
    name: 'zero-usage',
    promise: 'an explicit zero is believed',
    async run(lab) {
      const { charged, sent } = await charge(lab, { usage: 'zero' }, [PLAIN, STREAM])
      return judge(
        charged === 0,
        `${sent.length} answers that count zero: charged ${money(charged)}`,
        { charged },
      )
    },
  },
  { name: 'retried', promise: 'a retry inside the gateway is one charge', run: retried },
  {
    name: 'repriced',
    promise: 'a request costs what it cost when it was sent',
    needs: ['reprice'],
    run: repriced,
  },
  { name: 'drift', promise: 'sums are exact', within: 600, run: drift },
]
