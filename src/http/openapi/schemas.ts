import { z } from 'zod'
import { readRecord } from '../../json/walk.ts'
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
  for (const [name, definition] of Object.entries(readRecord($defs) ?? {})) {
    named.set(name, withComponentRefs(readRecord(definition) ?? {}))
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
      // The pattern of a `date-time` repeats its format in a hundred characters.
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
  return readRecord(JSON.parse(text)) ?? {}
}

const ERROR_MESSAGE: JsonSchema = {
  type: 'string',
  description: 'The problem, and what to do about it.',
}

/** The bodies of errors, by the names of their schemas. */
export const ENVELOPES: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        description: 'The error.',
        required: ['message', 'type', 'code', 'param'],
        properties: {
          message: ERROR_MESSAGE,
          type: {
            type: 'string',
            description: 'The kind of error in the API of OpenAI, such as `invalid_request_error`.',
          },
          code: { type: 'string', description: 'A stable code, such as `invalid_api_key`.' },
          param: {
            type: ['string', 'null'],
            description: 'The field that caused the error; null: none.',
          },
        },
      },
    },
  },
  MessagesError: {
    type: 'object',
    required: ['type', 'error', 'request_id'],
    properties: {
      type: { const: 'error' },
      error: {
        type: 'object',
        description: 'The error.',
        required: ['type', 'message'],
        properties: {
          type: {
            type: 'string',
            description:
              'The kind of error in the API of Anthropic, such as `invalid_request_error`.',
          },
          message: ERROR_MESSAGE,
        },
      },
      request_id: {
        type: ['string', 'null'],
        description: 'The `x-request-id` of the answer; null: it has none.',
      },
    },
  },
}

/**
 * Descriptions of fields by name, for schemas without one: a name has one meaning everywhere.
 * Backticks mark code.
 */
