import type { World } from '../world.ts'

/** A cost in dollars with the fee of 5%, in whole micro-dollars, half up. */
export function chargeOf(costUsd: number): number {
  return chargeOfPicos(BigInt(Math.round(costUsd * 1e12)))
}

/** The charge for counted tokens of a simulator's model at its listed prices, with the fee. */
export function chargeOfCounts(
  { simulator }: World,
  {
    model,
    counts: [inputTokens, outputTokens],
  }: { readonly model: string; readonly counts: readonly [number, number] },
): number {
  const { prompt = '', completion = '' } = simulator.catalog.find(model)?.pricing ?? {}
  return chargeOfPicos(
    picosOf(prompt) * BigInt(inputTokens) + picosOf(completion) * BigInt(outputTokens),
  )
}

function picosOf(priceUsd: string): bigint {
  return BigInt(Math.round(Number(priceUsd) * 1e12))
}

function chargeOfPicos(picos: bigint): number {
  return Number((picos * 105n + 50_000_000n) / 100_000_000n)
}
