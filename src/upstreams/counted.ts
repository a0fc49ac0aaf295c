import type { StreamEvent } from '../formats/format.ts'
import { namesAccount, type ProviderError, refusesContent } from '../formats/provider-error.ts'
import { PromptGuess, SIXTIETHS } from '../formats/token-guess.ts'
import { parseEventData } from '../json/body.ts'
import { editJson } from '../json/edit.ts'
import { type JsonBody, type JsonObject, objectAt, tokenCount, walkJson } from '../json/walk.ts'
import { promptTokensOf, type Reported, type TokenUsage } from '../vocabulary/outcome.ts'
import { eventBody } from './openrouter/stream-text.ts'
import type { StreamEventReading, StreamedCall, StreamObserver, Wire } from './wire.ts'

/** The parts of a dialect whose provider reports no cost: a model has one price, and nothing is looked up. */
export const REPORTS_NO_COST = {
  parsesFiles: false,
  fetchHighestTerms: null,
  fetchFlatImagePrice: null,
  fetchGeneration: null,
  fetchKeyUsage: null,
} as const

/** How the answers of a provider that bills by its counts are read, which are mostly streams. */
export interface CountedStreams {
  /**
   * Matches the data of an event whose counts are those of the whole answer, even if the stream breaks off after it.
   * The counts of a terminal event always are. With several completions, the first one to end does not end the answer: the
   * event must have no choices.
   */
  readonly wholeCounts: RegExp
  /**
   * The choice, as JSON, that an event with counts and no choices is given for a client that did not ask for such an
   * event. Null: the format has no choices.
   */
  readonly emptyChoice: string | null
  /**
   * Whether text that the counts leave out, of a stream or a whole answer, and a stream without counts are charged by an
   * estimate. If not, they stay unresolved.
   */
  readonly isEstimated: boolean
  /** False: the answers of the format have no output, and need no count of it. Left out: they have. */
  readonly hasOutput?: false
  /**
   * True: the listed prices also apply to answers that report a more expensive tier than was asked for. Left out: they do
   * not.
   */
  readonly pricesEveryTier?: true
}

/**
 * A wire for a provider that bills by its counts: it names no cost, and by the ids of its answers nothing can be
 * looked up.
 */
export function counted(wire: Wire, streams: CountedStreams): Wire {
  return {
    ...wire,
    generationIdOf: () => null,
    readAnswer(answer) {
      const reading = wire.readAnswer(answer)
      return { ...reading, reported: answerReport(reading.reported, { answer, streams }) }
    },
    observeStream: (call) => new CountedObserver(wire.observeStream(call), { ...streams, call }),
  }
}

/**
 * An error of such a vendor, whose 403 is about our own account: a region, an organization, a project, a model that the
 * key may not use. A refusal of the request's content is the client's. A firewall before the vendor refuses requests
 * for their content too, in its own words.
 */
export function ofAccount(error: ProviderError): ProviderError {
  const { httpStatus, message } = error
  const isForbidden = httpStatus === 403 && !refusesContent(error)
  const isWrongKey = httpStatus === 400 && WRONG_KEY.test(message)
  if (!isForbidden && !isWrongKey) return error
  const isOnlyLikely = isForbidden && !namesAccount(error)
  return { ...error, httpStatus: 401, ...(isOnlyLikely ? { isOnlyLikely } : {}) }
}

/**
 * The whole message of Gemini about a wrong key, with the status 400. Vendors repeat values of the request in their
 * messages: a part of one must not say that our account is refused.
 */
export const WRONG_KEY =
  /^API key (not valid\. Please pass a valid|expired\. Please renew the) API key\.?$/i

/** The report of a whole answer, whose counts are believed like those of a stream with the same text. */
function answerReport(
  said: Reported,
  { answer, streams }: { readonly answer: JsonBody; readonly streams: CountedStreams },
): Reported {
  if (streams.hasOutput === false) return countedReport(said, { streams, isWhole: true })
  const uncountedTokens = (said.usage?.outputTokens ?? 0) > 0 ? 0 : textTokens(answer.root)
  const isWhole = countsOutput(answer) && uncountedTokens === 0
  const reported = countedReport(said, { streams, isWhole })
  const isEstimated = streams.isEstimated && reported.usage !== null && uncountedTokens > 0
  return isEstimated ? { ...reported, uncountedTokens } : reported
}

