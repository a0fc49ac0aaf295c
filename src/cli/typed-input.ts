import { Option } from 'commander'
import type { CommandContext } from './command-context.ts'
import { AmbiguousName, UsageFailure } from './terminal.ts'

/** An argument or an option of a command: a field of its operation's input. */
export interface Taken {
  /** The form in the help: `<account>`, `--limit <dollars>`. */
  readonly flags: string
  readonly words: string
  /** The place of the field, such as `params.account_id`, `query.limit`, `body.name` or `body.models.allow`. */
  readonly to: `${Place}.${string}`
  /** Its flags in earlier releases: they still work, and no help shows them. */
  readonly formerly?: string
  /**
   * Converts the typed text to the field's value; absent: the text itself. The schema checks it. By position: the text,
   * and the present.
   */
  readonly read?: (text: string, nowMs: number, other: OtherTyped) => unknown
  /** In place of `read`, for an option that may be given several times: all of its texts. */
  readonly readAll?: (texts: readonly string[]) => unknown
  /** Replaces the text of a field by one that only the open store knows. Throws Problem and UsageFailure. */
  readonly find?: (text: string, opened: CommandContext) => Promise<string>
  /** The value of an option that is left out. */
  readonly fallback?: string
}

type Place = 'params' | 'query' | 'body'

/** The options that the texts of other ones are read by. */
export interface OtherTyped {
  /** The typed `--time-zone`, which may be the name of none. */
  readonly timeZone: string
}

/** The arguments and options of a command. */
export interface TypedRow {
  /** Arguments first, in the order in which they are typed. */
  readonly takes: readonly Taken[]
  /** Fixed fields of the body. */
  readonly body?: Readonly<Record<string, unknown>>
  /** Whether at least one option must be given. */
  readonly changes?: true
}

/** The input of the operation, from the typed words and options. */
export function sentOf(
  { takes, body, changes }: TypedRow,
  words: readonly string[],
  {
    options,
    nowMs,
  }: { readonly options: Readonly<Record<string, unknown>>; readonly nowMs: number },
) {
  const sent: Sent = { params: {}, query: {}, body: { ...body } }
  const present = { nowMs, timeZone: String(options['timeZone'] ?? 'UTC') }
  let isChanged = false
  for (const [index, taken] of takes.entries()) {
    const { flags, formerly = flags, to } = taken
    const isOption = flags.startsWith('--')
    const given = (name: string) => options[new Option(name).attributeName()]
    const value = isOption ? (given(flags) ?? given(formerly)) : words[index]
    if (value === undefined) continue
    isChanged ||= isOption
    const [place, ...path] = to.split('.')
    put(ownerOf(sent, place), { path, value: readTyped(value, { taken, ...present }), flags })
  }
  if (changes === true && !isChanged) {
    const names = takes.map(nameOf).filter((name) => name.startsWith('--'))
    throw new UsageFailure(
      `nothing to change: give ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
    )
  }
  return sent
}

/** The input of an operation. */
export interface Sent {
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

/** The fields of one place. */
function ownerOf(sent: Sent, place: string | undefined): Record<string, unknown> {
  return place === 'params' || place === 'query' ? sent[place] : sent.body
}

/** Replaces the values of the input that only the store knows. */
export async function findValues(
  sent: Sent,
  { takes, opened }: { readonly takes: readonly Taken[]; readonly opened: CommandContext },
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
  { taken, nowMs, timeZone }: OtherTyped & { readonly taken: Taken; readonly nowMs: number },
): unknown {
  const { flags, read = String, readAll } = taken
  try {
    // Node has put it in the place of bytes that are not UTF-8.
    if (String(value).includes('\ufffd')) {
      throw new UsageFailure(
        'has characters that are not UTF-8: use a terminal, or a file, in UTF-8',
      )
    }
    return Array.isArray(value) && readAll !== undefined
      ? readAll(value.map(String))
      : read(String(value), nowMs, { timeZone })
  } catch (error) {
    return rethrowNamed(error, flags)
  }
}

/** Rethrows the fault of a typed value, with the name of its argument or option in front. */
function rethrowNamed(error: unknown, flags: string): never {
  if (!(error instanceof UsageFailure) || error instanceof AmbiguousName) throw error
  throw new UsageFailure(`\`${nameOf({ flags })}\` ${error.message}.`, { cause: error })
}

/** Its name on the command line: `--limit`, or `<dollars>`. */
export function nameOf({ flags }: Pick<Taken, 'flags'>): string {
  return flags.startsWith('--') ? (flags.split(' ')[0] ?? flags) : flags
}
