import { z } from 'zod'
import { limitField } from '../../operations/fields.ts'

/** A JSON Schema of the 2020-12 draft, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The named schemas of a document, filled as schemas are converted. */
export type NamedSchemas = Map<string, JsonSchema>

/** The JSON Schema of input: unknown fields are refused. */
export function requestSchema(schema: z.ZodType): JsonSchema {
  return convert(schema, 'input')
}

/** The JSON Schema of a response: clients ignore fields that they do not know. */
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
      // In the query it is text, but the document shows it as the number that it must be.
      if (zodSchema === limitField) {
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: 100, default: 20 })
      }
      // The pattern of a `date-time` repeats in a hundred characters what the format says.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return converted
}

/** The reference to a named schema. */
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

/**
 * Descriptions of fields by name, for schemas without one: a name has one meaning everywhere.
 * Backticks mark code.
 */
export const FIELD_WORDS: ReadonlyMap<string, string> = new Map([
  ['account', 'The `id` of an account, `acct_…`.'],
  ['amount', 'Micro-dollars.'],
  ['aspect_ratio', 'For example `16:9`; the supported ratios depend on the model.'],
  ['backed', 'Credit that was bought or activated.'],
  ['cache_read_tokens', "Input tokens that were read from the provider's cache."],
  ['cache_write_long_tokens', 'Input tokens that were written to the cache for an hour.'],
  ['cache_write_tokens', 'Input tokens that were written to the cache for some minutes.'],
  ['choices', 'The answers.'],
  ['code', 'The text of the code; case and hyphens do not matter.'],
  ['content', 'The parts of the answer.'],
  ['cost', "The provider's cost: micro-dollars, or dollars as a decimal string."],
  ['created', 'Seconds since the Unix epoch.'],
  ['credit', "The account's two purses."],
  ['dimensions', 'The length of the vectors, for models that can shorten them.'],
  ['disabled', 'Whether its requests are refused.'],
  ['email', 'An email address.'],
  ['endpoint', 'The name of its wire format, as in `GET /v1`.'],
  ['entries', 'The number of entries that were read.'],
  [
    'error_code',
    'An error code of this page, or `client_gone` or `upstream_disconnected` for a stream that ended early; null if the request succeeded.',
  ],
  ['expires_at', 'When it expires.'],
  ['first_byte_at', 'When the first byte of the answer was sent.'],
  ['free', 'Credit that was given, and that pays only for some requests.'],
  ['has_more', 'Whether there is another page.'],
  ['http_status', 'The status that the client received.'],
  ['input', 'A text or a list of texts.'],
  ['input_references', 'Reference images, for models that take them.'],
  ['instructions', 'Instructions that precede the input.'],
  ['messages', 'The conversation so far, oldest first.'],
  ['model', 'A model ID.'],
  ['modalities', 'Such as `["text","image"]`, for models that make images in a chat.'],
  ['n', 'The number of images.'],
  ['name', 'A name for people.'],
  ['output', 'The items of the answer.'],
  ['owned_by', 'The author part of the model ID.'],
  ['upstream', 'The name of the provider that it was sent to.'],
  ['price_snapshot', 'The ID of the prices that decided its charge.'],
  ['prompt', 'The text to continue, or the description of an image.'],
  ['purse', 'The kind of credit: backed or free.'],
  ['quality', 'For models that support it.'],
  ['reasoning', 'The amount of reasoning, for models that support it.'],
  ['reasoning_tokens', 'Reasoning tokens; `output_tokens` includes them.'],
  ['recomputed', 'The value recomputed from the rows.'],
  ['redeemed_at', 'Null until then.'],
  ['reference', 'Your own ID for this credit. A repeated request with the same ID adds nothing.'],
  ['request_id', 'The `x-request-id` of its answer.'],
  ['resolution', 'For models that support it.'],
  ['response_format', 'Such as `{"type":"json_object"}`.'],
  ['revoked_at', 'Null if it is not revoked.'],
  ['seed', 'The same seed makes the same answer more likely.'],
  ['settled_at', 'Null until then.'],
  ['size', 'Such as `1024x1024`, for models that take one.'],
  [
    'state',
    '`open`: in flight. `provisional`: charged, and may be corrected. `final`: the charge no longer changes. `unresolved`: not charged yet. `released`: not charged.',
  ],
  ['stop', 'Texts at which the answer ends.'],
  ['stored', 'The value in the store.'],
  ['stream', 'Whether to send server-sent events as the model writes.'],
  ['stream_options', 'Such as `{"include_usage":true}`.'],
  ['supported_parameters', 'The parameters that the model supports.'],
  ['system', 'Instructions that precede the conversation.'],
  ['temperature', 'Higher values give more varied answers.'],
  ['thinking', 'The amount of reasoning, for models that support it.'],
  ['tool_choice', 'Whether the model calls a tool, and which one.'],
  ['tools', 'The tools that the model may call.'],
  ['top_p', 'Lower values give less varied answers.'],
  ['usage', 'Token counts.'],
])

/** Descriptions of the parameters of paths, by name. */
export const PATH_PARAMETER_WORDS: ReadonlyMap<string, string> = new Map([
  ['account_id', 'The `id` of an account, `acct_…`.'],
  ['key_id', 'The `id` of an API key, `key_…`; not the key itself.'],
  ['code_id', 'The `id` of a credit code, `code_…`; not the code itself.'],
  ['purchase_id', 'The `id` of a purchase, `pur_…`.'],
  ['request_id', 'The `x-request-id` of an answer, `req_…`.'],
  ['author', 'The part of the model ID before the slash.'],
  ['name', 'The part of the model ID after the slash.'],
  ['id', 'Any text.'],
])
