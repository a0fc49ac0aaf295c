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
