import type { Command } from 'commander'

/** The text of a command's help below its options. */
export interface HelpText {
  /** Facts that no argument and no option states. Lines have at most 80 characters. */
  readonly help?: string
  /** Whole command lines, the most usual first. */
  readonly examples?: readonly string[]
}

/** Adds texts below the options of a command's help. */
export function addHelp(command: Command, { help, examples = [] }: HelpText): Command {
  const heading = examples.length === 1 ? 'Example:' : 'Examples:'
  const shown = [heading, ...examples.map((example) => `  ${example}`)].join('\n')
  const parts = [...(help === undefined ? [] : [help]), ...(examples.length === 0 ? [] : [shown])]
  return parts.length === 0 ? command : command.addHelpText('after', `\n${parts.join('\n\n')}`)
}
