import { describe, expect, test } from 'vitest'
import { startSimulator } from './simulator.ts'
import {
  eventsOf,
  jsonEventsOf,
  jsonOf,
  post,
  postAs,
  question,
  rawPost,
  simulatorOfFile,
} from './test/client.ts'

const simulator = simulatorOfFile({ nowMs: () => 1_795_000_000_000 })

const PATH = '/chat/completions'
const STREAM = question('Hi', { stream: true })

/** Generation ids differ from answer to answer; nothing else does. */
function withoutIds(text: string): string {
  return text.replaceAll(/gen-\w+-\w+/g, 'gen')
}

async function plainText(body: unknown): Promise<string> {
  return withoutIds(await (await post(simulator, PATH, body)).text())
}

describe('connections that break', () => {
  test('before headers, by reset or by close, after the request was read whole', async () => {
    simulator.script([
      { cut: { at: 'beforeHeaders', how: 'reset' } },
      { cut: { at: 'beforeHeaders', how: 'close' } },
    ])
    const reset = await rawPost(simulator, PATH, question('Hi'))
    expect(reset).toMatchObject({ head: '', errorCode: 'ECONNRESET' })
    const closed = await rawPost(simulator, PATH, question('Hi'))
    expect(closed).toMatchObject({ head: '', errorCode: null })
    expect(simulator.requests.map((request) => request.json)).toEqual([
      question('Hi'),
      question('Hi'),
    ])
    expect(await simulator.requests[0]?.ended).toBe('cut')
  })

  test('after headers, before any byte of the body', async () => {
    simulator.script({ cut: { at: 'afterHeaders', how: 'close' } })
    const cut = await rawPost(simulator, PATH, question('Hi'))
    expect(cut.head).toMatch(/^HTTP\/1.1 200 OK/)
    expect(cut.wire).toHaveLength(0)
  })

  test.each([1, 100, 700])('after exactly %i bytes, plain and streamed', async (bytes) => {
    simulator.script({ cut: { at: { afterBytes: bytes }, how: 'reset' }, times: 2 })
    const plain = await rawPost(simulator, PATH, question('Hi'))
    expect(plain.body).toHaveLength(bytes)
    expect(plain.errorCode).toBe('ECONNRESET')
    const streamed = await rawPost(simulator, PATH, STREAM)
    expect(streamed.body).toHaveLength(bytes)
    expect(streamed.errorCode).toBe('ECONNRESET')
  })

  test('after so many events', async () => {
    simulator.script({ cut: { at: { afterEvents: 3 }, how: 'close' } })
    const cut = await rawPost(simulator, PATH, STREAM)
    expect(eventsOf(cut.body.toString())).toHaveLength(3)
    expect(cut.wire.toString()).not.toMatch(/\r\n0\r\n\r\n$/)
  })

  test('by an orderly end before the answer is whole', async () => {
    simulator.script({ cut: { at: { afterEvents: 3 }, how: 'end' } })
    const cut = await rawPost(simulator, PATH, STREAM)
    expect(eventsOf(cut.body.toString())).toHaveLength(3)
    expect(cut.wire.toString()).toMatch(/\r\n0\r\n\r\n$/)
  })

  test('refused connections come back on the same port', async () => {
    await simulator.refuseConnections()
    const refused = await rawPost(simulator, PATH, question('Hi'))
    expect(refused.errorCode).toBe('ECONNREFUSED')
    await simulator.acceptConnections()
    expect((await post(simulator, PATH, question('Hi'))).status).toBe(200)
  })
})

