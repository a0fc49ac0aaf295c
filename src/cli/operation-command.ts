import { Readable } from 'node:stream'
import { Command, Option } from 'commander'
import type { z } from 'zod'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import type { Letter } from '../mail/letter.ts'
import { MailServer } from '../mail/mail-server.ts'
import type { Answered, Operation } from '../operations/operation.ts'
import { makeOperations } from '../operations/operations.ts'
import type { OpenedDeposits } from '../sale/open-deposits.ts'
import { makeSale, openChainSale } from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import { readSetting, writeSetting } from '../store/settings.ts'
import { systemClock } from '../vocabulary/clock.ts'
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
import type { FittingTable } from './table.ts'
import { AmbiguousName, CommandFailure, showProgress, UsageFailure } from './terminal.ts'

/** An argument or an option of a command: a field of its operation's input. */
export interface Taken {
  /** As the help shows it: `<account>`, `--limit <dollars>`. */
  readonly flags: string
  readonly words: string
  /** The place of the field, such as `params.account_id`, `query.limit`, `body.name` or `body.models.allow`. */
  readonly to: `${Place}.${string}`
  /** Its flags in earlier releases: they still work, and no help shows them. */
  readonly formerly?: string
  /** Converts the typed text to the field's value; absent: the text itself. The schema checks it. */
  readonly read?: (text: string, nowMs: number) => unknown
  /** In place of `read`, for an option that may be given several times: all of its texts. */
  readonly readAll?: (texts: readonly string[]) => unknown
  /** Replaces the text of a field by one that only the open store knows. Throws Problem and UsageFailure. */
  readonly find?: (text: string, opened: CommandContext) => Promise<string>
  /** The value of an option that is left out. */
  readonly fallback?: string
}

type Place = 'params' | 'query' | 'body'

/** A command that runs an operation, as an admin. */
export interface OperationCommand extends HelpText {
  readonly name: string
  /** The command's name in earlier releases: it still runs, and no help shows it. */
  readonly formerly?: string
  /** The operation's name. */
  readonly runs: string
  readonly words: string
  /** Arguments first, in the order in which they are typed. */
  readonly takes: readonly Taken[]
  /** Fixed fields of the body. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly show: Show
  /** A remark before a long operation, not with `--json`. Throws `CommandFailure` before the store is opened. */
  readonly begins?: (input: CommandInput) => string
  /** How far a long operation is, in words. */
  readonly progress?: (done: number) => string
  /** Whether it may be the first on a store, which it makes. */
  readonly makesStore?: true
  /** Whether at least one option must be given. */
  readonly changes?: true
}

/** Commands below one word, such as `tollgate key`. */
export interface CommandGroup {
  readonly name: string
  readonly words: string
  readonly commands: readonly CommandRow[]
}

/** A command, or a group of them. */
export type CommandRow = OperationCommand | CommandGroup | OwnCommand

/** A command that is no operation: only where the store and the settings are can it run. */
interface OwnCommand {
  readonly make: (input: CommandInput) => Command
}

/** An operation's response for a person: the result, and a remark about it. */
export interface Shown {
  readonly out: string | FittingTable
  readonly note?: string
  /** A remark for an operation that sent no email. */
  readonly noteUnsent?: string
  /** Why the command exits with 1 although the operation succeeded, also with `--json`. */
  readonly failure?: string
}

type Show = (answered: Answered) => Shown | Promise<Shown>

