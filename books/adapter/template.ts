import { isRecord } from '../json.ts'

/** Values by name, for templates. */
export type Values = Readonly<Record<string, string>>

/** A place in a text that a value is put into. */
export const TEMPLATE = /\{([a-z_]+)\}/g

/** A text with its templates replaced, and those in their values; those without a value stay. */
export function fill(text: string, values: Values): string {
  return text.replace(TEMPLATE, (whole, name: string) => {
    const value = values[name]
    return value === undefined ? whole : fill(value, values)
  })
}

/** The same in every text of a value; a text that is one template of a number becomes that number. */
export function fillAll(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const filled = fill(value, values)
    return /^\{(?:micros|dollars|factor|hours)\}$/.test(value) ? Number(filled) : filled
  }
  if (Array.isArray(value)) return value.map((item) => fillAll(item, values))
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, item]) => [fill(key, values), fillAll(item, values)]),
  )
}