describe('answers that wait', () => {
  test.each(['beforeHeaders', 'afterHeaders'] as const)(
    'a stall %s lasts until the client goes, which is seen',
    async (stall) => {
      simulator.script({ stall, path: PATH })
      const abort = new AbortController()
      const answer = postAs({ simulator, path: PATH, body: question('Hi'), signal: abort.signal })
      const request = await simulator.nextRequest()
      if (stall === 'afterHeaders') expect((await answer).status).toBe(200)
      const whole = expect(answer.then((response) => response.text())).rejects.toThrow('aborted')
      abort.abort()
      expect(await request.ended).toBe('clientGone')
      await whole
    },
  )

  test('a stall in mid-stream delivers what came before it', async () => {
    simulator.script({ stall: { afterEvents: 2 } })
    const abort = new AbortController()
    const answer = await postAs({ simulator, path: PATH, body: STREAM, signal: abort.signal })
    let text = ''
    if (answer.body === null) throw new Error('no body')
    const decoder = new TextDecoder()
    try {
      for await (const bytes of answer.body) {
        text += decoder.decode(bytes, { stream: true })
        if (eventsOf(text).length === 2) abort.abort()
      }
    } catch {
      // Aborting a read throws; the bytes received before that are what counts.
    }
    expect(eventsOf(text)).toHaveLength(2)
    expect(await (await simulator.nextRequest()).ended).toBe('clientGone')
  })

  test('a gate holds many answers until all have arrived, and then releases them', async () => {
    simulator.script({ hold: 'beforeHeaders', gate: 'verdicts', times: 'always' })
    const gate = simulator.gate('verdicts')
    const answers = Array.from({ length: 50 }, () => post(simulator, PATH, question('Hi')))
    await gate.arrived(50)
    expect(simulator.requests.map((request) => request.ending)).toEqual(new Array(50).fill(null))
    gate.release()
    const statuses = await Promise.all(answers.map(async (answer) => (await answer).status))
    expect(statuses).toEqual(new Array(50).fill(200))
  })

  test('a gate releases the given number of answers, in the order in which they came', async () => {
    simulator.script({ hold: 'beforeHeaders', times: 2 })
    const first = post(simulator, PATH, question('One'))
    await simulator.gate().arrived(1)
    const second = post(simulator, PATH, question('Two'))
    await simulator.gate().arrived(2)
    simulator.gate().release(1)
    expect(await (await first).text()).toContain('One')
    expect(simulator.requests[1]?.ending).toBe(null)
    simulator.gate().release(1)
    expect(await (await second).text()).toContain('Two')
  })

  test('an answer held in mid-stream continues from where it stopped', async () => {
    const plain = await plainText(STREAM)
    simulator.script({ hold: { afterEvents: 2 } })
    const answer = await post(simulator, PATH, STREAM)
    await simulator.gate().arrived()
    simulator.gate().release()
    expect(withoutIds(await answer.text())).toBe(plain)
  })
})

describe('bytes in odd shapes', () => {
  test('a drip sends the same bytes one a chunk', async () => {
    simulator.script({ drip: { bytes: 1, everyMs: 0 } })
    const answer = await rawPost(simulator, PATH, question('Hi'))
    expect(withoutIds(answer.body.toString())).toBe(await plainText(question('Hi')))
    expect(new Set(answer.chunkSizes)).toEqual(new Set([1]))
  })

  test('several events come in one write', async () => {
    simulator.script({ eventsPerWrite: 5 })
    const answer = await rawPost(simulator, PATH, STREAM)
    const text = answer.body.toString()
    expect(withoutIds(text)).toBe(await plainText(STREAM))
    expect(answer.chunkSizes).toHaveLength(Math.ceil(eventsOf(text).length / 5))
  })

  test('lines can end in CRLF', async () => {
    simulator.script({ lineEnds: 'crlf' })
    const text = await plainText(STREAM)
    expect(text).not.toMatch(/[^\r]\n/)
    expect(text.replaceAll('\r\n', '\n')).toBe(await plainText(STREAM))
  })

  test.each(['gzip', 'br'] as const)(
    'an answer in %s that the request did not ask for',
    async (contentEncoding) => {
      const plain = await plainText(question('Hi'))
      const stream = await plainText(STREAM)
      simulator.script({ contentEncoding, times: 2 })
      const response = await post(simulator, PATH, question('Hi'))
      expect(response.headers.get('content-encoding')).toBe(contentEncoding)
      expect(withoutIds(await response.text())).toBe(plain)
      expect(await plainText(STREAM)).toBe(stream)
    },
  )

  test('an answer that is labelled gzip and is not', async () => {
    simulator.script({ contentEncoding: 'broken' })
    const answer = await rawPost(simulator, PATH, question('Hi'))
    expect(answer.head).toContain('content-encoding: gzip')
    expect(answer.body.toString()).toMatch(/^\{"id"/)
  })

  test('named events can lose their names and end with [DONE]', async () => {
    simulator.script({ dataOnlyEvents: true })
    const asked = { model: 'sim/text', input: 'Hi', stream: true }
    const events = eventsOf(await (await post(simulator, '/responses', asked)).text())
    expect(new Set(events.map((event) => event.name))).toEqual(new Set([null]))
    expect(events.at(-1)?.text).toBe('[DONE]')
  })
})

describe('paced streams', () => {
  test('the prompt says how many events, and the answer costs as many tokens', async () => {
    const prompt = JSON.stringify({ events: 100, interval_ms: 0 })
    const asked = question(prompt, { model: 'sim/paced', stream: true })
    const chunks = jsonEventsOf(await (await post(simulator, PATH, asked)).text())
    // The role, a hundred pieces, the finish and the usage.
    expect(chunks).toHaveLength(103)
    expect(chunks.at(-1)).toMatchObject({ usage: { completion_tokens: 100 } })
  })

  test('the process sets the pace if the prompt does not', async () => {
    const paced = await startSimulator({ pace: { events: 7, intervalMs: 1 } })
    try {
      const asked = question('Hi', { model: 'sim/paced' })
      const body = await jsonOf(await post(paced, PATH, asked))
      expect(body).toMatchObject({ usage: { completion_tokens: 7 } })
    } finally {
      await paced.close()
    }
  })
})
