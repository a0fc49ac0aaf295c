import { JSON_TREE_BYTES_MAX, surveyJson } from '../json/bound.ts'
import { givesErrorTwice } from '../json/duplicates.ts'
import { textWithPlainKeys } from '../json/scan.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'

// The values of shorter data are never so many that they matter.
const MEASURED_CHARS_MIN = 1024 * 1024

/**
 * The JSON object in an event's data; null for any other data, for one of more values or levels than a client's body
 * may have, and for one that hides an error in a member of the same name. Data and strings are latin-1. An escaped
 * member name is resolved.
 */
export function parseEventData(data: string): JsonObject | null {
  if (data.length > MEASURED_CHARS_MIN && isOverTree(data)) return null
  try {
    const root: JsonValue = JSON.parse(data)
    if (!isJsonObject(root) || givesErrorTwice(data, root)) return null
    if (!data.includes('\\u')) return root
    const plain: JsonObject = JSON.parse(textWithPlainKeys(Buffer.from(data, 'latin1')))
    return plain
  } catch {
    return null
  }
}

function isOverTree(data: string): boolean {
  return surveyJson(Buffer.from(data, 'latin1'), JSON_TREE_BYTES_MAX) === null
}

/** Whether an event's data can be read, so that it was not cut off. */
export function isWholeData(data: string): boolean {
  return data === '[DONE]' || parseEventData(data) !== null
}

// Ids, model names and event names: nothing that could be a sentence.
const PLAIN_WORD = /^[\w.:/@~+-]{1,200}$/

/** Whether a provider's text is a single word, such as an id, and so can't be a message. */
export function isPlainWord(text: string): boolean {
  return PLAIN_WORD.test(text)
}

type PlainValue = string | number | boolean | null

/** The members among these that hold no text: numbers, booleans, nulls and single words. */
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
