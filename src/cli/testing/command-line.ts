import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterEach, beforeEach, expect } from 'vitest'
import { OPERATIONS, type OperationSource } from '../../operations/operations.ts'
import { writeMadeStore } from '../../store/testing/made-store.ts'
import { makeStoreFolder } from '../../store/testing/store-folder.ts'
import { micros } from '../../vocabulary/money.ts'
import type { CommandSettings } from '../command-context.ts'
import type { CommandRow } from '../operation-command.ts'
import { COMMANDS, tollgateProgram } from '../program.ts'
import { runToExitCode } from '../terminal.ts'

/** The output of one command. */
export interface Seen {
  readonly exitCode: number
  /** Standard output. */
  readonly out: string
  /** Standard error. */
  readonly notes: string
}

/** A command that says this, and is done. */
export const printed = (out: string): Seen => ({ exitCode: 0, out, notes: '' })

/** A command that fails, and says why. */
export const failed = (exitCode: number, notes: string): Seen => ({ exitCode, out: '', notes })

/** As {@link failed}, of which this is a part of what it says. */
export const failedWith = (exitCode: number, said: string): Seen =>
  failed(exitCode, expect.stringContaining(said))

/** The command line over a store of its own, in this process. */
export interface CommandLine {
  /** The database of the store, for changes that no command makes. */
  readonly storeUrl: string
  run(...args: string[]): Promise<Seen>
  /** Runs a command with `--json`; throws its error output if it fails. */
  json(...args: string[]): Promise<Record<string, unknown>>
  /** Runs a command that makes something, and returns its ID. */
  make(...args: string[]): Promise<string>
  close(): void
}

/** Operations and commands in addition to those of the product. */
interface MoreCommands {
  readonly operations: readonly OperationSource[]
  readonly commands: readonly CommandRow[]
  /** The width of the terminal. Default: results go to a pipe. */
  readonly columnsMax?: number
}

/** Opens a command line; settings stand over those of a store of its own and no provider. */
export function openCommandLine(
  settings: Partial<CommandSettings> = {},
  more: MoreCommands = { operations: [], commands: [] },
): CommandLine {
  const folder = makeStoreFolder('cli')
  const storeFile = join(folder, 'store.db')
  // A store without tables: commands make them.
  writeFileSync(storeFile, '')
  const storeUrl = settings.storeUrl ?? `sqlite:${storeFile}`
  const whole = {
    typedName: 'npx tollgate',
    keyTag: 'tollgate',
    keyLimits: { requestsPerMinuteMax: 300, inFlightMax: 8, accountKeysMax: 1_000 },
    pageUrl: 'http://localhost:8787',
    serviceName: null,
    // Nothing listens there.
    serverUrl: 'http://127.0.0.1:9',
    webhookNetworks: [],
    sale: {
      terms: { minimumMicros: micros(5_000_000), maximumMicros: micros(500_000_000), feeBps: 0 },
      ceilings: { holdAboveMicros: micros(1e9), holdAboveDailyMicros: micros(5e9) },
      seller: null,
      stripe: null,
      chain: null,
    },
    mail: null,
    ...settings,
    storeUrl,
  }
  const input = {
    version: '1.2.3',
    explain: () => null,
    settings: () => whole,
    operations: [...OPERATIONS, ...more.operations],
    commands: [...COMMANDS, ...more.commands],
    columnsMax: more.columnsMax ?? null,
  }
  const run = (...args: string[]): Promise<Seen> => runProgram(input, args)
  const json = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { exitCode, out, notes } = await run(...args, '--json')
    if (exitCode !== 0) throw new Error(notes)
    return JSON.parse(out)
  }
  return {
    storeUrl,
    run,
    json,
    make: async (...args) => String((await json(...args))['id']),
    close: () => rmSync(folder, { recursive: true }),
  }
}

/** A command line over a new store for each test of a file. */
export function commandLineOfEachTest(): Omit<CommandLine, 'close'> {
  let line: CommandLine | null = null
  const current = (): CommandLine => {
    if (line === null) throw new Error('no test runs')
    return line
  }
  beforeEach(async () => {
    line = openCommandLine()
    // Commands would migrate it first, which takes longer than they do.
    await writeMadeStore(line.storeUrl.replace('sqlite:', ''))
  })
  afterEach(() => current().close())
  return {
    get storeUrl() {
      return current().storeUrl
    },
    run: (...args) => current().run(...args),
    json: (...args) => current().json(...args),
    make: (...args) => current().make(...args),
  }
}

type ProgramParts = Omit<Parameters<typeof tollgateProgram>[0], 'terminal' | 'serve'> & {
  readonly columnsMax: number | null
}

async function runProgram(
  { columnsMax, ...input }: ProgramParts,
  args: readonly string[],
): Promise<Seen> {
  let out = ''
  let notes = ''
  const terminal = {
    columnsMax,
    out: (text: string) => {
      out += `${text}\n`
    },
    note: (text: string) => {
      notes += `${text}\n`
    },
    progress: () => {},
  }
  const serve = async () => terminal.note('serving')
  const program = tollgateProgram({ ...input, terminal, serve })
  forAll(program, (command) =>
    command.configureOutput({ getOutHelpWidth: () => 100, getErrHelpWidth: () => 100 }),
  )
  const exitCode = await runToExitCode({
    args,
    terminal,
    explain: input.explain,
    run: () => program.parseAsync(args, { from: 'user' }),
  })
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
