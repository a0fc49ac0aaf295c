import { formatDecimal, parseDecimal } from '../../vocabulary/money.ts'
import type { RequestFacts, Resolution, TokenUsage } from '../../vocabulary/outcome.ts'
import type { OpenHoldInput, SettleInput } from '../ledger.ts'
import type { OpenedHold, RebookInput } from '../rules/rebook.ts'

// Ten thousand requests as objects are a million objects for the garbage collector to visit. With one text for each
// batch they are about a thousand. Values are in the order of these fields: their names would be most of the text.

const HOLD_FIELDS = fieldsOf<OpenHoldInput>({
  requestId: true,
  accountId: true,
  apiKeyId: true,
  instanceId: true,
  endpoint: true,
  upstream: true,
  modelId: true,
  stream: true,
  neededMicros: true,
  leastMicros: true,
  freeCreditQualifies: true,
  freeCreditAloneRunsOnLess: true,
  tokens: true,
  priceSnapshotId: true,
  tags: true,
  feeBasisPoints: true,
})

const GRANT_FIELDS = fieldsOf<OpenedHold['grant']>({
  kind: true,
  grantedMicros: true,
  backedMicros: true,
  freeMicros: true,
  isRepeat: true,
})

const FACTS_FIELDS = fieldsOf<RequestFacts>({
  httpStatus: true,
  errorCode: true,
  usage: true,
  generationId: true,
  firstByteAtMs: true,
})

const USAGE_FIELDS = fieldsOf<TokenUsage>({
  inputTokens: true,
  cacheReadTokens: true,
  cacheWriteTokens: true,
  cacheWriteLongTokens: true,
  outputTokens: true,
  reasoningTokens: true,
  imageOutputTokens: true,
  searches: true,
})

/** A packed hold or settle, after its text is parsed. */
type Packed = readonly [unknown[], unknown[], unknown]

/** A hold as a line of text, which {@link packRequest} takes. */
export function packHold({ input, grant, openedAtMs }: OpenedHold): string {
  return JSON.stringify([valuesOf(HOLD_FIELDS, input), valuesOf(GRANT_FIELDS, grant), openedAtMs])
}

/** The hold that {@link packHold} packed. */
export function unpackHold(text: string): OpenedHold {
  return holdOf(JSON.parse(text))
}

/** A request as a line of text. By position: its packed hold; how its attempt ended, null if it has not. */
export function packRequest(hold: string, settle: SettleInput | null): string {
  return `[${hold},${settle === null ? 'null' : packSettle(settle)}]`
}

/** The request that {@link packRequest} packed. */
export function unpackRequest(text: string): RebookInput {
  const [hold, settle]: [Packed, Packed | null] = JSON.parse(text)
  return { opened: holdOf(hold), settle: settle === null ? null : settleOf(settle) }
}

function packSettle({ requestId, resolution, facts }: SettleInput): string {
  const { usage } = facts
  const values = valuesOf(FACTS_FIELDS, facts)
  values[FACTS_FIELDS.indexOf('usage')] = usage === null ? null : valuesOf(USAGE_FIELDS, usage)
  // JSON has no number that holds each cost exactly.
  const cost = costOf(resolution)
  const packed = cost === null ? resolution : { ...resolution, costUsd: formatDecimal(cost) }
  return JSON.stringify([[requestId, packed], values, cost !== null])
}

function costOf(resolution: Resolution) {
  return 'costUsd' in resolution ? resolution.costUsd : null
}

function holdOf([input, grant, openedAtMs]: Packed): OpenedHold {
  return {
    input: objectOf(HOLD_FIELDS, input),
    grant: objectOf(GRANT_FIELDS, grant),
    openedAtMs: Number(openedAtMs),
  }
}

function settleOf([[requestId, packed], values, hasCost]: Packed): SettleInput {
  const facts = objectOf(FACTS_FIELDS, values)
  const usage = values[FACTS_FIELDS.indexOf('usage')]
  // The text that packSettle made.
  const resolution = packed as Resolution & { readonly costUsd: unknown }
  return {
    requestId: String(requestId),
    resolution:
      hasCost === true
        ? // parseDecimal reads every text that formatDecimal writes.
          ({ ...resolution, costUsd: parseDecimal(String(resolution.costUsd)) } as Resolution)
        : resolution,
    facts: {
      ...facts,
      usage: Array.isArray(usage) ? objectOf<TokenUsage>(USAGE_FIELDS, usage) : null,
    },
  }
}

/** Every field of a kind of object, in a fixed order: one that is missing does not compile. */
function fieldsOf<T>(fields: Readonly<Record<keyof T, true>>): readonly (keyof T)[] {
  // The keys of the record are those of T.
  return Object.keys(fields) as (keyof T)[]
}

function valuesOf<T>(fields: readonly (keyof T)[], object: T): unknown[] {
  return fields.map((field) => object[field])
}

/** By position: fields, and the values that {@link valuesOf} read by them from an object. */
function objectOf<T>(fields: readonly (keyof T)[], values: readonly unknown[]): T {
  // Every field of T has the value that was packed.
  return Object.fromEntries(fields.map((field, place) => [field, values[place]])) as T
}

const BLOCK_BYTES = 1_048_576

/** The most bytes that UTF-8 takes for one of a string's code units. */
const BYTES_MAX = 3

/** A text in a block of memory outside of the heap, where it costs no garbage collection. */
export interface PackedText {
  readonly block: Buffer
  readonly start: number
  readonly end: number
}

/**
 * Keeps texts outside of the heap, where each would cost the garbage collector time. The texts follow each other in
 * blocks of their own: in a buffer of Node's pool, each would keep the remains of other buffers in memory.
 */
export class PackedTexts {
  #block = Buffer.alloc(0)
  #end = 0

  /** A block is free once no text in it is referred to. */
  keep(text: string): PackedText {
    const bytesMax = text.length * BYTES_MAX
    if (this.#end + bytesMax > this.#block.length) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytesMax))
      this.#end = 0
    }
    const start = this.#end
    this.#end += this.#block.write(text, start)
    return { block: this.#block, start, end: this.#end }
  }
}

/** The text as a string again. */
export function readText({ block, start, end }: PackedText): string {
  return block.toString('utf8', start, end)
}
