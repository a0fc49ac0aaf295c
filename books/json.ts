import { isNode, parseDocument } from 'yaml'

/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; null where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The value at a dotted path (`data.0.key`; `data.*.key` for all of a list); the value itself at ''; undefined where there is none. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value
  const [name = '', ...others] = path.split('.')
  const rest = others.join('.')
  if (Array.isArray(value) && name === '*') return value.map((item) => valueAt(item, rest))
  if (Array.isArray(value)) return valueAt(value[Number(name)], rest)
  return isRecord(value) ? valueAt(value[name], rest) : undefined
}

/** All texts in a value, in order; or those that are members of this name. */
export function textsIn(value: unknown, of?: string, name = of): string[] {
  if (typeof value === 'string') return name === of ? [value] : []
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return members.flatMap(([member, inner]) => textsIn(inner, of, of && member))
}

/** The bytes of a member of an object, as they stand in its JSON, which is YAML too; '' where it has none. */
export function rawMember(json: string, name: string): string {
  const node = parseDocument(json).get(name, true)
  return isNode(node) && node.range ? json.slice(node.range[0], node.range[1]) : ''
}

/** The sum of numbers. */
export const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0)

/** The message of an error. */
export const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
