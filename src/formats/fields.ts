import type { JsonObject, JsonValue } from '../json/walk.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { ClientName } from './client-names.ts'

/** A member's value; undefined where it is absent or null, which all formats take for the same. */
export function member(owner: JsonObject, name: string): Exclude<JsonValue, null> | undefined {
  if (!Object.hasOwn(owner, name)) return undefined
  return owner[name] ?? undefined
}

/** As {@link member}, of an object in a client's body. */
export function field(body: JsonObject, name: ClientName): Exclude<JsonValue, null> | undefined {
  return member(body, name)
}

/** The model id as sent. Throws `missing_model`, or `invalid_parameter` for what is no string. */
export function readModelName(body: JsonObject): string {
  const model = field(body, 'model')
  if (model === undefined || model === '') throw new Problem('missing_model', { param: 'model' })
  if (typeof model !== 'string') throw wrongType('model', 'a string')
  return model
}

/** False where absent. Throws `invalid_parameter` for what is no boolean. */
export function readBoolean(body: JsonObject, name: ClientName): boolean {
  const value = field(body, name)
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw wrongType(name, 'true or false')
  return value
}

/** Null where absent. Throws `invalid_parameter` for what is no whole number above zero. */
export function readCount(body: JsonObject, name: ClientName): number | null {
  const value = field(body, name)
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw wrongType(name, 'a whole number above zero')
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

/** Empty where absent. Throws `invalid_parameter` for what is no array of objects. */
export function readObjects(body: JsonObject, name: ClientName): readonly JsonObject[] {
  const value = field(body, name)
  if (value === undefined) return []
  if (!Array.isArray(value)) throw wrongType(name, 'an array of objects')
  const elements: readonly JsonValue[] = value
  return elements.map((element, index) => {
    if (isObject(element)) return element
    throw wrongType(`${name}[${index}]`, 'an object')
  })
}

/** Undefined where absent. Throws `invalid_parameter` for what is no object. */
export function readObject(body: JsonObject, name: ClientName): JsonObject | undefined {
  const value = field(body, name)
  if (value === undefined || isObject(value)) return value
  throw wrongType(name, 'an object')
}

/**
 * The refusal of a field whose value has a shape that cannot be used.
 * By position: which field, and what it must be, as the message itself reads.
 */
export function wrongType(param: string, expected: string): Problem {
  return new Problem('invalid_parameter', { param, message: `\`${param}\` must be ${expected}.` })
}

/** Whether a value is an object, and no array. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
