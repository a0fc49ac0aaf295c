import { FIELD_WORDS } from './field-words.ts'
import { escapeHtml, prose } from './html.ts'
import type { JsonSchema, NamedSchemas } from './json-schema.ts'

/** Whether a reader has to be told what must be there, or what may be missing. */
export type Told = 'what is required' | 'what may be missing'

/** A row of a table of fields. */
export interface Field {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  /** Backticks mark code. */
  readonly description: string
}

export interface SchemaTablesInput {
  readonly named: NamedSchemas
  readonly told: Told
}

// Deeper than any schema here; one that names itself ends there.
const DEPTH_MAX = 5

/** A table of each object that a schema may be; empty where it says nothing of its fields. */
export function schemaTables(schema: JsonSchema, input: SchemaTablesInput): string {
  const resolved = resolve(schema, input.named)
  const choices = resolved['oneOf'] ?? resolved['anyOf']
  if (Array.isArray(choices)) {
    return choices.map((choice) => schemaTables(record(choice), input)).join('<p class="or">or</p>')
  }
  const fields = fieldsOf(resolved, { named: input.named, prefix: '' })
  return fields.length === 0 ? '' : fieldTable(fields, input.told)
}

function fieldsOf(
  schema: JsonSchema,
  { named, prefix }: { readonly named: NamedSchemas; readonly prefix: string },
): Field[] {
  if (prefix.split('.').length > DEPTH_MAX) return []
  const required = schema['required']
  return Object.entries(record(schema['properties'])).flatMap(([name, property]) => {
    const own = record(property)
    const resolved = resolve(own, named)
    const present = unlessNull(resolved, named)
    const inner = present['type'] === 'array' ? resolve(record(present['items']), named) : present
    const suffix = present['type'] === 'array' ? '[].' : '.'
    return [
      {
        name: `${prefix}${name}`,
        type: typeOf(resolved),
        isRequired: Array.isArray(required) && required.includes(name),
        description: [String(own['description'] ?? FIELD_WORDS.get(name) ?? ''), bounds(resolved)]
          .filter((part) => part !== '')
          .join(' '),
      },
      ...fieldsOf(inner, { named, prefix: `${prefix}${name}${suffix}` }),
    ]
  })
}

/** A table of fields. */
export function fieldTable(fields: readonly Field[], told: Told): string {
  const rows = fields.map((field) => {
    const { name, type, description } = field
    const [parents, own] = [name.slice(0, name.lastIndexOf('.') + 1), name.split('.').at(-1) ?? '']
    const shown = `<span class="parents">${escapeHtml(parents)}</span>${escapeHtml(own)}`
    return `<tr><th scope="row"><code>${shown}</code>${mark(field, told)}</th><td class="type">${escapeHtml(type)}</td><td>${prose(description)}</td></tr>`
  })
  return `<table class="fields"><thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">What it is</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

const REQUIRED = ' <small class="required">required</small>'
const OPTIONAL = ' <small>optional</small>'

function mark({ isRequired }: Field, told: Told): string {
  switch (told) {
    case 'what is required':
      return isRequired ? REQUIRED : ''
    case 'what may be missing':
      return isRequired ? '' : OPTIONAL
  }
}

/** What a schema is, in a few words. */
export function typeOf(schema: JsonSchema): string {
  const { type, enum: members, const: only, anyOf, format, items } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(members)) return members.map((member) => JSON.stringify(member)).join(' | ')
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeOf(record(choice))).join(' | ')
  if (Array.isArray(type)) return type.join(' | ')
  if (typeof schema['$ref'] === 'string') return 'object'
  if (type === 'array' && record(items)['type'] !== undefined) {
    return `array of ${typeOf(record(items))}s`
  }
  return format === 'date-time' ? 'time' : String(type ?? 'any')
}

/** The bounds and the default of a value, as sentences. */
function bounds({ minimum, maximum, default: fallback }: JsonSchema): string {
  const range = rangeOf(minimum, maximum)
  const unset = fallback === undefined ? '' : `Default \`${JSON.stringify(fallback)}\`.`
  return [range, unset].filter((part) => part !== '').join(' ')
}

/** By position: the least and the most; a bound of the format itself, such as a safe integer, is none. */
function rangeOf(minimum: unknown, maximum: unknown): string {
  const [least, most] = [minimum, maximum].map((bound) =>
    typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : null,
  )
  if (least == null) return most == null ? '' : `At most ${most}.`
  return most == null ? `At least ${least}.` : `From ${least} to ${most}.`
}

function resolve(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  const { $ref: ref } = schema
  return typeof ref === 'string' ? (named.get(ref.split('/').at(-1) ?? '') ?? schema) : schema
}

/** What a value is where it is not null; itself where it may be several things. */
function unlessNull(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  const { anyOf } = schema
  if (!Array.isArray(anyOf)) return schema
  const [only, ...others] = anyOf.map(record).filter(({ type }) => type !== 'null')
  return only === undefined || others.length > 0 ? schema : resolve(only, named)
}

function record(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
