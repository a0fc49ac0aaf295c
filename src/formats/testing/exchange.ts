import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { editJson, type JsonBody, parseAnswer, parseJsonBody } from '../../json/body.ts'
import type { Call } from '../../vocabulary/call.ts'
import { formatDecimal } from '../../vocabulary/money.ts'
import type { Offer } from '../../vocabulary/offer.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { DEFAULT_WORDS } from '../../vocabulary/public-names.ts'
import type { Reported } from '../../vocabulary/usage.ts'
import type { StreamEvent, StreamEventReading, StreamObserver, WireFormat } from '../format.ts'

/** What a client sends, as source text or as a value. */
export type BodySource = string | { readonly [member: string]: unknown }

/** A client's body, parsed as the journey parses it. */
export function bodyOf(source: BodySource): JsonBody {
  return parseJsonBody(Buffer.from(typeof source === 'string' ? source : JSON.stringify(source)))
}

/** The call that a format reads from a body. */
export function callOf(format: WireFormat, source: BodySource): Call {
  return format.readCall(bodyOf(source), DEFAULT_WORDS)
}

/** Code and field of the Problem that this throws; the test fails where it throws none. */
export function refusalOf(run: () => unknown): { code: string; param: string | null } {
  try {
    run()
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, param: error.param }
    throw error
  }
  throw new Error('nothing was refused')
}

/** A text model that lists its cap as `max_tokens` and reads no files. */
export function offerWith(overrides: Partial<Offer> = {}): Offer {
  return {
    modelId: 'acme/sage-pro',
    inputModalities: new Set(['text']),
    outputModalities: new Set(['text']),
    supportedParameters: new Set(['max_tokens']),
    contextTokens: 100_000,
    outputTokensMax: 4_096,
    openWeights: false,
    billsPerSearch: false,
    prices: {
      input: 0n,
      output: 0n,
      cacheRead: 0n,
      cacheWrite: 0n,
      cacheWriteLong: 0n,
      reasoning: 0n,
      imageOutput: 0n,
      audioOutput: 0n,
      imageInput: 0n,
      imageInputToken: 0n,
      audioInput: 0n,
      search: 0n,
      request: 0n,
      imageFlat: 0n,
      tiers: [],
    },
    fastPrices: null,
    priceSnapshotId: 'prices',
    ...overrides,
  }
}

export interface SentInput {
  readonly offer?: Offer
  readonly outputCapTokens?: number
}

/** The account tag that {@link sentBody} sets. */
export const ACCOUNT_TAG = 'tag_9f2c'

/** The source text that goes upstream for a client's source text. */
export function sentBody(format: WireFormat, source: string, input: SentInput = {}): string {
  const body = bodyOf(source)
  const edits = format.rewrites({
    call: format.readCall(body, DEFAULT_WORDS),
    body,
    offer: input.offer ?? offerWith(),
    outputCapTokens: input.outputCapTokens ?? null,
    accountTag: ACCOUNT_TAG,
    words: DEFAULT_WORDS,
  })
  return Buffer.concat(editJson(body, edits)).toString()
}

/** A provider's whole answer. */
export function answerOf(source: string | object): JsonBody {
  const answer = parseAnswer(
    Buffer.from(typeof source === 'string' ? source : JSON.stringify(source)),
  )
  if (answer === null) throw new Error('not a JSON object')
  return answer
}

/** A recorded answer from `fixtures/`, byte for byte. */
export function answerFixture(fileName: string): JsonBody {
  return answerOf(readFixture(fileName))
}

/** The events of a recorded stream from `fixtures/`; comments and what was cut off are no events. */
export function eventsFixture(fileName: string): readonly StreamEvent[] {
  const frames = readFixture(fileName).split('\n\n')
  return frames.slice(0, -1).flatMap((frame) => {
    const name = /^event: (.*)$/m.exec(frame)?.[1] ?? null
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    return data === undefined ? [] : [eventOf(data, name)]
  })
}

function readFixture(fileName: string): string {
  return readFileSync(join(import.meta.dirname, '../fixtures', fileName), 'utf8')
}

/** One event with this data, given as text; it stands there as latin-1, as the relay reads it. */
export function eventOf(data: string, name: string | null = null): StreamEvent {
  return { name, data: Buffer.from(data, 'utf8').toString('latin1') }
}

/** What an observer says to each of these events. */
export function kindsOf(
  observer: StreamObserver,
  events: readonly StreamEvent[],
): StreamEventReading['kind'][] {
  return events.map((event) => observer.onEvent(event).kind)
}

/** What was reported, with its cost as plain decimal text. */
export function plainReport({ usage, costUsd, generationId }: Reported): {
  usage: Reported['usage']
  cost: string | null
  generationId: string | null
} {
  return { usage, cost: costUsd === null ? null : formatDecimal(costUsd), generationId }
}

/** Token counts: none but these. */
export function usageOf(counts: Partial<NonNullable<Reported['usage']>>): Reported['usage'] {
  return {
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    imageOutputTokens: 0,
    searches: 0,
    ...counts,
  }
}

/** The least that each endpoint takes, for what is said of all of them. */
export const LEAST_BODIES: Readonly<Record<string, { readonly [member: string]: unknown }>> = {
  chat: { model: 'acme/sage-pro', messages: [] },
  completions: { model: 'acme/sage-pro', prompt: 'x' },
  messages: { model: 'acme/sage-pro', messages: [], max_tokens: 64 },
  responses: { model: 'acme/sage-pro', input: 'x' },
  embeddings: { model: 'acme/sage-pro', input: 'x' },
  images: { model: 'acme/sage-pro', prompt: 'x' },
}
