import type { z } from 'zod'
import { echoed, Problem } from '../vocabulary/problem.ts'

// A body with a thousand unknown fields gets a short refusal.
const FAULTS_MAX = 10

/**
 * Checks what a client sent against a schema, and reads it. Throws the Problem `invalid_parameter`,
 * which names the first ten errors and has the first one's field as its `param`.
 */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: messageOf })
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.flatMap(faultsOf).slice(0, FAULTS_MAX)
  throw new Problem('invalid_parameter', {
    message: `${faults.map(({ field, message }) => `\`${field}\` ${message}`).join('; ')}.`,
    ...(faults[0] === undefined ? {} : { param: faults[0].field }),
  })
}

function faultsOf(
  issue: z.core.$ZodIssue,
): readonly { readonly field: string; readonly message: string }[] {
  const field = issue.path.map(String).join('.')
  if (issue.code !== 'unrecognized_keys') return [{ field, message: issue.message }]
  const inside = field === '' ? '' : `${field}.`
  return issue.keys.map((name) => {
    const shown = echoed(name) ?? '…'
    return { field: `${inside}${shown}`, message: issue.message }
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
}

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  datetime: 'a time such as 2027-01-31T12:00:00Z',
  email: 'an email address',
  safeint: 'a whole number',
}

/** Values as a sentence lists them: `a, b or c`. */
export function oneOf(values: readonly string[], joint: 'or' | 'and' = 'or'): string {
  const last = values.at(-1) ?? ''
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} ${joint} ${last}`
}

/** Whether a body has no other fields than these. */
export function hasOnly(body: object, names: readonly string[]): boolean {
  return Object.entries(body).every(([name, value]) => value === undefined || names.includes(name))
}
