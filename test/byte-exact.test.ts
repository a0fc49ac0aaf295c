import { Readable } from 'node:stream'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { startWorld } from './world.ts'

test('a body arrives upstream byte for byte, except for the replaced spans', async () => {
  const world = await startWorld()
  const { apiKey } = await world.account()
  const sent =
    '{ "temperature": 1.0,"seed": 12345678901234567890,\n\t"messages" : [{"content":[{"type":"text",' +
    '"text":"caf\\u00e9 \\ud83d\\ude00 \u00e9","cache_control" : {"type":"ephemeral"}}], "role":"user"}],' +
    ' "max_tokens":16 , "x_unknown": {"b":1e2,"a":[ ]}, "user":"someone@example.org", "model":"SIM/text[1m]" }'

  const answer = await world.send(apiKey, sent)
  expect(answer.status, await answer.text()).toBe(200)

  const received = (await world.simulator.nextRequest()).body.toString()
  const tag = /"user":"([^"]+)"/.exec(received)?.[1] ?? ''
  expect(tag).not.toContain('someone')
  expect(received).toBe(
    sent
      .replace('"someone@example.org"', JSON.stringify(tag))
      .replace('"SIM/text[1m]"', '"sim/text"'),
  )
  await world.close()
})

test.each(['as one piece', 'in pieces', 'in pieces, without its length'])(
  'a body of megabytes that comes %s arrives upstream byte for byte',
  async (how) => {
    const world = await startWorld()
    const { apiKey } = await world.account({ creditMicros: 100_000_000 })
    const text = Array.from({ length: 300_000 }, (_, place) => `${place}\u00e9`).join(' ')
    const sent = Buffer.from(
      `{"max_tokens":16,"x_unknown":"${text}","model":"SIM/text","messages":[{"role":"user","content":"Hi"}],"user":"x"}`,
    )
    const pieces = async function* () {
      for (let at = 0; at < sent.length; at += 50_001) yield sent.subarray(at, at + 50_001)
    }
    const { statusCode, body } = await request(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        ...(how === 'in pieces' ? { 'content-length': String(sent.length) } : {}),
      },
      body: how === 'as one piece' ? sent : Readable.from(pieces()),
    })
    expect(statusCode, await body.text()).toBe(200)
    const received = (await world.simulator.nextRequest()).body
    const tag = /"user":"([^"]+)"/.exec(received.subarray(-100).toString())?.[1]
    const expected = sent
      .toString()
      .replace('"SIM/text"', '"sim/text"')
      .replace('"user":"x"', `"user":"${tag}"`)
    expect(received.equals(Buffer.from(expected))).toBe(true)
    await world.close()
  },
)

test('the account tag is the same for every request of an account and differs between accounts', async () => {
  const world = await startWorld()
  const tags: string[] = []
  const first = await world.account({ apiKeys: 2 })
  const second = await world.account()
  for (const apiKey of [...first.apiKeys, second.apiKey]) {
    const answer = await world.chat(apiKey)
    expect(answer.status, await answer.text()).toBe(200)
    tags.push(String((await world.simulator.nextRequest()).json?.['user']))
  }
  expect(tags[0]).toBe(tags[1])
  expect(tags[2]).not.toBe(tags[0])
  expect(tags[0]).not.toContain(first.id)
  await world.close()
})
