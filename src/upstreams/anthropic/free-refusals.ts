import type { StreamEvent } from '../../formats/format.ts'
import { parseEventData } from '../../json/body.ts'
import type { JsonObject } from '../../json/walk.ts'
import { objectAt } from '../../json/walk.ts'
import { decimalOfPicos } from '../../vocabulary/money.ts'
import type { Reported } from '../../vocabulary/outcome.ts'
import type { StreamEventReading, StreamObserver, Wire } from '../upstream.ts'

// platform.claude.com/docs/en/release-notes/overview of 2026-06-02 and 2026-09-24, read 2026-11-27: a request that is refused before any output is not billed, unless the refusal is of one of these
// categories. Its answer counts the prompt all the same.
const BILLED_CATEGORIES = new Set<unknown>(['bio', 'frontier_llm', 'reasoning_extraction'])

/** A wire whose answers cost nothing if Anthropic does not bill them. */
export function withFreeRefusals(wire: Wire): Wire {
  return {
    ...wire,
    readAnswer(answer) {
      const reading = wire.readAnswer(answer)
      if (!isFreeRefusal(answer.root)) return reading
      return { ...reading, reported: freeUnlessWritten(reading.reported) }
    },
    observeStream: (call) => new RefusalObserver(wire.observeStream(call)),
  }
}

/** Whether a message, or the change of it that ends a stream, is a refusal of a category that is not billed. */
function isFreeRefusal(message: JsonObject): boolean {
  const isRefusal = message['stop_reason'] === 'refusal'
  return isRefusal && !BILLED_CATEGORIES.has(objectAt(message, 'stop_details')['category'])
}

/** A report whose cost is zero, unless output was counted, even if none of it is shown. Counts never leave out text. */
function freeUnlessWritten(reported: Reported): Reported {
  const { usage, countsAreCost } = reported
  if (countsAreCost !== true || usage === null) return reported
  if (usage.outputTokens > 0 || usage.searches > 0) return reported
  return { ...reported, costUsd: decimalOfPicos(0n) }
}

const REFUSAL = /"stop_reason"\s*:\s*"refusal"/

class RefusalObserver implements StreamObserver {
  readonly #inner: StreamObserver
  #isFreeRefusal = false

  constructor(inner: StreamObserver) {
    this.#inner = inner
  }

  onEvent(event: StreamEvent): StreamEventReading {
    const reading = this.#inner.onEvent(event)
    // The words can be in the text of an answer too.
    if (REFUSAL.test(event.data)) {
      const root = parseEventData(event.data)
      if (root !== null && isFreeRefusal(objectAt(root, 'delta'))) this.#isFreeRefusal = true
    }
    return reading
  }

  takeAlike(chunk: Buffer, start: number): number {
    return this.#inner.takeAlike(chunk, start)
  }

  reported(): Reported {
    const reported = this.#inner.reported()
    return this.#isFreeRefusal ? freeUnlessWritten(reported) : reported
  }

  relayedTokens(): number {
    return this.#inner.relayedTokens()
  }

  textTokens(): number {
    return this.#inner.textTokens()
  }
}
