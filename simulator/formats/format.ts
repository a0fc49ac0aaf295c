import type { CatalogRow, Traits } from '../catalog.ts'
import { type Fault, omits } from '../faults.ts'
import type { JsonObject } from '../json-value.ts'
import { type Cost, type Counts, costOf } from '../price.ts'
import type { PrefixMemory } from '../prompt-meter.ts'

/** How a path words its errors. */
export type Skin = 'chat' | 'messages' | 'responses'

/** One of the six wire formats as the simulator speaks it. */
export interface Format {
  /** Below `/v1`. */
  readonly path: string
  readonly skin: Skin
  /** The output that a model must have for this format. */
  readonly output: 'text' | 'embeddings' | 'image'
  /** Whether a body of status 200 has room for an answer that failed half-way. */
  readonly failsInside: boolean
  /** Reads the request and prepares its answer. Throws Refusal for a request that is malformed. */
  answer(input: AnswerInput): Reply
}

export interface AnswerInput {
  /** The path of the format, below `/v1`. */
  readonly path: string
  readonly body: JsonObject
  readonly row: CatalogRow
  /** The row's faster tier, where it is a model of its own; null: there is none. */
  readonly fastRow: CatalogRow | null
  readonly traits: Traits
  readonly fault: Fault
  readonly generationId: string
  readonly nowMs: number
  readonly prefixes: PrefixMemory
  /** The pace of a paced model whose prompt does not set one. */
  readonly pace: Pace
}

/** How many events a paced stream has, and the milliseconds between them. */
export interface Pace {
  readonly events: number
  readonly intervalMs: number
}

/** An answer ready to be written, whole or as a stream. */
export interface Reply {
  readonly streamed: boolean
  readonly apiType: 'completions' | 'embeddings' | 'image'
  readonly finishReason: string | null
  /** Milliseconds between events; null: as fast as they are taken. */
  readonly intervalMs: number | null
  /** The bill for so many of its output tokens. */
  billAt(outputTokens: number): Bill
  /** All output tokens of it. */
  readonly outputTokens: number
  whole(): string
  frames(): Iterable<Frame>
  /** The format's own way to end a stream with an error. */
  errorFrame(): string
}

/** One frame of a stream: an event, or a comment line. */
export interface Frame {
  readonly text: string
  /** Output tokens generated once this frame is sent. */
  readonly outputTokens: number
}

export interface Bill {
  readonly counts: Counts
  readonly cost: Cost
}

/** Everything counted, at the row's prices. */
export function billOf(
  input: AnswerInput,
  billed: { readonly counts: Counts; readonly isFast: boolean },
): Bill {
  const { counts, isFast } = billed
  const { row, fastRow, traits, nowMs } = input
  const tier =
    isFast && fastRow !== null
      ? { row: fastRow, tierFactor: 1 }
      : { row, tierFactor: isFast ? TIER_FACTOR : 1 }
  const cost = costOf({ ...tier, counts, flatImageUsd: traits.flatImageUsd, nowMs })
  return { counts, cost }
}

/** The price of the fast tier's tokens, as a factor of the model's, if the tier is not a separate model. */
const TIER_FACTOR = 6

/** The `cost` that a body reports; undefined where it reports none. */
export function reportedCost(input: AnswerInput, bill: Bill): number | undefined {
  if (omits(input.fault, 'cost') || !input.traits.reportsCost) return undefined
  return input.fault.costUsd ?? bill.cost.totalUsd
}

/** The parts of a reported cost by the format's names of input and output; undefined where no cost is reported. */
export function costDetails(
  input: AnswerInput,
  bill: Bill,
  [inputName, outputName]: readonly [string, string] = ['prompt', 'completions'],
): JsonObject | undefined {
  if (reportedCost(input, bill) === undefined) return undefined
  return {
    upstream_inference_cost: null,
    [`upstream_inference_${inputName}_cost`]: bill.cost.promptUsd,
    [`upstream_inference_${outputName}_cost`]: bill.cost.completionUsd,
  }
}

/** The searches of an answer as its usage has them; undefined for none. */
export function searchDetails({ searches }: Counts): JsonObject | undefined {
  if (searches === 0) return undefined
  return {
    web_search_requests: searches,
    tool_calls_requested: searches,
    tool_calls_executed: searches,
  }
}

/** The body's generation id; undefined where it is left out. */
export function reportedId(input: AnswerInput): string | undefined {
  return omits(input.fault, 'id') ? undefined : input.generationId
}

/** The body's id on formats with ids of their own; undefined where it is left out. */
export function bodyId(input: AnswerInput, prefix: string): string | undefined {
  if (omits(input.fault, 'id')) return undefined
  const { generationId, traits } = input
  return traits.nativeIds ? `${prefix}${generationId.slice(-20)}` : generationId
}

/** One event of a stream whose frames are data alone. */
export function dataFrame(json: string): string {
  return `data: ${json}\n\n`
}

/** One event of a stream whose frames carry an event name, unless the fault takes it away. */
export function namedFrame(input: AnswerInput, name: string, json: string): string {
  const line = input.fault.dataOnlyEvents === true ? '' : `event: ${name}\n`
  return line + dataFrame(json)
}

export const DONE_FRAME = 'data: [DONE]\n\n'

/** The comment line that keeps a waiting client awake. */
export const COMMENT_FRAME = ': OPENROUTER PROCESSING\n\n'

/** A PNG of one pixel, base64. */
export const PNG_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
