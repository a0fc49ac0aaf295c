import { eventsOf } from '../client.ts'
import { sumOf } from '../json.ts'
import { promptMicros } from '../provider/bill.ts'
import type { Scripted } from '../provider/script.ts'
import { type Check, type Checks, check, type Lab, PLAIN_MICROS } from './lab.ts'
import { answered, mustAnswer } from './sent.ts'
import { adding, byRule, compare, judge, ratio, tell, type Verdict } from './verdict.ts'

/** Texts for gateways that estimate. */
const TEXTS = {
  English:
    'The ledger was closed on Friday evening, and by Monday the difference had been found: a freight bill that two clerks had entered, each in good faith, on the same afternoon.',
  code: 'export function add(entries: readonly Entry[]): number {\n  let sum = 0\n  for (const entry of entries) sum += entry.isDebit ? -entry.micros : entry.micros\n  return sum\n}\n',
  Chinese:
    '星期五晚上账本已经结清，到星期一才发现差额：同一张运费单被两名职员在同一个下午各记了一次。',
  JSON: '{"entries":[{"id":"e-1042","debit":true,"micros":350000,"at":"2026-11-20T18:04:11Z"},{"id":"e-1043","debit":true,"micros":350000,"at":"2026-11-20T18:04:12Z"}]}',
}

/** The texts with their counts of o200k tokens. */
export const SAMPLES = [
  { language: 'English', text: TEXTS.English, tokens: 37 },
  { language: 'code', text: TEXTS.code, tokens: 47 },
  { language: 'Chinese', text: TEXTS.Chinese, tokens: 36 },
  { language: 'JSON', text: TEXTS.JSON, tokens: 73 },
]

type Mode = { readonly stream: boolean; readonly unasked?: boolean; readonly format?: 'messages' }

const PLAIN: Mode = { stream: false }
const STREAM: Mode = { stream: true }
const BOTH = [PLAIN, STREAM]
const MESSAGES = BOTH.map((mode) => ({ ...mode, format: 'messages' as const }))

/** Sends some of each mode and compares the sums of all. */
async function charge(lab: Lab, scripted: Scripted, modes: readonly Mode[]): Promise<Verdict> {
  const { formats } = lab.adapter
  if (modes.some(({ format }) => format && !formats.includes(format))) lab.lack('messages')
  const count = lab.few(6, 20)
  const { in: tokens = 100, out = 50 } = scripted
  const purse = await lab.fund(modes.length * count * 3 * (tokens * 12 + out * 50))
  for (const mode of modes) await lab.many(count, 5, [purse, scripted, mode])
  mustAnswer(lab.sent)
  return compare(await lab.spent(purse), lab.billed(), lab.sent.length)
}

function exact(promise: string, scripted: Scripted, modes: readonly Mode[]): Check {
  return check(promise, (lab) => charge(lab, scripted, modes))
}

async function unasked(lab: Lab): Promise<Verdict> {
  const verdict = await charge(lab, {}, [{ stream: true, unasked: true }])
  const events = eventsOf(lab.sent.map(({ answer }) => answer.text).join('')).length
  // The provider sends a first event, 50 of tokens, a last one, and that it is done.
  const more = events / lab.sent.length - 53
  return adding(verdict, `; events more than the provider sent: ${more}`)
}

async function withoutCounts(lab: Lab): Promise<Verdict> {
  const purse = await lab.fund(1_000_000)
  const parts: {
    readonly names: readonly string[]
    readonly charged: number
    readonly billed: number
  }[] = []
  let charged = 0
  let prompt = 0
  for (const { language, text, tokens } of SAMPLES) {
    const scripted = { in: tokens + 40, text, usage: 'never' } as const
    for (const mode of BOTH) {
      const sent = await lab.many(1, 1, [purse, scripted, mode])
      mustAnswer(sent)
      const now = await lab.spent(purse)
      const names = [language, mode.stream ? 'streamed' : 'whole']
      parts.push({ names, charged: now - charged, billed: lab.billed(sent) })
      charged = now
      prompt += promptMicros({ in: tokens + 40, cached: 0, written: 0 })
    }
  }
  const share = (name: string): string => {
    const these = parts.filter(({ names }) => names.includes(name))
    const [charged, billed] = [these.map((each) => each.charged), these.map((each) => each.billed)]
    return `${name} ${ratio(sumOf(charged), sumOf(billed))}`
  }
  const billed = lab.billed()
  const ending = { requests: lab.sent.length, charged, prompt, billed, whole: billed }
  const verdict = byRule(lab.adapter.policy['no_usage'], ending, charged > 0)
  const languages = SAMPLES.map(({ language }) => share(language))
  return adding(
    verdict,
    `; answers ${share('whole')}, ${share('streamed')}; ${languages.join(', ')}`,
  )
}

