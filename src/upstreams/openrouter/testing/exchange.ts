import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type StreamEvent, sizeCall, type WireFormat } from '../../../formats/format.ts'
import { problemForProviderError } from '../../../formats/provider-error.ts'
import { NOTHING_SENT } from '../../../formats/sent-facts.ts'
import {
  bodyOf,
  DEFAULT_PUBLIC_NAMES,
  eventOf,
  offerWith,
} from '../../../formats/testing/exchange.ts'
import { parseAnswer } from '../../../json/body.ts'
import { editJson } from '../../../json/edit.ts'
import type { JsonBody } from '../../../json/walk.ts'
import { formatDecimal } from '../../../vocabulary/money.ts'
import type { Offer } from '../../../vocabulary/offer.ts'
import type { Reported } from '../../../vocabulary/outcome.ts'
import type { Problem } from '../../../vocabulary/problem.ts'
import { usageOf } from '../../../vocabulary/testing/token-usage.ts'
import { NO_RULES } from '../../testing/upstream-settings.ts'
import type { AnswerReading, StreamEventReading, StreamObserver, Wire } from '../../wire.ts'
import { openrouter } from '../openrouter.ts'

/** The OpenRouter wire of a format. */
export function wireOf({ endpoint }: Pick<WireFormat, 'endpoint'>): Wire {
  const wire = openrouter.wires.get(endpoint)
  if (wire === undefined) throw new TypeError(`no wire ${endpoint}`)
  return wire
}

interface SentInput {
  readonly offer?: Offer
  readonly outputCapTokens?: number
}

/** The account tag that {@link sentBody} sets. */
export const ACCOUNT_TAG = 'tag_9f2c'

/** The body that goes upstream for a client's body. */
export function sentBody(format: WireFormat, source: string, input: SentInput = {}): string {
  const body = bodyOf(source)
  const edits = wireOf(format).rewrites({
    call: sizeCall(format.readCall(body, DEFAULT_PUBLIC_NAMES)),
    body,
    offer: input.offer ?? offerWith(),
    outputCapTokens: input.outputCapTokens ?? null,
    accountTag: ACCOUNT_TAG,
    publicNames: DEFAULT_PUBLIC_NAMES,
    ...NO_RULES,
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

/** The events of a recorded stream from `fixtures/`, without comments and without an unfinished event. */
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

/** An observer's readings of these events. */
export function kindsOf(
  observer: StreamObserver,
  events: readonly StreamEvent[],
): StreamEventReading['kind'][] {
  return events.map((event) => observer.onEvent(event).kind)
}

/** A report with its cost as decimal text. */
export function plainReport({ usage, costUsd, generationId }: Reported): {
  usage: Reported['usage']
  cost: string | null
  generationId: string | null
} {
  return { usage, cost: costUsd === null ? null : formatDecimal(costUsd), generationId }
}

/** The report of a recorded answer: `counts` as `usageOf` reads them, `generation` the end of its id. */
export function reportOf(recorded: {
  readonly counts: string
  readonly cost: string | null
  readonly generation: string | null
}): ReturnType<typeof plainReport> {
  const { counts, cost, generation } = recorded
  const generationId = generation === null ? null : `gen-1795000${generation}`
  return { usage: usageOf(counts), cost, generationId }
}

/** The problem that a client gets for an error of the provider. */
export function problemOf(reading: AnswerReading | StreamEventReading): Problem {
  if (reading.kind !== 'error' && reading.kind !== 'terminalError') throw new Error('no error')
  return problemForProviderError(reading.error, { retryAfter: undefined, sent: NOTHING_SENT })
}
