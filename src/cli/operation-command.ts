import { Command, Option } from 'commander'
import type { z } from 'zod'
import { commandOperations } from '../operations/admin-sections.ts'
import type { Answered, Operation } from '../operations/operation.ts'
import { readSetting, writeSetting } from '../store/settings.ts'
import { Problem } from '../vocabulary/problem.ts'
import { type Books, type CommandInput, withBooks, withNewBooks } from './books.ts'
import { UsageFailure } from './terminal.ts'

/** An argument or an option of a command: a field of its operation's input. */
export interface Taken {
  /** As the help shows it: `<account>`, `--limit <dollars>`. */
  readonly flags: string
  readonly words: string
  /** Where the field is, such as `params.account_id`, `query.limit` or `body.name`. */
  readonly to: `${Place}.${string}`
  /** The field's value of what was typed; absent: the text itself. Its rule is the operation's schema. */
  readonly read?: (text: string) => unknown
  /** What stands for an option that is left out. */
  readonly fallback?: string
}

type Place = 'params' | 'query' | 'body'

/** A command that runs an operation. */
export interface OperationCommand {
  readonly name: string
  /** The operation's name. */
  readonly runs: string
  readonly words: string
  /** Arguments first, in the order in which they are typed. */
  readonly takes: readonly Taken[]
  /** What the command itself says of the body. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly show: Show
  /** Whether it may be the first on a store, which it makes. */
  readonly makesStore?: true
  /** Whether at least one option must be given. */
  readonly changes?: true
  readonly help?: string
}

/** An operation's answer for a person: the result, and a remark beside it. */
export interface Shown {
  readonly out: string
  readonly note?: string
}

type Show = (answered: Answered) => Shown

/** Shows an answer of a shape. */
export function show<Shape extends z.ZodType>(
  shape: Shape,
  inWords: (body: z.output<Shape>, httpStatus: number) => Shown,
): Show {
  return ({ body, httpStatus }) => inWords(shape.parse(body), httpStatus)
}

/** The command of a row, which runs its operation and prints the answer. */
export function operationCommand(input: CommandInput, row: OperationCommand): Command {
  const command = new Command(row.name).description(row.words)
  for (const { flags, words, fallback } of row.takes) {
    if (flags.startsWith('--')) command.addOption(new Option(flags, words).default(fallback))
    else command.argument(flags, words)
  }
  command.option('--json', 'print JSON')
  if (row.help !== undefined) command.addHelpText('after', row.help)
  return command.action(async () => {
    const options: Readonly<Record<string, unknown>> = command.opts()
    const sent = sentOf(row, { words: command.args, options })
    const open = row.makesStore === true ? withNewBooks : withBooks
    await open(input, async (books) => {
      const answered = await operationOf(books, row.runs)
        .run({ headers: {}, peerAddress: undefined, ...sent })
        .catch((error: unknown) => rethrowTyped(error, row))
      const { terminal } = books
      if (options['json'] === true) return terminal.out(JSON.stringify(answered.body))
      const { out, note } = row.show(answered)
      terminal.out(out)
      if (note !== undefined) terminal.note(note)
    })
  })
}

function operationOf(books: Books, name: string): Operation {
  const { store, ledger, ids, clock, keyTag } = books
  const operation = commandOperations({
    store,
    books: ledger,
    ids,
    clock,
    keyTag,
    maintenance: {
      get isOn() {
        return readSetting(store.db, 'maintenance').then((value) => value === 'on')
      },
      turn: (value) => writeSetting(store.db, { name: 'maintenance', value }),
    },
    // A running server asks the store by itself.
    onCallersChanged: async () => {},
  }).get(name)
  if (operation === undefined) throw new TypeError(`no operation is called ${name}`)
  return operation
}

interface Typed {
  /** Arguments, in their order. */
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** What the operation is sent for what was typed. */
function sentOf({ takes, body, changes }: OperationCommand, { words, options }: Typed) {
  const sent: {
    params: Record<string, string>
    query: Record<string, unknown>
    body: Record<string, unknown>
  } = { params: {}, query: {}, body: { ...body } }
  let isChanged = false
  for (const [index, { flags, to, read }] of takes.entries()) {
    const isOption = flags.startsWith('--')
    const value = isOption ? options[new Option(flags).attributeName()] : words[index]
    if (value === undefined) continue
    isChanged ||= isOption
    const text = String(value)
    const [place, field = ''] = to.split('.')
    if (place === 'params') sent.params[field] = text
    else sent[place === 'query' ? 'query' : 'body'][field] = readTyped(text, { flags, read })
  }
  if (changes === true && !isChanged) {
    const names = takes.map(nameOf).filter((name) => name.startsWith('--'))
    throw new UsageFailure(
      `nothing to change: give ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
    )
  }
  return sent
}

function readTyped(
  text: string,
  { flags, read }: Pick<Taken, 'flags'> & { readonly read: Taken['read'] },
) {
  try {
    return read === undefined ? text : read(text)
  } catch (error) {
    if (!(error instanceof UsageFailure)) throw error
    throw new UsageFailure(`\`${nameOf({ flags })}\` ${error.message}.`, { cause: error })
  }
}

/** What a person calls it: `--limit`, or `<dollars>`. */
function nameOf({ flags }: Pick<Taken, 'flags'>): string {
  return flags.startsWith('--') ? (flags.split(' ')[0] ?? flags) : flags
}

/** A refusal that names fields by what was typed for them. */
function rethrowTyped(error: unknown, { takes }: OperationCommand): never {
  if (!(error instanceof Problem)) throw error
  const names = new Map(takes.map((taken) => [taken.to.replace(/^\w+\./, ''), nameOf(taken)]))
  const message = error.message.replace(
    /`([^`]+)`/g,
    (quoted, field: string) => `\`${names.get(field) ?? field}\`` || quoted,
  )
  throw new Problem(error.code, { message, cause: error })
}
