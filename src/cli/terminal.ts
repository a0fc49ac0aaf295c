/** Where a command writes. Passed in, so that a test reads what a person would. */
export interface Terminal {
  /** Results: what a pipe is given. */
  out(text: string): void
  /** Progress and remarks. */
  note(text: string): void
}

/** The process's own terminal. */
export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
}

/** What a command ends with when it could not do what it was asked: the message is for the person. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}
