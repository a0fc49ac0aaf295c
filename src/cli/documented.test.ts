import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { faultOf } from './testing/fault-of.ts'
import { openSeededLines, RUN_ELSEWHERE, type SeededLines } from './testing/seeded-lines.ts'

/** Every `tollgate …` that a page of docs shows: against the commands and options that there are, and run on a store. */

let lines: SeededLines
beforeAll(async () => {
  lines = await openSeededLines()
})
afterAll(() => lines.close())

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

const SHOWN = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    linesOf(readFileSync(join(DOCS, name), 'utf8')).map((line) => ({ name, line })),
  )

/** The command lines in the blocks of a page, without comments and what the shell does with their output. */
function linesOf(page: string): readonly string[] {
  return [...page.matchAll(/```(?:sh|text|console)\n(.*?)```/gs)].flatMap(([, block = '']) =>
    [...block.matchAll(/(?:^|[\s(])(?:npx )?tollgate (?:tollgate )?([a-z][^\n|)#>]*)/gm)].map(
      ([, line = '']) => line,
    ),
  )
}

test.each(SHOWN)('docs/$name: tollgate $line is a command', ({ line }) => {
  expect(faultOf(line)).toBeNull()
})

/** Values of the shell's variables in scripts of docs. */
const VARIABLES = { $address: 'person@example.org', $account: 'team-vision' }

const RUN = SHOWN.map(({ name, line }) => {
  const typed = Object.entries(VARIABLES).reduce(
    (text, [variable, value]) => text.replaceAll(variable, value),
    line,
  )
  return { name, typed }
}).filter(({ typed }) => !RUN_ELSEWHERE.test(typed))

test.each(RUN)('docs/$name: tollgate $typed runs', async ({ typed }) => {
  const { exitCode, notes } = await lines.run(typed)
  expect([exitCode, notes]).toEqual([0, expect.not.stringContaining('tollgate: ')])
})

test('an unknown command, an unknown option and a missing value are errors', () => {
  expect(SHOWN.length).toBeGreaterThan(50)
  expect(faultOf('account lst')).toBe('account has no command lst')
  expect(faultOf('account list --al')).toBe('list has no option --al')
  expect(faultOf('account show')).toBe('show takes 1 values, not 0')
  expect(faultOf('account show acct_… --json')).toBeNull()
})
