import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { CommandSettings } from '../books.ts'
import { tollgateProgram } from '../program.ts'
import { runCommandLine } from '../run-command-line.ts'

/** What a person saw of one command. */
export interface Seen {
  readonly exitCode: number
  /** Standard output. */
  readonly out: string
  /** Standard error. */
  readonly notes: string
}

/** The command line over a store of its own, in this process. */
export interface CommandLine {
  /** Of the store, for what no command does. */
  readonly storeUrl: string
  run(...args: string[]): Promise<Seen>
  /** Runs a command with `--json`; throws what it said where it fails. */
  json(...args: string[]): Promise<Record<string, unknown>>
  close(): void
}

/** Opens a command line; settings stand over those of a store of its own and no provider. */
export function openCommandLine(settings: Partial<CommandSettings> = {}): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'))
  const storeFile = join(folder, 'store.db')
  // A store without tables: commands make them.
  writeFileSync(storeFile, '')
  const storeUrl = settings.storeUrl ?? `sqlite:${storeFile}`
  const whole = { keyTag: 'tollgate', ...settings, storeUrl }
  const run = (...args: string[]): Promise<Seen> => runProgram(whole, args)
  return {
    storeUrl,
    run,
    async json(...args) {
      const { exitCode, out, notes } = await run(...args, '--json')
      if (exitCode !== 0) throw new Error(notes)
      return JSON.parse(out)
    },
    close: () => rmSync(folder, { recursive: true }),
  }
}

async function runProgram(settings: CommandSettings, args: readonly string[]): Promise<Seen> {
  let out = ''
  let notes = ''
  const terminal = {
    out: (text: string) => {
      out += `${text}\n`
    },
    note: (text: string) => {
      notes += `${text}\n`
    },
    progress: () => {},
  }
  const program = tollgateProgram({
    version: '1.2.3',
    settings: () => settings,
    terminal,
    serve: async () => terminal.note('serving'),
  })
  forAll(program, (command) =>
    command.configureOutput({ getOutHelpWidth: () => 100, getErrHelpWidth: () => 100 }),
  )
  const exitCode = await runCommandLine(program, { args, terminal, explain: () => null })
  return { exitCode, out, notes }
}

function forAll(command: Command, act: (command: Command) => void): void {
  act(command)
  for (const below of command.commands) forAll(below, act)
}

/** The cells of a printed table, headings first. */
export function cells(out: string): string[][] {
  return out
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/))
}
