import { isRecord } from '../json.ts'

/** Values by name, for templates. */
export type Values = Readonly<Record<string, string>>

/** A place in a text that a value is put into. */
export const TEMPLATE = /\{([a-z_]+)\}/g

/**
 * The same value with the templates in its texts replaced, and those in their values; those without a value stay. A
 * text that is one template of a number becomes that number.
 */
export function fill<Value>(value: Value, values: Values): Value
export function fill(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const filled = value.replace(TEMPLATE, (whole, name) =>
      String(fill(values[name], values) ?? whole),
    )
    return /^\{(?:micros|dollars|factor|hours)\}$/.test(value) ? Number(filled) : filled
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values))
  if (!isRecord(value)) return value
  const filled = Object.entries(value).map((entry) => entry.map((part) => fill(part, values)))
  return Object.fromEntries(filled)
}
