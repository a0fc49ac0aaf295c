import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { OPERATIONS } from '../operations/operations.ts'
import { COMMANDS, tollgateProgram } from './program.ts'

/** Every `tollgate …` that a page of docs shows, against the commands and options that there are. */

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

const program = tollgateProgram({
  version: '1.2.3',
  explain: () => null,
  terminal: { out: () => {}, note: () => {}, progress: () => {} },
  settings: () => {
    throw new Error('no command runs here')
  },
  serve: async () => {},
  operations: OPERATIONS,
  commands: COMMANDS,
})

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

function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"[^"]*"|\S+/g)].map(([word]) => word)
}

/** What is wrong with a command line; null: nothing. */
function faultOf(line: string): string | null {
  const words = [...wordsOf(line)]
  let command: Command = program
  while (command.commands.length > 0) {
    const found = command.commands.find((candidate) => candidate.name() === words[0])
    if (found === undefined) return `${command.name()} has no command ${words[0]}`
    command = found
    words.shift()
  }
  let values = 0
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (!word.startsWith('--')) {
      values += 1
      continue
    }
    const option = command.options.find(({ long }) => long === word)
    if (option === undefined) return `${command.name()} has no option ${word}`
    if (option.required) at += 1
  }
  const taken = command.registeredArguments
  const needed = taken.filter(({ required }) => required).length
  return values < needed || values > taken.length
    ? `${command.name()} takes ${taken.length} values, not ${values}`
    : null
}

test.each(SHOWN)('docs/$name: tollgate $line is a command', ({ line }) => {
  expect(faultOf(line)).toBeNull()
})

test('a command, an option and a value that are not there are faults', () => {
  expect(SHOWN.length).toBeGreaterThan(50)
  expect(faultOf('account lst')).toBe('account has no command lst')
  expect(faultOf('account list --al')).toBe('list has no option --al')
  expect(faultOf('account show')).toBe('show takes 1 values, not 0')
  expect(faultOf('account show acct_… --json')).toBeNull()
})