export const FIELD_WORDS: ReadonlyMap<string, string> = new Map([
  ['account', 'The `id` of an account, `acct_…`.'],
  ['amount', 'The amount of credit, in micro-dollars.'],
  ['aspect_ratio', 'The shape of the image, such as `16:9`; models support different ones.'],
  ['backed', 'Paid credit: bought, redeemed from a credit code, or added by the operator.'],
  ['cache_read_tokens', "Input tokens that were read from the provider's cache."],
  ['cache_write_long_tokens', 'Input tokens that were written to the cache for an hour.'],
  ['cache_write_tokens', 'Input tokens that were written to the cache for some minutes.'],
  ['choices', 'The answers, usually one.'],
  ['code', 'The text of the credit code; case and hyphens do not matter.'],
  ['content', 'The parts of the answer.'],
  ['cost', "The provider's cost: micro-dollars, or dollars as a decimal string."],
  ['created', 'When it was created, in seconds since the Unix epoch.'],
  ['credit', "The account's two purses."],
  ['dimensions', 'The length of the vectors, for models that can shorten them.'],
  ['disabled', 'Whether its requests are refused.'],
  ['email', 'An email address.'],
  ['endpoint', 'The name of its wire format, as in `GET /v1`.'],
  ['entries', 'The number of entries that were read.'],
  [
    'error_code',
    'An error code, or `client_gone` or `upstream_disconnected` for a stream that ended early; null: there is no error.',
  ],
  ['first_byte_at', 'When the first byte of the answer was sent; null: not yet, or never.'],
  ['free', 'Free credit: given by the operator. It pays only for some requests, and expires.'],
  ['has_more', 'Whether there is another page.'],
  ['http_status', 'The HTTP status that the client received; null: none yet.'],
  ['input', 'A text, or a list of texts.'],
  ['input_references', 'Reference images, for models that take them.'],
  ['instructions', 'Instructions that precede the input.'],
  ['messages', 'The conversation so far, oldest first.'],
  ['model', 'A model ID.'],
  [
    'modalities',
    'The kinds of output, such as `["image","text"]`, for models that make images in a chat.',
  ],
  ['n', 'The number of images to make.'],
  ['name', 'The displayed name.'],
  ['output', 'The items of the answer.'],
  ['owned_by', 'The author part of the model ID.'],
  ['account_name', 'The name of the account.'],
  ['accounts', 'The number of accounts.'],
  ['architecture', 'The kinds of input and output of the model.'],
  ['billing', 'The buyer on receipts.'],
  ['by', 'The grouping.'],
  ['chain_id', 'The ID of the chain, such as 8453 for Base.'],
  ['codes', 'The number of credit codes.'],
  ['currency', 'The currency or the token, such as `usd` or `USDC`.'],
  ['dialect', 'The dialect that the upstream speaks.'],
  ['external_id', 'The ID of the account in another system; no two accounts have the same.'],
  [
    'fee_basis_points',
    "The platform fee, in hundredths of a percent of the provider's cost; null: that of the model.",
  ],
  ['image_output_tokens', 'Output tokens that are images.'],
  ['input_tokens', 'Input tokens, without those read from or written to a cache.'],
  ['keys', 'The number of API keys.'],
  ['method', 'The method of payment, an `id` of `GET /v1/credit`.'],
  ['output_tokens', 'Output tokens.'],
  ['period', 'How often the allowance resets; weeks begin on Monday.'],
  ['purchases', 'The number of purchases.'],
  ['requests', 'The number of requests.'],
  ['role', '`member`: uses keys and Activity. `owner`: also manages credit and members.'],
  ['time_zone', 'The time zone, such as `Europe/Berlin`.'],
  ['top_provider', 'The limits of the model.'],
  ['url', 'An address, `https://…`.'],
  ['why', 'The reason.'],
  ['id', 'The ID of the object.'],
  ['object', 'The kind of the object.'],
  ['type', 'The kind of the object.'],
  ['encoding_format', 'The form of the vectors: numbers, or 32-bit floats as base64.'],
  ['output_format', 'The file format of the image.'],
  [
    'credit_limit',
    'The maximum that the key can spend in total, in micro-dollars; null: no limit.',
  ],
  ['enabled', 'Whether maintenance is on: new inference requests are refused with 503.'],
  ['note', 'The reason, at most 500 characters, which the purchase shows.'],
  ['data', 'The items, in order.'],
  ['event', 'The event, as in `events` of the webhook.'],
  ['allow', 'The only models that can be used; empty: all.'],
  ['deny', 'Models that cannot be used; empty: none.'],
  ['paid', 'The payment; null: nothing was paid yet.'],
  ['hash', 'The hash of the transaction.'],
  ['figures', 'The sums over the requests.'],
  ['events', 'The events that are sent to the webhook.'],
  ['pay', 'The price of the credit.'],
  ['methods', 'The methods of payment.'],
  ['looks', 'The sources of payments, each with the time when it was last read.'],
  ['lines', 'The changes of the credit, newest first.'],
  ['differences', 'The payments that differ.'],
  ['deposit', 'The address to send tokens to.'],
  ['credited_at', 'When the credit was added; null: not yet.'],
  ['upstream', 'The name of an upstream.'],
  ['price_snapshot', 'The ID of the prices that the charge was computed with.'],
  ['purse', 'The kind of credit: `backed` for paid credit, or `free`.'],
  ['quality', 'The quality of the image, for models that support it.'],
  ['reasoning', 'The amount of reasoning, for models that support it.'],
  ['reasoning_tokens', 'Reasoning tokens; `output_tokens` includes them.'],
  ['redeemed_at', 'When the code was redeemed; null: it was not.'],
  ['reference', 'Your own ID for this credit. A repeated request with the same ID adds nothing.'],
  ['request_id', 'The `x-request-id` of its answer.'],
  ['resolution', 'The resolution of the image, for models that support it.'],
  ['response_format', 'The format of the answer, such as `{"type":"json_object"}`.'],
  ['revoked_at', 'When it was revoked; null: it was not.'],
  ['seed', 'The same seed makes the same answer more likely.'],
  ['settled_at', 'When the charge became final or the hold was released; null: not yet.'],
  ['size', 'The size of the image, such as `1024x1024`, for models that take one.'],
  [
    'state',
    '`open`: in flight. `provisional`: charged, and may be corrected. `final`: the charge no longer changes. `unresolved`: not charged yet. `released`: not charged.',
  ],
  ['stop', 'A text, or a list of texts: the answer ends before the first of them.'],
  ['stream', 'Whether to send the answer as server-sent events while the model produces it.'],
  ['stream_options', 'Options of the stream, such as `{"include_usage":true}`.'],
  ['supported_parameters', 'The parameters that the model supports.'],
  ['system', 'Instructions that precede the conversation.'],
  ['temperature', 'Higher values give more varied answers.'],
  ['thinking', 'The amount of reasoning, for models that support it.'],
  ['tool_choice', 'Whether the model calls a tool, and which one.'],
  ['tools', 'The tools that the model can call.'],
  ['top_p', 'Lower values give less varied answers.'],
  ['usage', 'Token counts.'],
])

/** Descriptions of the parameters of paths, by name. */
export const PATH_PARAMETER_WORDS: ReadonlyMap<string, string> = new Map([
  ['account_id', 'The `id` of an account, `acct_…`.'],
  ['key_id', 'The `id` of an API key, `key_…`; not the key itself.'],
  ['code_id', 'The `id` of a credit code, `code_…`; not the code itself.'],
  ['purchase_id', 'The `id` of a purchase, `pur_…`.'],
  ['token_id', 'The `id` of an admin token, `atok_…`; not the token itself.'],
  ['user_id', 'The `id` of a user, `user_…`.'],
  ['invitation_id', 'The `id` of an open invitation, `link_…`.'],
  ['webhook_id', 'The `id` of a webhook, `hook_…`.'],
  ['request_id', 'The `x-request-id` of an answer, `req_…`.'],
  ['author', 'The part of the model ID before the slash.'],
  ['name', 'The part of the model ID after the slash.'],
  ['id', 'Any text.'],
])