/** The place of an answer's text in each format. */
const TEXT_PLACES = ['choices', 'output', 'content']

/** The likely tokens of all text in an answer, calls of tools included. */
function textTokens(root: JsonObject): number {
  const guess = new PromptGuess()
  const { sixtieths } = guess
  for (const place of TEXT_PLACES) {
    const text = root[place]
    if (text !== undefined) walkJson({ [place]: text }, (node) => guess.addNode(node))
  }
  return Math.ceil((guess.sixtieths - sixtieths) / SIXTIETHS)
}

function countedReport(
  { usage, servedTier, isRegional }: Reported,
  { streams, isWhole }: { readonly streams: CountedStreams; readonly isWhole: boolean },
): Reported {
  const isAtListedPrices = servedTier === 'priority' && streams.pricesEveryTier === true
  return {
    usage: usage !== null && countsPrompt(usage) ? usage : null,
    costUsd: null,
    generationId: null,
    ...(servedTier === undefined || isAtListedPrices ? {} : { servedTier }),
    ...(isRegional === undefined ? {} : { isRegional }),
    ...(isWhole && usage !== null && countsPrompt(usage) ? { countsAreCost: true } : {}),
  }
}

// No prompt is empty: a server that says so does not count.
function countsPrompt(usage: TokenUsage): boolean {
  return promptTokensOf(usage) > 0
}

const OUTPUT_COUNTS = ['completion_tokens', 'output_tokens', 'total_tokens']

/** Whether an answer has a count of its output, even if the count is zero. */
function countsOutput({ root }: JsonBody): boolean {
  const usage = objectAt(root, 'usage')
  return OUTPUT_COUNTS.some((name) => tokenCount(usage[name]) !== null)
}

const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/

class CountedObserver implements StreamObserver {
  readonly #inner: StreamObserver
  readonly #streams: CountedStreams & { readonly call: StreamedCall }
  #isWhole = false
  #hasEnded = false

  constructor(inner: StreamObserver, streams: CountedStreams & { readonly call: StreamedCall }) {
    this.#inner = inner
    this.#streams = streams
  }

  onEvent(event: StreamEvent): StreamEventReading {
    const before = this.#inner.reported().usage
    const reading = this.#inner.onEvent(event)
    if (reading.kind === 'terminal' || reading.kind === 'terminalError') this.#hasEnded = true
    if (this.#inner.reported().usage === before) return reading
    const { wholeCounts, emptyChoice, call } = this.#streams
    const hasNoChoices = emptyChoice !== null && NO_CHOICES.test(event.data)
    const isOfAll = hasNoChoices || (call.completions ?? 1) === 1
    this.#isWhole = isOfAll && wholeCounts.test(event.data)
    if (reading.kind !== 'relay' || !hasNoChoices || call.asksForUsage === true) return reading
    return { kind: 'replaced', data: withChoice(event, emptyChoice) }
  }

  // Events that differ only in their text have no counts.
  takeAlike(chunk: Buffer, start: number): number {
    return this.#inner.takeAlike(chunk, start)
  }

  reported(): Reported {
    const uncountedTokens = this.relayedTokens()
    const reported = countedReport(this.#inner.reported(), {
      streams: this.#streams,
      isWhole: (this.#isWhole || this.#hasEnded) && uncountedTokens === 0,
    })
    if (!this.#streams.isEstimated) return reported
    // The journey may find that no such call can have these counts.
    if (reported.countsAreCost) return { ...reported, textTokens: this.#inner.textTokens() }
    const isUncounted = reported.usage === null || uncountedTokens > 0
    return this.#hasEnded && isUncounted ? { ...reported, uncountedTokens } : reported
  }

  // If the counts are not believed, or do not cover the text, all text is estimated.
  relayedTokens(): number {
    const { usage } = this.#inner.reported()
    const isCounted = usage !== null && countsPrompt(usage) && usage.outputTokens > 0
    return isCounted ? this.#inner.relayedTokens() : this.#inner.textTokens()
  }

  textTokens(): number {
    return this.#inner.textTokens()
  }
}

function withChoice({ data }: StreamEvent, choice: string): string {
  const chunk = parseEventData(data)
  if (chunk === null) return data
  const edits = [{ kind: 'set', path: ['choices'], json: `[${choice}]` }] as const
  return Buffer.concat(editJson(eventBody(data, chunk), edits)).toString('latin1')
}
