import { isJsonObject, type JsonBody, type JsonObject } from '../json/walk.ts'
import type { FormatRules, MediaCount } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatStyleFields } from './chat-call.ts'
import { errorFrame, openAiError } from './envelope.ts'
import { field, readBoolean, wrongType } from './fields.ts'
import { FIELDS, OPENAI_STYLE, type UnsizedCall, type WireFormat } from './format.ts'
import { withBareImage } from './media.ts'
import { otherEndpoint } from './refusals.ts'

const IMAGES_MAX = 10

const RULES: FormatRules = {
  heldBy: 'images',
  prompt: { hasTemplate: false, windows: 'one' },
  output: { cap: 'none' },
  freeCredit: 'never',
  deadline: { total: 'imageTimeoutMs', boundsStreams: true },
}

/** The largest body on images. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/**
 * Images: `POST /v1/images`. A stream may have several images, with its usage in a finished one, and ends with
 * `[DONE]`. Answers have no generation id.
 */
export const images: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'images',
  path: '/v1/images',
  bodyBytesMax: BODY_BYTES_MAX,
  rules: RULES,
  telemetry: { operation: 'generate_content', outputType: 'image' },
  readCall,
  fitsOutputs: (outputs) => outputs.has('image'),
  errorEvent: ({ problem, event }) => errorFrame(event, { type: 'error', ...openAiError(problem) }),
  documentation: {
    summary: 'Images.',
    required: ['model', 'prompt'],
    properties: {
      model: FIELDS.model,
      prompt: { ...FIELDS.text, description: 'The description of the image.' },
      n: { type: 'integer', minimum: 1, maximum: IMAGES_MAX, default: 1 },
      aspect_ratio: FIELDS.text,
      resolution: FIELDS.text,
      size: FIELDS.text,
      quality: FIELDS.text,
      output_format: { enum: ['png', 'jpeg', 'webp'] },
      input_references: { type: 'array' },
      stream: FIELDS.stream,
    },
    answer: { created: FIELDS.integer, data: FIELDS.objects, usage: FIELDS.object },
    streams: true,
  },
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const { root } = body
  const fields = readChatStyleFields(body, publicNames)
  const prompt = field(root, 'prompt')
  if (prompt === undefined) throw wrongType('prompt', 'a string', otherEndpoint(root))
  if (typeof prompt !== 'string') throw wrongType('prompt', 'a string')
  return {
    ...fields,
    rules: RULES,
    stream: readBoolean(root, 'stream'),
    outputCapTokens: null,
    completions: readImageCount(root),
    media: withBareImages(fields.media, root),
    outputKinds: { image: true, audio: false },
  }
}

function readImageCount(root: JsonObject): number {
  const count = field(root, 'n') ?? 1
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= IMAGES_MAX) {
    return count
  }
  throw wrongType('n', `a whole number from 1 to ${IMAGES_MAX}`)
}

// These are not fields of the format, but pass through to providers, which may read images from them.
const BARE_IMAGE_FIELDS = ['image', 'images', 'mask', 'input_references'] as const

/** Adds images that are bare addresses and not parts. */
function withBareImages(media: MediaCount, root: JsonObject): MediaCount {
  let counted = media
  for (const param of BARE_IMAGE_FIELDS) {
    const value = field(root, param)
    for (const element of Array.isArray(value) ? value : [value]) {
      const address =
        isJsonObject(element) && element['type'] === undefined ? element['url'] : element
      if (typeof address === 'string') counted = withBareImage(counted, { address, param })
    }
  }
  return counted
}
