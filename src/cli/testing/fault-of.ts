import type { Command } from 'commander'
import { OPERATIONS } from '../../operations/operations.ts'
import { COMMANDS, tollgateProgram } from '../program.ts'

/** The whole program, of which no command can run. */
export const program = tollgateProgram({
  version: '1.2.3',
  explain: () => null,
  terminal: { columnsMax: null, out: () => {}, note: () => {}, progress: () => {} },
  settings: () => {
    throw new Error('no command runs here')
  },
  serve: async () => {},
  operations: OPERATIONS,
  commands: COMMANDS,
})

function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"[^"]*"|\S+/g)].map(([word]) => word)
}

/** The fault of a command line, which is given without `tollgate`; null: there is none. */
export function faultOf(line: string): string | null {
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
  const isVariadic = taken.some(({ variadic }) => variadic)
  return values < needed || (values > taken.length && !isVariadic)
    ? `${command.name()} takes ${taken.length} values, not ${values}`
    : null
}
