import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startWorld } from './world.ts'

const PROMPT_MARK = 'PROMPT-7f3a91c2'
const UPSTREAM_MARK = 'LEAK-5b1d77e0'

test("prompts, answers, keys and the provider's texts are in no log line and nowhere in the store", async () => {
  const world = await startWorld()
  const account = await world.account()
  const send = async (body: object, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await fetch(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, ...headers },
      body: JSON.stringify(body),
    })
    return answer.text()
  }
  const messages = [{ role: 'user', content: `Repeat after me: ${PROMPT_MARK}` }]

  const answers = [
    await send({ model: 'sim/text', messages }),
    await send({ model: 'sim/text', messages, stream: true }),
  ]
  // The marker must be able to show: the simulator's answers repeat it.
  for (const text of answers) expect(contentOf(text)).toContain(PROMPT_MARK)

  for (const status of [400, 401, 402, 429, 500, 503]) {
    world.simulator.script({ status, marker: UPSTREAM_MARK })
    expect(await send({ model: 'sim/text', messages })).not.toContain(UPSTREAM_MARK)
  }
  world.simulator.script({ errorEvent: { afterEvents: 2 }, marker: UPSTREAM_MARK })
  expect(await send({ model: 'sim/text', messages, stream: true })).not.toContain(UPSTREAM_MARK)
  world.simulator.script({ cut: { at: 'beforeHeaders', how: 'reset' } })
  await send({ model: 'sim/text', messages })
  world.simulator.script({ answer: 'malformedJson' })
  await send({ model: 'sim/text', messages })
  await send({ model: PROMPT_MARK, messages })
  await send({ model: 'sim/text', messages: PROMPT_MARK, tools: [{ type: PROMPT_MARK }] })
  await send({ model: 'sim/text', messages }, { authorization: `Bearer ${account.apiKey}x` })
  await world.gateway.settled()

  const secrets = [PROMPT_MARK, UPSTREAM_MARK, account.apiKey, 'upstream-key']
  const log = world.log.join('')
  expect(log).toContain('"requestId":"req_')
  for (const secret of secrets) expect(log).not.toContain(secret)
  for (const file of readdirSync(world.folder)) {
    const bytes = readFileSync(join(world.folder, file))
    for (const secret of secrets) expect(bytes.includes(secret), `${secret} in ${file}`).toBe(false)
  }
  await world.close()
})

test("a provider's answer in place of its catalog is in no log line", async () => {
  const world = await startWorld()
  for (const status of [200, 401, 500]) {
    world.simulator.script({ path: '/models', status, rawBody: `${UPSTREAM_MARK} <html>` })
    expect(await world.gateway.refresher.refreshNow()).toMatchObject({ kind: 'failed' })
  }
  expect(world.simulator.isScriptDone).toBe(true)
  const log = world.log.join('')
  expect(log.match(/the models of an upstream could not be refreshed/g)).toHaveLength(3)
  expect(log).not.toContain(UPSTREAM_MARK.slice(0, 4))
  await world.close()
})

/** The text of an answer, streamed or not. */
function contentOf(answer: string): string {
  return [...answer.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('')
}
