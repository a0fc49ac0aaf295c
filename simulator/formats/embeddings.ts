import { badRequest } from '../error-bodies.ts'
import { omits } from '../faults.ts'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json-value.ts'
import { NO_COUNTS } from '../price.ts'
import { PromptMeter } from '../prompt-meter.ts'
import { type AnswerInput, billOf, type Format, reportedCost, reportedId } from './format.ts'
import { readPrompt } from './text-request.ts'

const DIMENSIONS_DEFAULT = 256
const DIMENSIONS_MAX = 1536

/** Embeddings. */
export const embeddings: Format = {
  path: '/embeddings',
  skin: 'chat',
  output: 'embeddings',
  failsInside: false,
  answer(input) {
    const inputs = readInputs(input.body['input'])
    const dimensions = readDimensions(input.body['dimensions'])
    const meter = new PromptMeter()
    for (const item of inputs) meterInput(meter, item)
    const counts = { ...NO_COUNTS, ...readPrompt(input, meter) }
    const bill = billOf(input, { counts, isFast: false })
    return {
      streamed: false,
      apiType: 'embeddings',
      finishReason: null,
      intervalMs: null,
      outputTokens: 0,
      billAt: () => bill,
      whole: () =>
        JSON.stringify({
          id: reportedId(input),
          object: 'list',
          data: inputs.map((item, index) => ({
            object: 'embedding',
            index,
            embedding: written(vectorOf(seedText(item), dimensions), input),
          })),
          model: input.row.id,
          usage: usageOf(input, bill.counts.inputTokens, reportedCost(input, bill)),
        }),
      frames: () => [],
      errorFrame: () => '',
    }
  },
}

function usageOf(
  input: AnswerInput,
  promptTokens: number,
  costUsd: number | undefined,
): JsonObject | undefined {
  if (omits(input.fault, 'usage')) return undefined
  return { prompt_tokens: promptTokens, total_tokens: promptTokens, cost: costUsd }
}

/** Text, texts, token ids, lists of token ids, or lists of parts. */
function readInputs(value: JsonValue | undefined): readonly JsonValue[] {
  if (typeof value === 'string' && value !== '') return [value]
  if (!isArray(value) || value.length === 0) throw badRequest('input cannot be empty')
  if (value.every((item) => typeof item === 'number')) return [value]
  for (const item of value) {
    if (typeof item !== 'string' && !isArray(item) && !isObject(item)) {
      throw badRequest('input must be text, token ids or parts')
    }
  }
  return value
}

function readDimensions(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return DIMENSIONS_DEFAULT
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw badRequest('dimensions must be a whole number above 0')
  }
  if (value > DIMENSIONS_MAX) throw badRequest(`dimensions can be at most ${DIMENSIONS_MAX}`)
  return value
}

function meterInput(meter: PromptMeter, item: JsonValue): void {
  if (typeof item === 'string') meter.text(item)
  else if (isArray(item)) meter.tokens(item.length)
  else if (isObject(item)) meter.content(item['content'])
}

function seedText(item: JsonValue): string {
  return typeof item === 'string' ? item : JSON.stringify(item)
}

/** A vector of length 1 that follows from the text alone. */
function vectorOf(text: string, dimensions: number): Float32Array {
  // FNV-1a over the text seeds a xorshift generator: distributed well enough for a simulator.
  let state = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193)
  }
  state |= 1
  const vector = new Float32Array(dimensions)
  let squares = 0
  for (let at = 0; at < dimensions; at += 1) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const value = state / 2 ** 31
    vector[at] = value
    squares += value * value
  }
  return vector.map((value) => value / Math.sqrt(squares))
}

function written(vector: Float32Array, input: AnswerInput): JsonValue {
  if (input.body['encoding_format'] !== 'base64') return [...vector]
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}
