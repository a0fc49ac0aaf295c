/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonObject | readonly JsonValue[]

/**
 * A JSON object as `JSON.parse` makes it. Read members whose name a client chose with `Object.hasOwn`:
 * an absent `constructor` would else be found on the prototype.
 */
export interface JsonObject {
  readonly [member: string]: JsonValue
}

/** A JSON object beside the very bytes that it was read from. Made only by parsing. */
export interface JsonBody {
  readonly bytes: Buffer
  readonly root: JsonObject
}

/** Whether a value is an object: neither an array nor null. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
