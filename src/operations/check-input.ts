import { z } from 'zod'
import { areNear } from '../vocabulary/edits.ts'
import { echoed, Problem } from '../vocabulary/problem.ts'

// A body with a thousand unknown fields gets a short refusal.
const FAULTS_MAX = 10

/**
 * Checks a client's input against a schema, and parses it. Throws the Problem `invalid_parameter`,
 * which names the first ten errors and the fields that unknown ones are near, and has the first error's field as its
 * `param`.
 */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  // The known fields by the path of their object: zod drops the schema from an issue once it has its message.
  const knownAt = new Map<string, readonly string[]>()
  const parsed = schema.safeParse(value, {
    error(issue) {
      if (issue.code === 'unrecognized_keys' && issue.inst instanceof z.core.$ZodObject) {
        knownAt.set(pathText(issue.path), Object.keys(issue.inst._zod.def.shape))
      }
      return messageOf(issue)
    },
  })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const faults = issues
    .filter((issue) => !isCoveredByAnother(issue, issues))
    .flatMap((issue) => faultsOf(issue, knownAt.get(pathText(issue.path)) ?? []))
    .slice(0, FAULTS_MAX)
  const near = [...new Set(faults.flatMap((fault) => (fault.near === null ? [] : [fault.near])))]
  const suggestion =
    near.length === 0
      ? ''
      : ` Did you mean ${oneOf(
          near.map((name) => `\`${name}\``),
          'and',
        )}?`
  throw new Problem('invalid_parameter', {
    message: `${faults.map(({ field, message }) => `\`${field}\` ${message}`).join('; ')}.${suggestion}`,
    ...(faults[0] === undefined ? {} : { param: faults[0].field }),
  })
}

interface Fault {
  readonly field: string
  readonly message: string
  /** The known field that an unknown one is near. */
  readonly near: string | null
}

function pathText(path: readonly PropertyKey[] = []): string {
  return path.map(String).join('.')
}

/** Whether a field has its own bound, which says more than that its number is too large. */
function isCoveredByAnother(issue: z.core.$ZodIssue, all: readonly z.core.$ZodIssue[]): boolean {
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return false
  const field = pathText(issue.path)
  return all.some((other) => other.code === 'custom' && pathText(other.path) === field)
}

/** By position: an issue, and the fields that the object has in its schema. */
function faultsOf(issue: z.core.$ZodIssue, known: readonly string[]): readonly Fault[] {
  const field = pathText(issue.path)
  const { message } = issue
  if (issue.code !== 'unrecognized_keys') return [{ field, message, near: null }]
  const inside = field === '' ? '' : `${field}.`
  return issue.keys.slice(0, FAULTS_MAX).map((name) => {
    const shown = echoed(name)
    const found = shown === null ? null : nearField(shown, known)
    const near = found === null ? null : `${inside}${found}`
    return { field: `${inside}${shown ?? '…'}`, message, near }
  })
}

/** The message for a field, to follow its name. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_WORDS[issue.expected] ?? `of type ${issue.expected}`}`
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map(String))}`
    case 'invalid_format':
      return `must be ${FORMAT_WORDS[issue.format] ?? 'in another format'}`
    case 'unrecognized_keys':
      return 'is not a known field'
    // Integers beyond 2^53: all other bounds have their own messages.
    case 'too_big':
      return 'must be a smaller number'
    case 'too_small':
      return 'must be a larger number'
    default:
      return 'has a value that cannot be used'
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
}

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  datetime: 'a time with an offset, such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00+01:00',
  email: 'an email address',
  safeint: 'a whole number',
}

/** Values as a sentence lists them: `a, b or c`. */
export function oneOf(values: readonly string[], joint: 'or' | 'and' = 'or'): string {
  const last = values.at(-1) ?? ''
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} ${joint} ${last}`
}

/**
 * Whether an empty body is read as `{}`: all of its fields can be left out. A change names what it changes, so that one
 * whose body was lost on the way is refused.
 */
export function canBeEmpty(method: string, shape: z.ZodType): boolean {
  return method === 'POST' && shape.safeParse({}).success
}

/** Whether a body has no other fields than these. */
export function hasOnly(body: object, names: readonly string[]): boolean {
  return Object.entries(body).every(([name, value]) => value === undefined || names.includes(name))
}

/** The fields that a change names: the others stay as they are. */
export function given<Fields extends object>(
  fields: Fields,
): { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined)
  // `fromEntries` loses the types of the fields.
  return Object.fromEntries(named) as ReturnType<typeof given<Fields>>
}

/** Names that other services give a field, or that other operations have for it. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['from', 'since'],
  ['since', 'from'],
  ['to', 'until'],
  ['until', 'to'],
])

/** A shorter name is near to many a word. */
const CHARS_MIN = 4

/** The known field that a client meant by an unknown one; null: none is near. */
function nearField(unknown: string, known: readonly string[]): string | null {
  const typed = unknown
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  const tests: readonly ((field: string) => boolean)[] = [
    (field) => field === typed,
    (field) => OTHER_WORDS.get(typed) === field,
    (field) => field.split('_').includes(typed),
    (field) => areNear([typed, field], CHARS_MIN),
  ]
  for (const test of tests) {
    const found = known.find(test)
    if (found !== undefined) return found
  }
  return null
}
