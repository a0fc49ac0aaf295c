import { Readable } from 'node:stream'
import { Command, Option } from 'commander'
import type { z } from 'zod'
import { Maintenance } from '../journey/gate/maintenance.ts'
import type { Letter } from '../mail/letter.ts'
import { MailServer } from '../mail/mail-server.ts'
import type { Answered, Operation } from '../operations/operation.ts'
import { makeOperations } from '../operations/operations.ts'
import type { OpenedDeposits } from '../sale/open-deposits.ts'
import { makeSale, openChainSale } from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { messageOf } from '../vocabulary/message-of.ts'
import { Problem } from '../vocabulary/problem.ts'
import { COMMAND_LINE } from '../vocabulary/recorded-operation.ts'
import {
  type CommandContext,
  type CommandInput,
  type CommandSettings,
  withNewStore,
  withStore,
} from './command-context.ts'
import { addHelp, type HelpText } from './help-text.ts'
import { findingHint } from './ids.ts'
import { type Named, namedIn } from './names.ts'
import type { FittingTable } from './table.ts'
import { CommandFailure, showProgress, UsageFailure } from './terminal.ts'
import { findValues, nameOf, type Sent, sentOf, type TypedRow } from './typed-input.ts'

/** A command that runs an operation, as an admin. */
export interface OperationCommand extends HelpText, TypedRow {
  readonly name: string
  /** The command's name in earlier releases: it still runs, and no help shows it. */
  readonly formerly?: string
  /** The operation's name. */
  readonly runs: string
  readonly words: string
  readonly show: Show
  /** A remark before a long operation, not with `--json`. Throws `CommandFailure` before the store is opened. */
  readonly begins?: (input: CommandInput) => string
  /** How far a long operation is, in words. */
  readonly progress?: (done: number) => string
  /** Whether it may be the first on a store, which it makes. */
  readonly makesStore?: true
}

/** Commands below one word, such as `tollgate key`. */
export interface CommandGroup {
  readonly name: string
  readonly words: string
  readonly commands: readonly CommandRow[]
}

/** A command, or a group of them. `make`: no operation, so it can only run where the store and the settings are. */
export type CommandRow =
  | OperationCommand
  | CommandGroup
  | { readonly make: (input: CommandInput) => Command }

/** An operation's response for a person: the result, and a remark about it. */
export interface Shown {
  readonly out: string | FittingTable
  readonly note?: string
  /** A remark for an operation that sent no email. */
  readonly noteUnsent?: string
  /** Why the command exits with 1 although the operation succeeded, also with `--json`. */
  readonly failure?: string
}

type Show = (answered: Answered, ran: ShowInput) => Shown | Promise<Shown>

/** The texts that a command can show in addition to its response. */
interface ShowInput {
  /** The input that the operation got. */
  readonly sent: Sent
  /** The names of things that the response has the IDs of. */
  readonly named: Named
  readonly settings: Pick<CommandSettings, 'typedName' | 'pageUrl'>
}

/** Shows an answer of a shape. */
export function show<Shape extends z.ZodType>(
  shape: Shape,
  inWords: (body: z.output<Shape>, httpStatus: number) => Shown,
): (answered: Answered) => Shown {
  return ({ body, httpStatus }) => inWords(shape.parse(body), httpStatus)
}

/** Like {@link show}, for an answer that names an account or a key only by its ID. */
export function showNamed<Shape extends z.ZodType>(
  shape: Shape,
  inWords: (
    body: z.output<Shape>,
    ran: ShowInput & { readonly httpStatus: number },
  ) => Promise<Shown>,
): Show {
  return ({ body, httpStatus }, ran) => inWords(shape.parse(body), { ...ran, httpStatus })
}

/** The command of a row, which runs its operation and prints the response, or the group of a row. */
export function operationCommand(input: CommandInput, row: CommandRow): Command {
  if ('make' in row) return row.make(input)
  if (!('commands' in row)) return commandOf(input, row)
  const group = new Command(row.name).description(row.words)
  for (const below of row.commands) {
    group.addCommand(operationCommand(input, below))
    if (!('formerly' in below) || below.formerly === undefined) continue
    group.addCommand(commandOf(input, { ...below, name: below.formerly }), { hidden: true })
  }
  return group
}

