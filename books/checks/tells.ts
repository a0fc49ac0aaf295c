import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { runCommand } from '../adapter/processes.ts'
import { PROVIDER_KEY } from '../provider/provider.ts'
import {
  answered,
  Broken,
  type Check,
  judge,
  type Lab,
  money,
  mustAnswer,
  type Purse,
} from './lab.ts'

/** Everything that a gateway keeps: its logs, the files that it wrote, and its database. */
function keptBy(lab: Lab): { readonly place: string; readonly text: string }[] {
  const { gateway, adapter } = lab
  const written = new Set(Object.keys(adapter.files))
  const paths = [
    ...readdirSync(gateway.dir, { recursive: true, withFileTypes: true })
      .filter(
        (entry) =>
          entry.isFile() && !written.has(relative(gateway.dir, join(entry.parentPath, entry.name))),
      )
      .map((entry) => join(entry.parentPath, entry.name)),
    ...adapter.logs,
  ]
  const kept = paths.map((path) => ({
    place: path.replace(gateway.dir, ''),
    text: readFileSync(path, 'latin1'),
  }))
  for (const store of gateway.stores)
    if (store.url.startsWith('postgres'))
      kept.push({ place: 'the database', text: runCommand(`pg_dump '${store.url}'`, gateway.dir) })
  return kept
}

/** The places where one of these texts is kept. */
function placesOf(lab: Lab, texts: readonly string[]): string[] {
  return keptBy(lab).flatMap(({ place, text }) =>
    texts.filter((mark) => text.includes(mark)).map((mark) => `${mark.slice(0, 12)}… in ${place}`),
  )
}

/** Requests that are refused and broken in every way that the suite knows. */
async function refuseAll(lab: Lab, purse: Purse): Promise<void> {
  await lab.send(purse, { fault: '400' })
  await lab.send(purse, { fault: '401' })
  await lab.send(purse, { fault: '429' })
  await lab.send(purse, { fault: '500' })
  await lab.send(purse, { fault: 'drop', after: 5 }, { stream: true })
  await lab.send(purse, { fault: 'lost' })
  await lab.send(purse, {}, { body: '{"model":' })
  await lab.send(purse, {}, { model: 'no-such-model' })
  await lab.send(purse, { in: 120_000, out: 4_096 }, { cap: 4_096 })
  await lab.send({ ...purse, apiKey: `${purse.apiKey}x` })
}

/** Whether what it records is right, and no more than that. */
export const TELLS: readonly Check[] = [
  {
    name: 'rows',
    promise: 'each answered request has one row; they add up',
    needs: ['rows'],
    async run(lab) {
      const { rows } = lab.adapter
      if (rows === undefined) throw new Broken('no rows')
      const purse = await lab.fund(2_000_000)
      const sent = await lab.many(lab.few(60, 200), 10, (index) => {
        if (index % 4 === 0) return lab.send(purse, { fault: '500' })
        return lab.send(purse, {}, { stream: index % 2 === 0 })
      })
      const whole = answered(sent).length
      mustAnswer(sent, sent.length / 2)
      const spent = await lab.spent(purse)
      const found = await lab.gateway.rows(rows, purse.values)
      const charged = found.filter(({ micros }) => micros > 0).length
      const summed = found.reduce((sum, { micros }) => sum + micros, 0)
      const areUnique = new Set(found.map(({ id }) => id)).size === found.length
      const words = `${whole} answered, ${charged} rows with a charge${areUnique ? '' : ', ids twice'}; they sum to ${money(summed)}, spent ${money(spent)}`
      return judge(charged === whole && areUnique && Math.abs(summed - spent) <= 1, words, {
        whole,
        charged,
        summed,
        spent,
      })
    },
  },
  {
    name: 'prompts',
    promise: 'by default prompts and answers are not kept',
    needs: ['start'],
    async run(lab) {
      const purse = await lab.fund(2_000_000)
      const marks = ['prompt', 'answer', 'call', 'echo'].map(
        (part) => `BOOKS${part}${Date.now().toString(36)}MARK`,
      )
      const [prompt = '', answer = '', call = '', echo = ''] = marks
      const sent = [
        await lab.send(purse, { text: prompt, say: ` ${answer}` }),
        await lab.send(purse, { text: prompt, say: ` ${answer}` }, { stream: true }),
        await lab.send(purse, { tool: true, say: call }),
        await lab.send(purse, { tool: true, say: call }, { stream: true }),
      ]
      mustAnswer(sent)
      await lab.send(purse, { text: echo, fault: '400' })
      await lab.spent(purse)
      const places = placesOf(lab, marks)
      return judge(places.length === 0, places.length === 0 ? 'no mark is kept' : places.join(', '))
    },
  },
  {
    name: 'secrets',
    promise: 'keys are not kept or shown',
    needs: ['start'],
    async run(lab) {
      const purse = await lab.fund(2_000_000)
      mustAnswer([await lab.send(purse)])
      await refuseAll(lab, purse)
      await lab.spent(purse)
      const texts = lab.sent.map(({ answer }) => answer.text)
      const shown = [PROVIDER_KEY, purse.apiKey].filter((secret) =>
        texts.some((text) => text.includes(secret)),
      )
      const names = (secret: string): string =>
        secret === PROVIDER_KEY ? "the provider's key" : "a client's key"
      const found = [
        ...shown.map((secret) => `${names(secret)} in an error`),
        ...[PROVIDER_KEY, purse.apiKey].flatMap((secret) =>
          placesOf(lab, [secret]).map((place) => `${names(secret)} (${place})`),
        ),
      ]
      const words = texts.filter((text) => text.includes('provider-words')).length
      return judge(
        found.length === 0,
        `${found.length === 0 ? 'no key is kept or shown' : found.join(', ')}; errors with the provider's own words: ${words}`,
        { words },
      )
    },
  },
]
