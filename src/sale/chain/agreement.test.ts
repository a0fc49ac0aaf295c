import { expect, test } from 'vitest'
import { agreementOf } from './agreement.ts'
import type { ChainNode } from './node.ts'

const node = (name: string): ChainNode => ({ name, ask: async () => [] })

/** The agreement of nodes that give these answers, of which two must be alike. */
const agreed = (...answers: readonly string[]) =>
  agreementOf(
    answers.map((answer, index) => ({ node: node(String(index)), answer })),
    2,
  )

test.each([
  ['agreed', ['a', 'a', 'b']],
  ['disagreed', ['a', 'b', 'c']],
  ['tooFew', ['a']],
  ['tooFew', []],
] as const)('nodes are %s with the answers %j', (kind, answers) => {
  expect(agreed(...answers).kind).toBe(kind)
})

test('two quorums with different answers agree on neither', () => {
  expect(agreed('a', 'a', 'b', 'b').kind).toBe('disagreed')
})