async function retried(lab: Lab): Promise<Verdict> {
  const purse = await lab.fund(40 * PLAIN_MICROS)
  const count = lab.few(3, 10)
  const sent = await lab.many(count, 1, [purse, { fault: '500', times: 2 }])
  const silent = sent.find(({ answer }) => answer.httpStatus === 0)
  if (silent !== undefined) throw new Error(`no answer: ${silent.answer.broke}`)
  const charged = await lab.spent(purse)
  const verdict = compare(charged, lab.billed(), count)
  const arrived = `${lab.lines().length} arrivals for ${count} requests, ${answered(sent).length} answered`
  const waiting = { stream: true, leaveAfterMs: lab.bench.patienceMs / 5 }
  const hung = await lab.many(2, 2, [purse, { fault: 'hang', times: 1 }, waiting])
  const hungCharged = (await lab.spent(purse)) - charged
  const hungArrivals = lab.lines(hung).length
  const told = tell`; ${arrived}; of 2 whose first run hangs: ${{ hungArrivals }} arrivals, ${answered(hung).length} answered, charged ${{ hungCharged }}, billed ${{ hungBilled: lab.billed(hung) }}`
  return adding(verdict, told)
}

async function repriced(lab: Lab): Promise<Verdict> {
  const reprice = lab.need('reprice')
  const purse = await lab.fund(60 * PLAIN_MICROS)
  const before = lab.many(10, 10, [purse, { wait: 1_500 }])
  await lab.until(() => lab.lines().length === 10)
  await lab.gateway.run(reprice, { ...purse, factor: '2' })
  try {
    mustAnswer(await before)
    const old = await lab.spent(purse)
    const billed = lab.billed()
    mustAnswer(await lab.many(10, 5, [purse]))
    const now = (await lab.spent(purse)) - old
    const told = tell`under way: charged ${{ old }} of ${{ billed }}; after, at twice the price: ${{ now }}`
    return judge(Math.abs(old - billed) <= 10 && Math.abs(now - 2 * billed) <= 10, told)
  } finally {
    await lab.gateway.run(reprice, { ...purse, factor: '1' })
  }
}

async function drift(lab: Lab): Promise<Verdict> {
  const count = lab.few(500, 10_000)
  const purse = await lab.fund(count * 60 * 200)
  mustAnswer(await lab.many(count, Math.min(32, lab.adapter.in_flight), [purse, { in: 1, out: 1 }]))
  const charged = await lab.spent(purse)
  const billed = lab.billed()
  const listed = await lab.gateway.rows(purse)
  const rows = listed ? sumOf(listed.map(({ micros }) => micros)) : charged
  const isExact = Math.abs(charged - billed) < 0.001 * count && Math.round(charged) === billed
  const told = tell`${count} requests: charged ${{ charged }}, billed ${{ billed }}, rows ${{ rows }}`
  return judge(isExact && Math.round(rows) === Math.round(charged), told)
}

async function zero(lab: Lab): Promise<Verdict> {
  const { figures: { charged = 0 } = {} } = await charge(lab, { usage: 'zero' }, BOTH)
  const told = tell`${lab.sent.length} answers that count zero: charged ${{ charged }}`
  return judge(charged === 0, told)
}

/** Whether what is charged is what is billed. */
export const charges: Checks = {
  plain: exact('the charge is the bill', {}, [PLAIN]),
  stream: exact('the charge of a stream is the bill', {}, [STREAM]),
  'stream-unasked': check('so it is if the client did not ask for counts', unasked),
  cached: exact('cached tokens cost what they cost, once', { in: 1_000, cached: 900 }, BOTH),
  written: exact('written tokens cost what they cost', { in: 1_000, written: 900 }, MESSAGES),
  reasoning: exact('hidden tokens are charged', { out: 200, reason: 180 }, BOTH),
  'late-usage': exact('counts that come late count', { usage: 'late' }, [STREAM]),
  'no-usage': check('an answer without counts follows a rule', withoutCounts),
  'zero-usage': check('an explicit zero is believed', zero),
  retried: check('a retry inside the gateway is one charge', retried),
  repriced: check('a request costs what it cost when it was sent', repriced),
  drift: check('sums are exact', drift, 600),
}
