import { type JsonBody, type JsonObject, parseAnswer } from '../vocabulary/json-body.ts'

/** The JSON object in an event's data, which is latin-1; null where there is none. */
export function parseEventData(data: string): JsonBody | null {
  return parseAnswer(Buffer.from(data, 'latin1'))
}

/**
 * Whether data that is no JSON speaks of an error all the same: relayed, it would show the provider's own
 * words. Inside a string quotes are escaped, so that the word is a name or a whole value.
 */
export function speaksOfError(data: string): boolean {
  return /"error"(?!\s*:\s*null)/.test(data)
}

// Ids and model names: nothing that can be read as a sentence.
const PLAIN_WORD = /^[\w.:/@~+-]{1,200}$/

/** What a rebuilt event may keep of the provider's. */
export type PlainValue = string | number | boolean | null

/**
 * Those of an object's members that can carry no text of a provider's: numbers, booleans, nulls, and
 * words without a space in them.
 */
export function plainMembers(
  owner: JsonObject,
  names: readonly string[],
): Record<string, PlainValue> {
  const kept: Record<string, PlainValue> = {}
  for (const name of names) {
    const value = Object.hasOwn(owner, name) ? owner[name] : undefined
    if (value === undefined || (typeof value === 'object' && value !== null)) continue
    if (typeof value === 'string' && !PLAIN_WORD.test(value)) continue
    kept[name] = value
  }
  return kept
}
