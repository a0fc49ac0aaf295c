import type { Command } from 'commander'
import { program } from './fault-of.ts'

/** Every command that a help shows, with the words that are typed for it. */
function commandsOf(command: Command, words: readonly string[]): [string, Command][] {
  const below = command.createHelp().visibleCommands(command)
  return below.flatMap((each): [string, Command][] => {
    const typed = [...words, each.name()]
    return each.commands.length > 0 ? commandsOf(each, typed) : [[typed.join(' '), each]]
  })
}

/** Every command that a help shows but `help`, by the words that are typed for it. */
export const SHOWN_COMMANDS: readonly [string, Command][] = commandsOf(program, []).filter(
  ([words]) => !/(?:^| )help$/.test(words),
)

/** The command lines of a help's examples, without settings before them and a file after them. */
export function examplesOf(help: string): readonly string[] {
  const [, examples = ''] = help.split(/^Examples?:$/m)
  return [...examples.matchAll(/^ {2}(?:[A-Z_]+=\S+ )?tollgate ([^\n>]+)/gm)].map(
    ([, words = '']) => words.trim(),
  )
}
