/** A JSON Schema of the 2020-12 draft. */
type FieldSchema = Readonly<Record<string, unknown>>

/** What one endpoint takes and answers, as far as the gateway itself promises it. */
export interface FormatDocumentation {
  readonly summary: string
  readonly required: readonly string[]
  /** The format's own fields; all others pass through to the provider. */
  readonly properties: Readonly<Record<string, FieldSchema>>
  /** Fields that every whole answer has. */
  readonly answer: Readonly<Record<string, FieldSchema>>
  readonly streams: boolean
}

const cap = {
  type: 'integer',
  description: 'The maximum number of output tokens. It decides the size of the hold.',
}
const object = { type: 'object' }

/** Schemas that the fields of several formats have. */
export const FIELDS = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  object,
  objects: { type: 'array', items: object },
  textOrList: { type: ['string', 'array'] },
  textOrObject: { type: ['string', 'object'] },
  model: { type: 'string', description: 'A model id, <author>/<name>.' },
  stream: { type: 'boolean', default: false },
  cap,
  requiredCap: {
    ...cap,
    description: 'The maximum number of output tokens. Required if the model lists no maximum.',
  },
} as const satisfies Readonly<Record<string, FieldSchema>>
