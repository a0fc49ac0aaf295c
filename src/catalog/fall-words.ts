import { decimalOfPicos, type Picos, showDollars, showMicros } from '../vocabulary/money.ts'
import type { PriceTable } from '../vocabulary/offer.ts'

/** A price of a table, but not its tiers. */
export type PriceName = Exclude<keyof PriceTable, 'tiers'>

const PER_TOKEN: Readonly<Partial<Record<PriceName, string>>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache read',
  cacheWrite: 'cache write',
  cacheWriteLong: 'one-hour cache write',
  reasoning: 'reasoning',
  imageOutput: 'image output',
  audioOutput: 'audio output',
  imageInputToken: 'image input',
  audioInput: 'audio input',
}

const FLAT: Readonly<Partial<Record<PriceName, string>>> = {
  imageInput: 'an input image',
  imageFlat: 'a generated image',
  search: 'a search',
  request: 'a request',
}

/**
 * `the input price fell from $3.00 to $0.003 per million tokens`. `above`: the price is that of prompts of more tokens;
 * null: it has no such threshold.
 */
export function priceFall(
  name: PriceName,
  {
    above,
    before,
    now,
  }: { readonly above: number | null; readonly before: Picos; readonly now: Picos },
): string {
  const flat = FLAT[name]
  if (flat !== undefined) {
    const dollars = (price: Picos) => showDollars(decimalOfPicos(price))
    return `the price of ${flat} fell from ${dollars(before)} to ${dollars(now)}`
  }
  // Pico-dollars of one token are micro-dollars of a million.
  const [from, to] = [before, now].map((price) => showMicros(Number(price)))
  const of = above === null ? '' : ` above ${above.toLocaleString('en-US')} tokens`
  return `the ${PER_TOKEN[name]} price${of} fell from ${from} to ${to} per million tokens`
}

/** `the context window fell from 200,000 to 20,000 tokens`. */
export function tokensFall(
  noun: 'context window' | 'maximum output',
  { before, now }: { readonly before: number; readonly now: number },
): string {
  const shown = (tokens: number) => tokens.toLocaleString('en-US')
  return `the ${noun} fell from ${shown(before)} to ${shown(now)} tokens`
}
