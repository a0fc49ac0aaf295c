import { afterAll, beforeAll, expect, test } from 'vitest'
import { examplesOf, SHOWN_COMMANDS } from './testing/helps.ts'
import { openSeededLines, RUN_ELSEWHERE, type SeededLines } from './testing/seeded-lines.ts'

/** Each example of a help, run on a store that has the named things. */

let lines: SeededLines
beforeAll(async () => {
  lines = await openSeededLines()
})
afterAll(() => lines.close())

const EXAMPLES = SHOWN_COMMANDS.flatMap(([, command]) => {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) })
  command.outputHelp()
  return examplesOf(help)
}).filter((words) => !RUN_ELSEWHERE.test(words))

test.each(EXAMPLES)('tollgate %s', async (typed) => {
  const { exitCode, notes } = await lines.run(typed)
  expect([exitCode, notes]).toEqual([0, expect.not.stringContaining('tollgate: ')])
})

test('the examples of almost all commands are run', () => {
  expect(EXAMPLES.length).toBeGreaterThan(70)
})
