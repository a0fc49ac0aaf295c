import { cpuMicrosOf } from '../adapter/processes.ts'
import { rawMember } from '../json.ts'
import { wordsOf } from '../provider/script.ts'
import { type Checks, check, type Lab, PLAIN_MICROS } from './lab.ts'
import { answered, mustAnswer, otherOf, type Sent } from './sent.ts'
import { judge, Lacking, tell, type Verdict } from './verdict.ts'

// Odd order, escapes, forms of numbers, white space and fields that no maker knows.
const ODD = `{"stream":false, "tools":[ {"function":{"parameters":{"type":"object","x-books":[1e2],"properties":{"n":{"maximum":1.50,"type":"number"}}},"name":"note","description":"caf\\u00e9 \\/ 1e2"},"type":"function"} ],
  "max_tokens":50 ,"messages":[ {"content":"caf\\u00e9 \\ud83d\\ude00 <&> \\/", "role":"system"},{"content":"{prompt}" , "role":"user"} ],"model":"{model}"}`

/** Sends so many at once on one budget until one is refused, and returns the part of it that was billed. */
async function usable(lab: Lab, most: number): Promise<number> {
  const budget = 20 * PLAIN_MICROS
  const purse = await lab.fund(budget)
  const wait = most > 1 ? 500 : 0
  const sent = await lab.untilRefused(30, most, [purse, { wait }, { cap: 200 }])
  mustAnswer(sent, 1)
  return Math.round((100 * lab.billed(sent)) / (budget * lab.adapter.fee_factor))
}

/** The median time of some requests one after another, in milliseconds. */
async function medianMs(count: number, send: () => Promise<Sent>): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < count; turn++) times.push((await send()).answer.tookMs)
  return times.sort((one, other) => one - other)[Math.floor(count / 2)] ?? 0
}

/** The contents of the events of a stream. */
const saidIn = (text: string): string =>
  [...text.matchAll(/"content":\s*"((?:[^"\\]|\\.)*)"/g)].map(([, said]) => said).join('')

async function cost(lab: Lab): Promise<Verdict> {
  lab.need('start')
  const { pid } = lab.gateway.main ?? {}
  if (pid === undefined || process.platform !== 'linux')
    throw new Lacking('CPU time is read from /proc')
  const purse = await lab.client()
  const connection = 'keep-alive'
  mustAnswer(await lab.many(lab.few(20, 500), 32, [purse, {}, { connection }]))
  const before = cpuMicrosOf(pid)
  const count = lab.few(100, 2_000)
  mustAnswer(await lab.many(count, 32, [purse, {}, { connection }]))
  const micros = Math.round((cpuMicrosOf(pid) - before) / count)
  const turns = lab.few(20, 100)
  const through = await medianMs(turns, () => lab.send(purse, {}, { connection }))
  const url = `http://127.0.0.1:${lab.bench.provider.port}`
  const direct = await medianMs(turns, () => lab.send(purse, {}, { url, connection }))
  const added = Math.round((through - direct) * 100) / 100
  return judge(null, tell`${{ micros }} µs of CPU a request, ${{ added }} ms added`)
}

/** Whether bytes pass as they are, and what it costs to pass them. */
export const wire: Checks = {
  bytes: check("the provider's prompt cache still hits", async (lab) => {
    const odd = ODD.replace('{model}', lab.adapter.model)
    const sent = await lab.send(await lab.client(), {}, { body: odd })
    mustAnswer([sent])
    const arrived = lab.lines()[0]?.json ?? ''
    const isChanged = (name: string): boolean =>
      rawMember(arrived, name) !== rawMember(sent.body, name)
    const changed = ['messages', 'tools'].filter(isChanged)
    const isKept = changed.length === 0
    const words = isKept ? 'messages and tools unchanged' : `${changed.join(' and ')} changed`
    return judge(isKept, { words })
  }),
  'whole-streams': check('no stream is cut', async (lab) => {
    const count = lab.few(10, 50)
    const out = lab.few(500, 2_000)
    const purse = await lab.client()
    const sent = await lab.many(count, count, [purse, { out }, { stream: true }])
    if (lab.lines().length < count) throw new Error(`${lab.lines().length} of ${count} arrived`)
    const whole = answered(sent).filter(({ answer }) => saidIn(answer.text) === wordsOf(out)).length
    const told = tell`${{ whole }} of ${count} streams of ${out} events whole and in order${otherOf(sent)}`
    return judge(whole === count, told)
  }),
  usable: check('how much of the money can be used if answers end early', async (lab) => {
    const told = tell`one by one ${{ single: await usable(lab, 1) }}%, all at once ${{ together: await usable(lab, 30) }}% of the money spent when refused`
    return judge(null, told)
  }),
  cost: check('what a request costs the machine', cost, 600),
}
