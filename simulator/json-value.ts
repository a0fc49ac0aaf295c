/** Anything that JSON can say. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object; a name that is not there reads as undefined. */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isArray(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** Reads a JSON object from its text; null where the text is anything else. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The value if it is an object, else an empty one. */
export function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The value if it is an array, else an empty one. */
export function arrayOr(value: unknown): readonly JsonValue[] {
  return isArray(value) ? value : []
}

/** The value if it is a string, else the empty one. */
export function stringOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

// A schema that refers to itself has no smallest instance to find by walking; this ends the walk.
const DEPTH_MAX = 12

/** Makes a value that fits a JSON Schema of the usual simple kind; `words` is the text of its strings. */
export function instanceOf(schema: JsonValue | undefined, words: string): JsonValue {
  return build({ schema, words, root: objectOr(schema), depth: 0 })
}

interface Spot {
  readonly schema: JsonValue | undefined
  readonly words: string
  readonly root: JsonObject
  readonly depth: number
}

function build(spot: Spot): JsonValue {
  if (!isObject(spot.schema) || spot.depth > DEPTH_MAX) return null
  const schema = spot.schema
  const inside = (inner: JsonValue | undefined): JsonValue =>
    build({ ...spot, schema: inner, depth: spot.depth + 1 })
  const reference = schema['$ref']
  if (typeof reference === 'string') return inside(referenced(reference, spot.root))
  if (schema['const'] !== undefined) return schema['const']
  const first = arrayOr(schema['enum'])[0]
  if (first !== undefined) return first
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const branch = arrayOr(schema[word])[0]
    if (branch !== undefined) return inside(branch)
  }
  const type = isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type ?? (isObject(schema['properties']) ? 'object' : undefined)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(objectOr(schema['properties'])).map(([name, inner]) => [
          name,
          inside(inner),
        ]),
      )
    case 'array': {
      const length = Math.min(Math.max(1, numberOr(schema['minItems'], 1)), 100)
      return Array.from({ length }, () => inside(schema['items'] ?? { type: 'string' }))
    }
    case 'string':
      return stringFor(schema, spot.words)
    case 'integer':
      return Math.ceil(numberOr(schema['minimum'], 1))
    case 'number':
      return numberOr(schema['minimum'], 1.5)
    case 'boolean':
      return true
    default:
      return null
  }
}

function referenced(reference: string, root: JsonObject): JsonValue | undefined {
  if (reference === '#') return root
  const match = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference)
  return match === null ? undefined : objectOr(root[match[1] ?? ''])[match[2] ?? '']
}

function stringFor(schema: JsonObject, words: string): string {
  switch (schema['format']) {
    case 'date':
      return '2026-01-02'
    case 'date-time':
      return '2026-01-02T03:04:05Z'
    case 'email':
      return 'someone@example.com'
    case 'uri':
      return 'https://example.com/'
    case 'uuid':
      return '00000000-0000-4000-8000-000000000000'
    default: {
      const padded = words.padEnd(Math.min(numberOr(schema['minLength'], 0), 1000), '.')
      return padded.slice(0, numberOr(schema['maxLength'], padded.length))
    }
  }
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === 'number' ? value : fallback
}
