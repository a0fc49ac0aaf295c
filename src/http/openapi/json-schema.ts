import { z } from 'zod'
import { limitField } from '../../operations/fields.ts'

/** A JSON Schema of the 2020-12 draft, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Schemas that documents name, by their names; filled as schemas are converted. */
export type NamedSchemas = Map<string, JsonSchema>

/** What a client sends, as a schema says it: unknown fields are refused. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  return convert(schema, 'input')
}

/** What is answered, as a schema says it: clients ignore fields that they do not know. */
export function answerSchema(schema: z.ZodType, named: NamedSchemas): JsonSchema {
  const { $defs, ...converted } = convert(schema, 'output')
  for (const [name, definition] of Object.entries(asRecord($defs))) {
    named.set(name, withComponentRefs(asRecord(definition)))
  }
  return withComponentRefs(converted)
}

function convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...converted } = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      if (io === 'output') delete jsonSchema.additionalProperties
      // In the query it is text, which says less than it must be.
      if (zodSchema === limitField) {
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: 100, default: 20 })
      }
      // A hundred characters that say what `date-time` says.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return converted
}

/** Where a document keeps what it names. */
export function componentRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

function withComponentRefs(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')
  return asRecord(JSON.parse(text))
}

function asRecord(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {}
}
