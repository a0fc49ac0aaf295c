import { isJsonObject, type JsonObject, type JsonValue } from '../../src/json/walk.ts'

/** The value at a place of an answer, member by member; undefined where nothing is there. */
export function at(
  value: JsonValue | undefined,
  ...steps: readonly (string | number)[]
): JsonValue | undefined {
  let here = value
  for (const step of steps) {
    if (typeof step === 'number') here = Array.isArray(here) ? here.at(step) : undefined
    else here = isJsonObject(here) && Object.hasOwn(here, step) ? here[step] : undefined
  }
  return here
}

/** The text at a place of an answer; empty where none is there. */
export function textAt(
  value: JsonValue | undefined,
  ...steps: readonly (string | number)[]
): string {
  const found = at(value, ...steps)
  return typeof found === 'string' ? found : ''
}

/** The object at a place of an answer; undefined where none is there. */
export function objectAt(
  value: JsonValue | undefined,
  ...steps: readonly (string | number)[]
): JsonObject | undefined {
  const found = at(value, ...steps)
  return isJsonObject(found) ? found : undefined
}

/** The number at a place of an answer. Throws where none is there. */
export function numberAt(
  value: JsonValue | undefined,
  ...steps: readonly (string | number)[]
): number {
  const found = at(value, ...steps)
  if (typeof found !== 'number') throw new Error(`no number at ${steps.join('.')}`)
  return found
}

/** The JSON of a text; undefined if it is not JSON. */
export function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
