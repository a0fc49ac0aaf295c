import { z } from 'zod'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/json/walk.ts'

/** An operation as the document has it. */
export interface DocumentOperation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly security: JsonValue
  readonly json: JsonObject
}

/** A member that must be an object. */
export function objectAt(json: JsonValue | undefined, ...steps: readonly string[]): JsonObject {
  let found = json
  for (const step of steps) found = isJsonObject(found) ? found[step] : undefined
  if (!isJsonObject(found)) throw new Error(`nothing at ${steps.join('.')}`)
  return found
}

/** Every operation of a document. */
export function operationsOf(document: JsonObject): DocumentOperation[] {
  return Object.entries(objectAt(document, 'paths')).flatMap(([path, methods]) =>
    Object.entries(objectAt(methods)).map(([method, described]) => {
      const operation = objectAt(described)
      return {
        name: String(operation['operationId']),
        method: method.toUpperCase(),
        path,
        security: operation['security'] ?? null,
        json: operation,
      }
    }),
  )
}

/** Every `$ref` of a document. */
export function refsOf(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(refsOf)
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : refsOf(member),
  )
}

/**
 * The differences between a JSON answer and the document; empty: none. A field that the
 * document does not name is a difference too, unless it allows other fields.
 */
export function faultsOf(
  json: JsonValue,
  { schema, document }: { readonly schema: JsonObject; readonly document: JsonObject },
): string[] {
  const whole = { ...schema, $defs: objectAt(document, 'components', 'schemas') }
  const text = JSON.stringify(closed(whole)).replaceAll('#/components/schemas/', '#/$defs/')
  const parsed = z.fromJSONSchema(JSON.parse(text)).safeParse(json)
  return parsed.success ? [] : parsed.error.issues.map((issue) => JSON.stringify(issue))
}

/** The schema without room for fields that it does not name. */
function closed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(closed)
  if (!isJsonObject(value)) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, closed(member)]),
  )
  const isOpen = 'additionalProperties' in value || !isJsonObject(value['properties'])
  return isOpen || value['type'] !== 'object' ? inner : { ...inner, additionalProperties: false }
}

/** The parameters, and the fields of objects, that have no description, each by its place. */
export function undescribedIn(value: JsonValue, place = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((each, index) => undescribedIn(each, `${place}/${index}`))
  }
  if (!isJsonObject(value)) return []
  const { properties, parameters } = value
  const fields = isJsonObject(properties) ? Object.entries(properties) : []
  const named = Array.isArray(parameters)
    ? parameters.map((each): [string, JsonValue] => [nameOf(each), each])
    : []
  const silent = [...fields, ...named]
    .filter(([, each]) => !isDescribed(each))
    .map(([name]) => `${place} ${name}`)
  const inner = Object.entries(value).filter(([name]) => name !== 'example')
  return [
    ...silent,
    ...inner.flatMap(([name, each]) =>
      undescribedIn(each, name === 'properties' ? place : `${place}/${name}`),
    ),
  ]
}

function nameOf(parameter: JsonValue): string {
  return isJsonObject(parameter) ? String(parameter['name']) : ''
}

/** A constant needs no description, and neither does a named schema. */
function isDescribed(schema: JsonValue): boolean {
  if (!isJsonObject(schema)) return true
  const { description, anyOf, items } = schema
  if ('const' in schema || '$ref' in schema) return true
  if (typeof description === 'string' && description.trim() !== '') return true
  if (Array.isArray(anyOf)) return anyOf.some((each) => isDescribed(each) && !isNull(each))
  return items !== undefined && isJsonObject(items) && '$ref' in items
}

function isNull(schema: JsonValue): boolean {
  return isJsonObject(schema) && schema['type'] === 'null'
}

const TEXTS = ['summary', 'description', 'meaning', 'remedy']
const SENTENCE = /^[`A-Z\d].*[.…]$/s

/**
 * Texts that are not a sentence or contradict their schema, such as by naming null where null is not accepted, each by
 * its place.
 */
export function misdescribedIn(
  value: JsonValue,
  {
    place = '',
    isNullable = false,
  }: { readonly place?: string; readonly isNullable?: boolean } = {},
): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((each, index) =>
      misdescribedIn(each, { place: `${place}/${index}`, isNullable }),
    )
  }
  if (!isJsonObject(value)) return []
  const schema = isJsonObject(value['schema']) ? value['schema'] : value
  const takesNull = isNullable || acceptsNull(schema)
  const faults = TEXTS.flatMap((name) => {
    const text = value[name]
    if (typeof text !== 'string') return []
    if (!SENTENCE.test(text)) return [`${place} is no sentence: ${text}`]
    if (!isSchema(schema) || name !== 'description') return []
    const isCount = schema['type'] === 'array' && /\bnumber of\b/i.test(text)
    if (isCount) return [`${place} is a list: ${text}`]
    return !takesNull && /\bnull\b/i.test(text) ? [`${place} is never null: ${text}`] : []
  })
  const inner = Object.entries(value).filter(([name]) => name !== 'example')
  return [
    ...faults,
    ...inner.flatMap(([name, each]) =>
      misdescribedIn(each, {
        place: `${place}/${name}`,
        isNullable: takesNull && name === 'anyOf',
      }),
    ),
  ]
}

/** The fields that can be null and have no text that says what null means, each by its place. */
export function silentNullsIn(value: JsonValue, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => silentNullsIn(each, place))
  if (!isJsonObject(value)) return []
  const { properties } = value
  const silent = isJsonObject(properties)
    ? Object.entries(properties).filter(
        ([, each]) => acceptsNull(each) && !isNull(each) && !/\bnull\b/i.test(textsOf(each)),
      )
    : []
  return [
    ...silent.map(([name]) => `${place} ${name}`),
    ...Object.entries(value).flatMap(([name, each]) =>
      silentNullsIn(each, name === 'properties' ? place : `${place}/${name}`),
    ),
  ]
}

/** The descriptions of a schema, and of its alternatives. */
function textsOf(schema: JsonValue): string {
  if (!isJsonObject(schema)) return ''
  const { description = '', anyOf } = schema
  return [description, ...(Array.isArray(anyOf) ? anyOf.map(textsOf) : [])].join(' ')
}

/** The fields of changes whose text speaks of a default: a field that a change leaves out stays as it is. */
export function defaultsOfChanges(document: JsonObject): string[] {
  const changes = operationsOf(document).filter(({ method }) => method === 'PATCH')
  return changes.flatMap(({ name, json }) => {
    const body = objectAt(json, 'requestBody', 'content', 'application/json', 'schema')
    return Object.entries(objectAt(body, 'properties'))
      .filter(([, each]) => /\b(?:Default|Absent)\b/.test(String(objectAt(each)['description'])))
      .map(([field]) => `${name} ${field}`)
  })
}

function isSchema(value: JsonObject): boolean {
  return ['type', 'anyOf', 'enum', 'const', '$ref'].some((name) => name in value)
}

function acceptsNull(schema: JsonValue): boolean {
  if (!isJsonObject(schema)) return false
  const { type, anyOf } = schema
  if (schema['const'] === null || type === 'null') return true
  if (Array.isArray(type)) return type.includes('null')
  return Array.isArray(anyOf) && anyOf.some(acceptsNull)
}