function commandOf(input: CommandInput, row: OperationCommand): Command {
  const command = new Command(row.name).description(row.words)
  for (const { flags, formerly, words, fallback, readAll } of row.takes) {
    if (formerly !== undefined) command.addOption(new Option(formerly, words).hideHelp())
    if (readAll !== undefined) {
      const texts = (text: string, before: readonly string[] = []) => [...before, text]
      command.option(flags, words, texts)
    } else if (flags.startsWith('--'))
      command.addOption(new Option(flags, words).default(fallback, fallback))
    else command.argument(flags, words)
  }
  command.option('--json', 'print JSON')
  return addHelp(command, row).action(async () => {
    const options: Readonly<Record<string, unknown>> = command.opts()
    const sent = sentOf(row, command.args, { options, nowMs: systemClock.nowMs() })
    const isJson = options['json'] === true
    const { format } = sent.query
    if (isJson && (format === 'csv' || format === 'focus')) {
      const other = options['csv'] === true ? '--csv' : `--format ${format}`
      throw new UsageFailure(`\`--json\` cannot be given with \`${other}\`.`)
    }
    const begins = row.begins?.(input)
    const open = row.makesStore === true ? withNewStore : withStore
    await open(input, async (opened) => {
      const { terminal } = opened
      const { progress } = row
      if (begins !== undefined && !isJson) terminal.note(begins)
      const letters: Letter[] = []
      const run = async () => {
        await findValues(sent, { takes: row.takes, opened })
        const onProgress = progress && showProgress(terminal, progress)
        const ran = { runs: row.runs, ...sent, ...(onProgress && { onProgress }) }
        return runOperation(input, { ...opened, letters }, ran)
      }
      const answered = await run().catch((error: unknown) => rethrowTyped(error, { row, isJson }))
      const isText = answered.body instanceof Readable
      const { out, note, noteUnsent, failure } = await row.show(answered, {
        sent,
        named: namedIn(opened.store.db),
        settings: input.settings(),
      })
      const shown = typeof out === 'string' ? out : out(terminal.columnsMax)
      terminal.out(isJson && !isText ? JSON.stringify(answered.body) : shown)
      if (note !== undefined && !isJson) terminal.note(note)
      if (noteUnsent !== undefined && letters.length === 0 && !isJson) terminal.note(noteUnsent)
      await sendLetters(input, letters)
      if (failure !== undefined) throw new CommandFailure(failure)
    })
  })
}

interface RunInput {
  /** The operation's name. */
  readonly runs: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly onProgress?: (done: number) => void
}

/** Runs an operation as an admin. Throws Problem. By position: the command's inputs, the open store, and the call. */
export async function runOperation(
  input: CommandInput,
  opened: CommandContext & { readonly letters: Letter[] },
  { runs, params = {}, query = {}, body = {}, ...rest }: RunInput,
): Promise<Answered> {
  const ran = await operationOf(input, opened, runs)
  const actionId = opened.ids.next('act')
  const caller = { kind: 'admin', token: { ...TOKEN_OF_COMMANDS, actionId } } as const
  return ran.run({ caller, params, query, body, ...rest })
}

/** Commands may do everything: the person who types them has the store. */
const TOKEN_OF_COMMANDS = {
  id: null,
  name: COMMAND_LINE,
  scopes: ['everything'],
  expiresAtMs: null,
} as const

