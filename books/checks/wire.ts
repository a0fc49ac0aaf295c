import { createHash } from 'node:crypto'
import { cpuMicrosOf } from '../adapter/processes.ts'
import { ask } from '../client.ts'
import { rawMember } from '../json.ts'
import { promptOf, scriptOf, wordsOf } from '../provider/script.ts'
import {
  Broken,
  type Check,
  judge,
  type Lab,
  money,
  mustAnswer,
  NotTried,
  type Sent,
} from './lab.ts'
import { PLAIN_MICROS } from './limits.ts'

// Odd order, escapes, forms of numbers, white space and fields that no maker knows.
const ODD = `{"stream":false, "tools":[ {"function":{"parameters":{"type":"object","properties":{"n":{"maximum":1.50,"type":"number"}}},"name":"note","description":"caf\\u00e9 \\/ 1e2"},"type":"function"} ],
  "max_tokens":50 ,"messages":[ {"content":"caf\\u00e9 \\ud83d\\ude00 <&> \\/", "role":"system"},{"content":"{prompt}" , "role":"user"} ],"model":"{model}"}`

const hash = (text: string | null): string =>
  createHash('sha256')
    .update(text ?? '')
    .digest('hex')

/** Sends all at once, or one by one, on one budget; returns the part of it that was billed when the first was refused. */
async function usable(lab: Lab, isAtOnce: boolean): Promise<number> {
  const budget = 20 * PLAIN_MICROS
  const purse = await lab.fund(budget)
  const send = (): Promise<Sent> => lab.send(purse, { wait: isAtOnce ? 500 : 0 }, { cap: 200 })
  const sent = isAtOnce ? await lab.many(30, 30, send) : []
  while (!isAtOnce && sent.length < 30 && sent.at(-1)?.answer.httpStatus !== 400) {
    const one = await send()
    sent.push(one)
    if (one.answer.httpStatus !== 200) break
  }
  mustAnswer(sent, 1)
  return Math.round((100 * lab.billed(sent)) / (budget * lab.adapter.fee_factor))
}

/** The median time of some requests one after another, in milliseconds. */
async function medianMs(count: number, send: () => Promise<{ tookMs: number }>): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < count; turn++) times.push((await send()).tookMs)
  return times.sort((one, other) => one - other)[Math.floor(count / 2)] ?? 0
}

/** Whether bytes pass as they are, and what it costs to pass them. */
export const WIRE: readonly Check[] = [
  {
    name: 'bytes',
    promise: "the provider's prompt cache still hits",
    async run(lab) {
      const purse = await lab.fund(200_000)
      const body = ODD.replace('{model}', lab.adapter.model)
      const sent = await lab.send(purse, {}, { body })
      mustAnswer([sent])
      const prompt = JSON.stringify(promptOf(scriptOf(sent.id, {}))).slice(1, -1)
      const whole = body.replace('{prompt}', () => prompt)
      const line = lab.lines()[0]
      const messages = line?.messagesHash === hash(rawMember(whole, 'messages'))
      const tools = line?.toolsHash === hash(rawMember(whole, 'tools'))
      const words = `messages ${messages ? 'unchanged' : 'changed'}, tools ${tools ? 'unchanged' : 'changed'}`
      return judge(messages && tools, words)
    },
  },
  {
    name: 'whole-streams',
    promise: 'no stream is cut',
    async run(lab) {
      const count = lab.few(10, 50)
      const out = lab.few(500, 2_000)
      const purse = await lab.fund(count * out * 200)
      const sent = await lab.many(count, count, () => lab.send(purse, { out }, { stream: true }))
      if (lab.lines().length < count) throw new Broken(`${lab.lines().length} of ${count} arrived`)
      const expected = wordsOf(out)
      const whole = sent.filter(
        ({ answer }) => textOf(answer.events) === expected && answer.broke === null,
      ).length
      const other = sent.find(({ answer }) => answer.broke !== null)?.answer.broke
      const words = `${whole} of ${count} streams of ${out} events whole and in order${other === undefined ? '' : `; ${other}`}`
      return judge(whole === count, words, { whole })
    },
  },
  {
    name: 'usable',
    promise: 'how much of the money can be used, where answers take a quarter of their cap',
    async run(lab) {
      const [single, together] = [await usable(lab, false), await usable(lab, true)]
      const words = `one by one ${single}%, all at once ${together}% of the money spent when refused`
      return { verdict: 'figure', words, figures: { single, together } }
    },
  },
  {
    name: 'cost',
    promise: 'what a request costs the machine',
    needs: ['start'],
    async run(lab) {
      const { pid } = lab.gateway
      if (pid === null || process.platform !== 'linux')
        throw new NotTried('CPU time is read from /proc')
      const [warm, count, turns] = lab.quick ? [20, 100, 20] : [500, 2_000, 100]
      const purse = await lab.fund((warm + count + 300) * 20_000)
      mustAnswer(await lab.many(warm, 32, () => lab.send(purse)))
      const before = cpuMicrosOf(pid)
      mustAnswer(await lab.many(count, 32, () => lab.send(purse)))
      const micros = Math.round((cpuMicrosOf(pid) - before) / count)
      const through = await medianMs(turns, async () => (await lab.send(purse)).answer)
      const url = `http://127.0.0.1:${lab.provider.port}/v1/chat/completions`
      const messages = [{ role: 'user', content: promptOf(scriptOf(`direct-${lab.prefix}`, {})) }]
      const direct = await medianMs(turns, () =>
        ask({ url, body: JSON.stringify({ model: 'books-1', messages, max_tokens: 50 }) }),
      )
      const added = Math.round((through - direct) * 100) / 100
      return {
        verdict: 'figure',
        words: `${money(micros)} µs of CPU a request, ${added} ms added`,
        figures: { micros, added },
      }
    },
  },
]

/** The text of a stream's events. */
function textOf(events: readonly string[]): string {
  let text = ''
  for (const event of events) {
    const [, piece] = /"content":\s*"((?:[^"\\]|\\.)*)"/.exec(event) ?? []
    text += piece ?? ''
  }
  return text
}
