import { expect, test } from 'vitest'
import type { Answer } from './load-connection.ts'
import { normalize, Witness } from './witness.ts'

const EXPECTED = { body: '{"id":"gen","created":0}' }

function answer({
  body = '{"id":"gen-17-ab1","created":17}',
  httpStatus = 200,
  headers = {},
}: {
  readonly body?: string
  readonly httpStatus?: number
  readonly headers?: Readonly<Record<string, string>>
} = {}): Answer {
  return {
    httpStatus,
    headers: new Map(Object.entries(headers)),
    body: Buffer.from(body),
    sentAtMs: 0,
    firstEventAtMs: null,
    endedAtMs: 1,
  }
}

test('answers are alike but for the id of the generation and its second', () => {
  const stream = 'data: {"id":"gen-1795261227-4ef8c9e7ad0800000002","created":1795261227,"x":1}\n\n'
  expect(normalize(stream)).toBe('data: {"id":"gen","created":0,"x":1}\n\n')
})

test('a whole answer counts, with what it says it was charged', () => {
  const witness = new Witness({ name: 'it', givesRequestIds: true })
  for (const id of ['req_1', 'req_2']) {
    witness.check(answer({ headers: { 'x-request-id': id, 'x-service-cost': '21' } }), EXPECTED)
  }
  expect(witness).toMatchObject({ answers: 2, chargedMicros: 42, failures: [] })
})

test.each([
  ['a refusal', answer({ httpStatus: 429, body: 'slow down' }), 'it: answered 429: slow down'],
  ['an answer cut short', answer({ body: '{"id":"gen-17-ab1"' }), "that are not the provider's"],
  ['an answer without a request id', answer(), 'it: no request id, but ""'],
])('%s is a failure, and no answer', (_, given, message) => {
  const witness = new Witness({ name: 'it', givesRequestIds: true })
  witness.check(given, EXPECTED)
  expect(witness.answers).toBe(0)
  expect(witness.failures).toEqual([expect.stringContaining(message)])
})

test('a request id that is given twice is a failure', () => {
  const witness = new Witness({ name: 'it', givesRequestIds: true })
  const given = answer({ headers: { 'x-request-id': 'req_1' } })
  witness.check(given, EXPECTED)
  witness.check(given, EXPECTED)
  expect(witness.failures).toEqual(['it: req_1 was given twice'])
})

test('of many failures the first are shown, with the number of the others', () => {
  const witness = new Witness({ name: 'it', givesRequestIds: false })
  for (let count = 0; count < 12; count++) witness.failed('gone')
  expect(witness.failures).toHaveLength(11)
  expect(witness.failures.at(-1)).toBe('it: and 2 more')
})
