import { isUtf8 } from 'node:buffer'
import { Problem } from '../vocabulary/problem.ts'
import { JSON_TREE_BYTES_MAX, surveyJson } from './bound.ts'
import { findDuplicate, givesErrorTwice } from './duplicates.ts'
import { textWithPlainKeys } from './scan.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from './walk.ts'

/**
 * Reads a client's body. Throws Problem `invalid_json` for what is not UTF-8, not JSON, not an object, has
 * more values than {@link JSON_TREE_BYTES_MAX} allows, or gives a member twice anywhere but in what the
 * client's own tools define: two parsers could pick different members, and a hold
 * for a cheap model would run a dear one. `reserveTree` is given the cost of the tree before it is made, and may throw.
 */
export function parseJsonBody(
  bytes: Buffer,
  reserveTree: (treeBytes: number) => void = () => {},
): JsonBody {
  if (bytes.length === 0)
    throw new Problem('invalid_json', { message: 'The body is empty: send a JSON object.' })
  if (!isUtf8(bytes)) throw new Problem('invalid_json', { message: 'The body is not valid UTF-8.' })
  const survey = surveyJson(bytes, JSON_TREE_BYTES_MAX)
  if (survey === null) {
    throw new Problem('invalid_json', {
      message: 'The body has more values than the gateway reads.',
    })
  }
  reserveTree(survey.treeBytes)
  const parsed = parseObject(bytes.toString())
  const root = survey.hasEscapedKeys ? parseObject(textWithPlainKeys(bytes)) : parsed
  const body = { bytes, root }
  const duplicate = findDuplicate(body, survey.members)
  if (duplicate !== null) {
    throw new Problem('invalid_json', {
      message: 'An object in the body has the same field twice.',
      param: duplicate,
    })
  }
  return body
}

/** The limit for the tree of a provider's answer: thousands of embeddings are millions of numbers. */
const ANSWER_TREE_BYTES_MAX = 320 * 1024 * 1024

/** Trees of fewer bytes are not measured. */
const MEASURED_BYTES_MIN = 1024 * 1024

/**
 * Reads a provider's answer; null where it is no JSON object, or gives `error` twice. Of other duplicate
 * members the last counts.
 */
export function parseAnswer(bytes: Buffer): JsonBody | null {
  const root = parseUpstreamJson(bytes)
  if (!isJsonObject(root)) return null
  // Answers of many megabytes are embeddings and images, which have neither.
  const mayHide = bytes.includes('"error"') || bytes.includes('\\u00')
  return mayHide && givesErrorTwice(bytes.toString('latin1'), root) ? null : { bytes, root }
}

/** Reads JSON of the upstream; undefined where it is not JSON, or has too many values or levels. */
export function parseUpstreamJson(bytes: Buffer): JsonValue | undefined {
  const isLarge = bytes.length > MEASURED_BYTES_MIN
  if (isLarge && surveyJson(bytes, ANSWER_TREE_BYTES_MAX) === null) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/**
 * The JSON object in an event's data; null for any other text, for one of more values or levels than a client's body
 * may have, and for one that hides an error in a member of the same name. The text and its strings are latin-1. An escaped
 * member name is resolved.
 */
export function parseEventData(text: string): JsonObject | null {
  const isLarge = text.length > MEASURED_BYTES_MIN
  if (isLarge && surveyJson(Buffer.from(text, 'latin1'), JSON_TREE_BYTES_MAX) === null) return null
  try {
    const root: JsonValue = JSON.parse(text)
    if (!isJsonObject(root) || givesErrorTwice(text, root)) return null
    if (!text.includes('\\u')) return root
    const plain: JsonObject = JSON.parse(textWithPlainKeys(Buffer.from(text, 'latin1')))
    return plain
  } catch {
    return null
  }
}

function parseObject(text: string): JsonObject {
  const parsed = parseText(text)
  if (typeof parsed === 'string') throw new Problem('invalid_json', { message: parsed })
  if (isJsonObject(parsed.value)) return parsed.value
  throw new Problem('invalid_json', { message: 'The body is JSON, but not an object.' })
}

/** The value, or a message if the text is not JSON. The engine's own message may quote the text, so it is not used. */
function parseText(text: string): { readonly value: JsonValue } | string {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return syntaxMessage(error instanceof SyntaxError ? error.message : '')
  }
}

const PLACE_IN_MESSAGE = / at position \d+ \(line (\d+) column (\d+)\)$/

function syntaxMessage(engineMessage: string): string {
  const place = PLACE_IN_MESSAGE.exec(engineMessage)
  if (place !== null) return `The body is not valid JSON: see line ${place[1]}, column ${place[2]}.`
  if (engineMessage === 'Unexpected end of JSON input') {
    return 'The body is not valid JSON: it ends too early.'
  }
  return 'The body is not valid JSON.'
}
