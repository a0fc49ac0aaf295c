import { textWithPlainKeys } from '../json/scan.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'

/**
 * The JSON object in an event's data, which is latin-1, as are its strings; null where there is none. An
 * escaped member name is read as the name that it stands for.
 */
export function parseEventData(data: string): JsonObject | null {
  try {
    const root: JsonValue = JSON.parse(data)
    if (!isJsonObject(root)) return null
    if (!data.includes('\\u')) return root
    const plain: JsonObject = JSON.parse(textWithPlainKeys(Buffer.from(data, 'latin1')))
    return plain
  } catch {
    return null
  }
}

/** Whether an event's data can be read, and was not cut off. */
export function isWholeData(data: string): boolean {
  return data === '[DONE]' || parseEventData(data) !== null
}

// Ids, model names and names of events: nothing that can be read as a sentence.
const PLAIN_WORD = /^[\w.:/@~+-]{1,200}$/

/** Whether a provider's text is one word, as an id is, and can't say anything. */
export function isPlainWord(text: string): boolean {
  return PLAIN_WORD.test(text)
}

/** What a rebuilt event may keep of the provider's. */
type PlainValue = string | number | boolean | null

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
    if (typeof value === 'string' && !isPlainWord(value)) continue
    kept[name] = value
  }
  return kept
}
