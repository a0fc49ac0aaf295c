import { describe, expect, test } from 'vitest'
import { runSession } from './agent-session.ts'
import { vendorWorld } from './hold-worlds.ts'

/**
 * Sessions of a coding agent on Anthropic's prices: 60 turns, marks of five minutes, and a server whose cache reads what
 * the turn before sent.
 */

const { catalog } = await vendorWorld('anthropic')

interface Row {
  readonly model: string
  readonly creditMicros: number
  readonly capTokens: number
  readonly turnsMin: number
}

const ROWS: readonly Row[] = [
  { model: 'claude-opus-4-1', creditMicros: 5_000_000, capTokens: 32_000, turnsMin: 10 },
  { model: 'claude-opus-4-1', creditMicros: 5_000_000, capTokens: 8_000, turnsMin: 18 },
  { model: 'claude-opus-4-1', creditMicros: 10_000_000, capTokens: 8_000, turnsMin: 37 },
  { model: 'claude-opus-4-1', creditMicros: 20_000_000, capTokens: 32_000, turnsMin: 60 },
  { model: 'claude-opus-4-5', creditMicros: 5_000_000, capTokens: 32_000, turnsMin: 50 },
  { model: 'claude-opus-4-5', creditMicros: 5_000_000, capTokens: 8_000, turnsMin: 60 },
  { model: 'claude-sonnet-4-5', creditMicros: 2_000_000, capTokens: 32_000, turnsMin: 30 },
  { model: 'claude-sonnet-4-5', creditMicros: 5_000_000, capTokens: 32_000, turnsMin: 60 },
]

describe('a session of a coding agent', () => {
  test.each(ROWS)(
    'of $model on $creditMicros micro-dollars with a cap of $capTokens runs $turnsMin turns, none charged above its hold',
    ({ model, turnsMin, ...input }) => {
      const offer = catalog.offerFor(`anthropic/${model}`, 'chat')
      const session = runSession(offer, { ...input, turns: 60 })
      console.log(model, JSON.stringify({ ...input, ...session }))
      expect(session.turns).toBeGreaterThanOrEqual(turnsMin)
      expect(session.chargedAbove).toEqual([])
    },
  )

  test.each([
    { creditMicros: 5_000_000, capTokens: 32_000, turnsMax: 20 },
    { creditMicros: 10_000_000, capTokens: 8_000, turnsMax: 59 },
  ])(
    'of $15/$75 on $creditMicros micro-dollars with a cap of $capTokens ends by turn $turnsMax even at the exact count of each prompt',
    ({ turnsMax, ...input }) => {
      const offer = catalog.offerFor('anthropic/claude-opus-4-1', 'chat')
      const exact = runSession(offer, { ...input, turns: 60, isExact: true })
      console.log(JSON.stringify({ ...input, ...exact }))
      expect(exact.turns).toBeLessThanOrEqual(turnsMax)
      expect(exact.turns).toBeGreaterThan(runSession(offer, { ...input, turns: 60 }).turns)
    },
  )

  test('runs longer than a session whose cache marks are held at the price of one hour', () => {
    const offer = catalog.offerFor('anthropic/claude-opus-4-1', 'chat')
    const input = { creditMicros: 5_000_000, capTokens: 32_000, turns: 60 }
    const { cacheWriteLong } = offer.prices
    const higher = { ...offer, prices: { ...offer.prices, cacheWrite: cacheWriteLong } }
    const before = runSession(offer, { ...input, heldAt: higher })
    expect(before.turns).toBeLessThan(runSession(offer, input).turns)
  })
})