async function operationOf(
  { settings, operations }: CommandInput,
  opened: CommandContext & { readonly letters: Letter[] },
  name: string,
): Promise<Operation> {
  const { store, ledger, ids, clock } = opened
  const read = settings()
  const { keyTag, keyLimits, pageUrl, serviceName, webhookNetworks, upstreams } = read
  const maintenance = new Maintenance({ db: store.db, clock })
  await maintenance.read()
  const sections = makeOperations(operations, {
    store,
    ledger,
    sale: (await openSale(opened, read)).sale,
    // Receipts are for people who bought, on the page.
    seller: { name: null, taxId: null },
    ids,
    clock,
    keyTag,
    keyLimits,
    pageUrl,
    serviceName,
    postLetter: read.mail && ((letter) => opened.letters.push(letter)),
    webhookNetworks,
    maintenance,
    async refreshCatalog(onImageModel) {
      if (upstreams === undefined) throw new CommandFailure('no upstream is configured')
      // The code that talks to the provider is loaded only for this: other commands start sooner without it.
      const { refreshCatalog } = await import('./refresh-catalog.ts')
      return refreshCatalog(opened, upstreams, onImageModel)
    },
    // A command does not know the servers' observations of upstreams.
    async upstreams() {
      const configured = await upstreams?.load()
      return (configured?.upstreams ?? []).map(({ name, dialect, inFlightMax }) => {
        return { name, dialect, inFlightMax, isAccountRefused: false, left: null }
      })
    },
    server: null,
    // A running server reads the store again within seconds.
    onCallersChanged: async () => {},
    onAdminTokensChanged: async () => {},
  })
  const found = sections.flatMap((section) => section.operations).find((each) => each.name === name)
  if (found === undefined) throw new TypeError(`no operation is called ${name}`)
  return found
}

/**
 * Sends the letters that an operation posted. Throws CommandFailure if the mail server refuses it: the operation is done
 * nevertheless.
 */
async function sendLetters(
  { settings, terminal }: CommandInput,
  letters: readonly Letter[],
): Promise<void> {
  const { mail } = settings()
  if (mail === null) return
  for (const letter of letters) {
    await new MailServer(mail).send(letter).catch((error: unknown) => {
      throw new CommandFailure(
        `the link was created, but no email was sent: ${messageOf(error)}. Send the link yourself`,
        { cause: error },
      )
    })
    terminal.note(`The link was emailed to ${letter.to}.`)
  }
}

/** The sale, for looks at purchases, and the chain of deposits; null: none. */
export async function openSale(
  { store: { db }, ledger, ids, clock, terminal }: CommandContext,
  { pageUrl, sale, upstreams }: CommandSettings,
): Promise<{ readonly sale: Sale | null; readonly chain: OpenedDeposits | null }> {
  const isSimulator = upstreams === undefined
  // A running server reads the store again within seconds.
  const onCreditChanged = async () => {}
  const chain = await openChainSale(sale, {
    db,
    clock,
    onNodeFailure: (_node, cause) => terminal.note(String(cause)),
  })
  const opened = { db, ledger, ids, clock, isSimulator, onCreditChanged, publicUrl: () => pageUrl }
  const made = makeSale(sale, { ...opened, deposits: chain?.methods ?? [] })
  return { sale: made?.sale ?? null, chain }
}

/** Rethrows a refusal with the command line's names of the fields; for a person also where to find an ID. */
function rethrowTyped(
  error: unknown,
  { row: { takes }, isJson }: { readonly row: OperationCommand; readonly isJson: boolean },
): never {
  if (!(error instanceof Problem)) throw error
  const names = new Map(takes.map((taken) => [taken.to.replace(/^\w+\./, ''), nameOf(taken)]))
  const withoutValue = new Set(
    takes.map(({ flags }) => flags).filter((flags) => /^--[a-z-]+$/.test(flags)),
  )
  const message = error.message.replace(
    /`([^`=]+)(=[^`]*)?`/g,
    (quoted, field: string, value = '') => {
      // A part of a typed value, such as an element of a list, has the name of the whole.
      const [, whole] = [...names].find(([name]) => field.startsWith(`${name}.`)) ?? []
      const typed = names.get(field) ?? whole
      if (typed === undefined) return quoted
      return `\`${typed}${withoutValue.has(typed) ? '' : value.replace('=', ' ')}\``
    },
  )
  const hint = isJson ? '' : findingHint(message)
  throw new Problem(error.code, { message: message + hint, cause: error })
}
