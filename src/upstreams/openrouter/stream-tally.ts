import { estimateTextTokensOfLatin1 } from '../../tokens/estimate.ts'
import { NOTHING_REPORTED, type Reported } from '../../vocabulary/outcome.ts'

/** Adds up what the events of one stream say of their answer. */
export class StreamTally {
  #reported: Reported = NOTHING_REPORTED
  #relayedTokens = 0

  /**
   * Takes what one event reports, whose text has been added. Counts are cumulative: the latest hold, and
   * what is left out stands as it was.
   */
  learn({ usage, costUsd, generationId, ...tier }: Reported): void {
    if (usage !== null) this.#relayedTokens = 0
    this.#reported = {
      ...this.#reported,
      ...tier,
      usage: usage ?? this.#reported.usage,
      costUsd: costUsd ?? this.#reported.costUsd,
      generationId: this.#reported.generationId ?? generationId,
    }
  }

  /** Counts text that the client is given, in latin-1: one character for each byte of UTF-8. */
  addText(text: string): void {
    if (text !== '') this.#relayedTokens += estimateTextTokensOfLatin1(text)
  }

  /** As {@link StreamObserver.reported}. */
  reported(): Reported {
    return this.#reported
  }

  /** As {@link StreamObserver.relayedTokens}. */
  relayedTokens(): number {
    return this.#relayedTokens
  }
}
