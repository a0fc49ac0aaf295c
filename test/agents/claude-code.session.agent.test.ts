import { describe, expect, inject, test } from 'vitest'
import { runClaude } from './claude-code.ts'
import { expectExactLedger } from './room.ts'
import { openSession, type SessionPrices, turnsOf } from './session.ts'

/**
 * Sessions of Claude Code on Anthropic's prices, before a played Anthropic server with a prefix cache: it reads a file in
 * each turn, until its account can't hold the next.
 */

interface Row {
  readonly prices: SessionPrices
  readonly creditMicros: number
  /** `CLAUDE_CODE_MAX_OUTPUT_TOKENS`; null: Claude Code's own cap, 32,000. */
  readonly capTokens: number | null
  readonly files: number
  /** The least turns that run: one for each file and one for the answer, or fewer if the account can't hold them. */
  readonly turnsMin: number
  /** Whether all of them run. */
  readonly isWhole: boolean
}

const FILE_BYTES = 7_000
const HIGHEST = { input: 15, output: 75 }

/** A session of six files on two caps, with credit for one of the two. */
const SHORT: readonly Row[] = [
  {
    prices: HIGHEST,
    creditMicros: 3_600_000,
    capTokens: null,
    files: 6,
    turnsMin: 2,
    isWhole: false,
  },
  {
    prices: HIGHEST,
    creditMicros: 3_600_000,
    capTokens: 8_000,
    files: 6,
    turnsMin: 7,
    isWhole: true,
  },
]

/** The table of docs/decisions/text-token-bound.md. */
const SIXTY: readonly Row[] = [
  {
    prices: HIGHEST,
    creditMicros: 5_000_000,
    capTokens: null,
    files: 60,
    turnsMin: 10,
    isWhole: false,
  },
  {
    prices: HIGHEST,
    creditMicros: 5_000_000,
    capTokens: 8_000,
    files: 60,
    turnsMin: 18,
    isWhole: false,
  },
  {
    prices: HIGHEST,
    creditMicros: 10_000_000,
    capTokens: 8_000,
    files: 60,
    turnsMin: 40,
    isWhole: false,
  },
  {
    prices: { input: 5, output: 25 },
    creditMicros: 5_000_000,
    capTokens: null,
    files: 60,
    turnsMin: 52,
    isWhole: false,
  },
  {
    prices: { input: 3, output: 15 },
    creditMicros: 2_000_000,
    capTokens: null,
    files: 60,
    turnsMin: 30,
    isWhole: false,
  },
]

describe('a session of Claude Code', () => {
  test.each(inject('hasLongSessions') ? SIXTY : SHORT)(
    'at $prices.input/$prices.output on $creditMicros micro-dollars with a cap of $capTokens is charged no turn above its hold, and a refusal says which cap fits',
    async ({ capTokens, turnsMin, isWhole, ...input }) => {
      const room = await openSession({ ...input, fileBytes: FILE_BYTES })
      try {
        const cap = String(capTokens)
        const variables = capTokens === null ? {} : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: cap }
        const end = await runClaude(room, { variables })
        const turns = await turnsOf(room)
        console.log(
          JSON.stringify({
            ...input,
            capTokens,
            turns: turns.length,
            first: turns[0],
            last: turns.at(-1),
          }),
        )
        expect(turns.length).toBeGreaterThanOrEqual(turnsMin)
        expect(turns.filter(({ chargeMicros, holdMicros }) => chargeMicros > holdMicros)).toEqual(
          [],
        )
        if (isWhole) expect(end).toMatchObject({ is_error: false, result: 'Read.' })
        else {
          expect(end).toMatchObject({ is_error: true, api_error_status: 402 })
          expect(end.result).toMatch(/With `max_tokens` of at most [\d,]+ it fits\./)
        }
        await expectExactLedger(room)
      } finally {
        await room.close()
      }
    },
  )
})
