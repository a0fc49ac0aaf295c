import { numberSource } from '../json/edit.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from '../json/walk.ts'
import { type Decimal, isNegative, parseDecimal } from '../vocabulary/money.ts'

/** A JSON object's members; null for any other value. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An array of strings; null for any other value. */
export function readStrings(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((element) => typeof element === 'string')
    ? value
    : null
}

/** Whether a value is a whole number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

// A hundred times the longest window. Sums of a count that is none would not be exact.
const COUNT_MAX = 1_000_000_000

/** A whole number that a call can count, of tokens or searches; null for any other value. */
export function tokenCount(value: JsonValue | undefined): number | null {
  return isTokenCount(value) && value <= COUNT_MAX ? value : null
}

/** A member that is an object; an empty object for any other value. */
export function objectAt(owner: JsonObject, name: string): JsonObject {
  const value = owner[name]
  return isJsonObject(value) ? value : {}
}

/** The number at a path, from its digits in the body; null if there is none or it is negative. */
export function decimalAt(body: JsonBody, path: readonly string[]): Decimal | null {
  const source = numberSource(body, path)
  const decimal = source === null ? null : parseDecimal(source)
  return decimal === null || isNegative(decimal) ? null : decimal
}
