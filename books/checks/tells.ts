import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { runCommand } from '../adapter/processes.ts'
import { sumOf } from '../json.ts'
import { PROVIDER_KEY } from '../provider/provider.ts'
import { type Checks, check, type Lab, type Way } from './lab.ts'
import { answered, mustAnswer, otherOf } from './sent.ts'
import { judge, tell } from './verdict.ts'

/** The places where a gateway keeps one of these texts: its logs, the files that it wrote, and its database. */
async function placesOf({ gateway, adapter }: Lab, marks: readonly string[]): Promise<string[]> {
  const { dir, stores } = gateway
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => adapter.files[relative(dir, path)] === undefined)
  const places: string[] = []
  const look = (place: string, text: string): void => {
    const found = marks.filter((mark) => text.includes(mark))
    places.push(...found.map((mark) => `${mark.slice(0, 12)}… in ${place}`))
  }
  for (const path of [...files, ...adapter.logs])
    look(path.replace(dir, ''), readFileSync(path, 'latin1'))
  for (const { url } of stores)
    if (url.startsWith('postgres')) look('the database', await runCommand(`pg_dump '${url}'`, dir))
  return places
}

/** Whether what it records is right, and no more than that. */
export const tells: Checks = {
  rows: check('each answered request has one row; they add up', async (lab) => {
    lab.need('rows')
    const purse = await lab.fund(2_000_000)
    const ways: Way[] = [[purse, { fault: '500' }], [purse], [purse, {}, { stream: true }], [purse]]
    const sent = await lab.many(lab.few(60, 200), 10, ...ways)
    mustAnswer(sent, sent.length / 2)
    const whole = answered(sent).length
    const spent = await lab.spent(purse)
    const list = (await lab.gateway.rows(purse)) ?? []
    const summed = sumOf(list.map(({ micros }) => micros))
    const charged = list.filter(({ micros }) => micros > 0).length
    const twice = list.length - new Set(list.map(({ id }) => id)).size
    const told = tell`${{ whole }} answered, ${{ charged }} rows with a charge, ${{ twice }} ids twice; they sum to ${{ summed }}, spent ${{ spent }}`
    return judge(charged === whole && twice === 0 && Math.abs(summed - spent) <= 1, told)
  }),
  prompts: check('by default prompts and answers are not kept', async (lab) => {
    lab.need('start')
    const purse = await lab.client()
    const mark = (part: string): string => `BOOKS${part}${Date.now().toString(36)}MARK`
    const [text, answer, call, echo] = [mark('prompt'), mark('answer'), mark('call'), mark('echo')]
    for (const stream of [false, true]) {
      await lab.send(purse, { text, say: ` ${answer}` }, { stream })
      await lab.send(purse, { tool: true, say: call }, { stream })
    }
    // A gateway that can't stream is judged by whole answers.
    mustAnswer(lab.sent, 2)
    const other = otherOf(lab.sent)
    await lab.send(purse, { text: echo, fault: '400' })
    await lab.spent(purse)
    const places = await placesOf(lab, [text, answer, call, echo])
    const words = `${places.join(', ') || 'no mark is kept'}${other}`
    return judge(places.length === 0, { words })
  }),
  secrets: check('keys are not kept or shown', async (lab) => {
    lab.need('start')
    const purse = await lab.client()
    mustAnswer([await lab.send(purse)])
    // Requests that are refused and broken in every way that the suite knows.
    const whole = ['400', '401', '429', '500', 'lost'] as const
    for (const fault of whole) await lab.send(purse, { fault })
    await lab.send(purse, { fault: 'drop', after: 5 }, { stream: true })
    await lab.send(purse, {}, { body: '{"model":' })
    await lab.send(purse, {}, { model: 'no-such-model' })
    await lab.send(purse, { in: 120_000, out: 4_096 }, { cap: 4_096 })
    await lab.send({ ...purse, key: `${purse['key']}x` })
    await lab.send(purse, { fault: 'hang' }, { stream: true, leaveAfterMs: 300 })
    await lab.spent(purse)
    const texts = lab.sent.map(({ answer }) => answer.text)
    const secrets = { "the provider's key": PROVIDER_KEY, "a client's key": purse['key'] ?? '' }
    const found: string[] = []
    for (const [name, secret] of Object.entries(secrets)) {
      if (texts.some((text) => text.includes(secret))) found.push(`${name} in an error`)
      const places = await placesOf(lab, [secret])
      found.push(...places.map((place) => `${name} (${place})`))
    }
    const words = texts.filter((text) => text.includes('provider-words')).length
    const places = found.join(', ') || 'no key is kept or shown'
    const told = tell`${places}; errors with the provider's own words: ${{ words }}`
    return judge(found.length === 0, told)
  }),
}