/** Shows an answer of a shape. */
export function show<Shape extends z.ZodType>(
  shape: Shape,
  inWords: (body: z.output<Shape>, httpStatus: number) => Shown,
): (answered: Answered) => Shown {
  return ({ body, httpStatus }) => inWords(shape.parse(body), httpStatus)
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
    const begins = row.begins?.(input)
    const open = row.makesStore === true ? withNewStore : withStore
    await open(input, async (opened) => {
      const { terminal } = opened
      const { progress } = row
      const isJson = options['json'] === true
      if (begins !== undefined && !isJson) terminal.note(begins)
      const letters: Letter[] = []
      const run = async () => {
        await findValues(sent, { row, opened })
        const onProgress = progress && showProgress(terminal, progress)
        const ran = { runs: row.runs, ...sent, ...(onProgress && { onProgress }) }
        return runOperation(input, { ...opened, letters }, ran)
      }
      const answered = await run().catch((error: unknown) => rethrowTyped(error, { row, isJson }))
      const isText = answered.body instanceof Readable
      const { out, note, noteUnsent, failure } = await row.show(answered)
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

/** Commands may do everything: whoever types them has the store. */
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
  const { keyTag, pageUrl, webhookNetworks, upstreams } = read
  const sections = makeOperations(operations, {
    store,
    ledger,
    sale: (await openSale(opened, read)).sale,
    // Receipts are for people who bought, on the page.
    seller: { name: null, taxId: null },
    ids,
    clock,
    keyTag,
    // Commands are of admins, who may set any limit.
    keyLimits: {
      requestsPerMinuteMax: LEDGER_LIMITS_DEFAULT.keyRequestsPerMinuteMax,
      inFlightMax: LEDGER_LIMITS_DEFAULT.openHoldsMax,
    },
    pageUrl,
    postLetter: read.mail && ((letter) => opened.letters.push(letter)),
    webhookNetworks,
    maintenance: {
      get isOn() {
        return readSetting(store.db, 'maintenance').then((value) => value === 'on')
      },
      turn: (value) => writeSetting(store.db, { name: 'maintenance', value }),
    },
    async refreshCatalog(onImageModel) {
      if (upstreams === undefined) throw new CommandFailure('no upstream is configured')
      // The code that talks to the provider is loaded for this alone: other commands start sooner without it.
      const { refreshCatalog } = await import('./refresh-catalog.ts')
      return refreshCatalog(opened, upstreams, onImageModel)
    },
    // A command does not know what servers have seen of upstreams.
    async upstreams() {
      const configured = await upstreams?.load()
      return (configured?.upstreams ?? []).map(({ name, dialect, inFlightMax }) => {
        return { name, dialect, inFlightMax, isAccountRefused: false, left: null }
      })
    },
    server: null,
    // A running server reads the store again within seconds.
    onCallersChanged: async () => {},
    onAdminTokensChanged: () => {},
  })
  const found = sections.flatMap((section) => section.operations).find((each) => each.name === name)
  if (found === undefined) throw new TypeError(`no operation is called ${name}`)
  return found
}

/**
 * Sends what an operation posted. Throws CommandFailure if the mail server refuses it: the operation is done
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
      const reason = error instanceof Error ? error.message : String(error)
      throw new CommandFailure(`the link was made, and no email was sent: ${reason}`, {
        cause: error,
      })
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

/** The input of the operation, from the typed words and options. */
function sentOf(
  { takes, body, changes }: OperationCommand,
  words: readonly string[],
  {
    options,
    nowMs,
  }: { readonly options: Readonly<Record<string, unknown>>; readonly nowMs: number },
) {
  const sent: Sent = { params: {}, query: {}, body: { ...body } }
  let isChanged = false
  for (const [index, taken] of takes.entries()) {
    const { flags, formerly = flags, to } = taken
    const isOption = flags.startsWith('--')
    const given = (name: string) => options[new Option(name).attributeName()]
    const value = isOption ? (given(flags) ?? given(formerly)) : words[index]
    if (value === undefined) continue
    isChanged ||= isOption
    const [place, ...path] = to.split('.')
    put(ownerOf(sent, place), { path, value: readTyped(value, { taken, nowMs }), flags })
  }
  if (changes === true && !isChanged) {
    const names = takes.map(nameOf).filter((name) => name.startsWith('--'))
    throw new UsageFailure(
      `nothing to change: give ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
    )
  }
  return sent
}

interface Sent {
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

/** The fields of one place. */
function ownerOf(sent: Sent, place: string | undefined): Record<string, unknown> {
  return place === 'params' || place === 'query' ? sent[place] : sent.body
}

/** Replaces the values of the input that only the store knows. */
async function findValues(
  sent: Sent,
  { row: { takes }, opened }: { readonly row: OperationCommand; readonly opened: CommandContext },
): Promise<void> {
  for (const { flags, to, find } of takes) {
    const [place, field = ''] = to.split('.')
    if (find === undefined) continue
    const owner = ownerOf(sent, place)
    const text = owner[field]
    if (typeof text !== 'string') continue
    owner[field] = await find(text, opened).catch((error: unknown) => rethrowNamed(error, flags))
  }
}

/** Sets a field, or a field of an object in a field. */
function put(
  owner: Record<string, unknown>,
  {
    path: [field = '', ...rest],
    value,
    flags,
  }: { readonly path: readonly string[]; readonly value: unknown; readonly flags: string },
): void {
  if (rest.length === 0) {
    owner[field] = value
    return
  }
  if (owner[field] === null) {
    throw new UsageFailure(`\`${nameOf({ flags })}\` cannot be given with \`--${field} none\`.`)
  }
  const inner = { ...Object(owner[field]) }
  put(inner, { path: rest, value, flags })
  owner[field] = inner
}

function readTyped(
  value: unknown,
  { taken, nowMs }: { readonly taken: Taken; readonly nowMs: number },
): unknown {
  const { flags, read = String, readAll } = taken
  try {
    return Array.isArray(value) && readAll !== undefined
      ? readAll(value.map(String))
      : read(String(value), nowMs)
  } catch (error) {
    return rethrowNamed(error, flags)
  }
}

/** Rethrows what is wrong with a typed value, with the name of its argument or option in front. */
function rethrowNamed(error: unknown, flags: string): never {
  if (!(error instanceof UsageFailure) || error instanceof AmbiguousName) throw error
  throw new UsageFailure(`\`${nameOf({ flags })}\` ${error.message}.`, { cause: error })
}

/** Its name on the command line: `--limit`, or `<dollars>`. */
function nameOf({ flags }: Pick<Taken, 'flags'>): string {
  return flags.startsWith('--') ? (flags.split(' ')[0] ?? flags) : flags
}

/** Rethrows a refusal with the command line's names of the fields; for a person also where to find an ID. */
function rethrowTyped(
  error: unknown,
  { row: { takes }, isJson }: { readonly row: OperationCommand; readonly isJson: boolean },
): never {
  if (!(error instanceof Problem)) throw error
  const names = new Map(takes.map((taken) => [taken.to.replace(/^\w+\./, ''), nameOf(taken)]))
  const message = error.message.replace(/`([^`]+)`/g, (_quoted, field: string) => {
    // A field of what was typed, such as an element of a list, has the name of the whole.
    const [, whole] = [...names].find(([name]) => field.startsWith(`${name}.`)) ?? []
    return `\`${names.get(field) ?? whole ?? field}\``
  })
  const hint = isJson ? '' : findingHint(message)
  throw new Problem(error.code, { message: message + hint, cause: error })
}
