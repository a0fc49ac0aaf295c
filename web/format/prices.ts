import type { Model } from '../api/answers.ts'
import { perMillionText } from './money.ts'

type Pricing = Readonly<Partial<Record<string, unknown>>>

/** Whether a price is there and above zero. */
function isCharged(price: unknown): price is string {
  return typeof price === 'string' && /[1-9]/.test(price)
}

/** The price of a thing, such as an image, as an amount of dollars without trailing zeros: `$0.042`. */
function eachText(priceUsd: string): string {
  const [whole = '0', fraction = ''] = priceUsd.split('.')
  const places = fraction.replace(/0+$/, '').padEnd(2, '0')
  return `$${whole}.${places}`
}

/** `$3.15 → $15.75` per million tokens, `$0.042 an image`, `$0.01 a request`, or `Free`. */
export function pricesText({
  pricing,
  architecture,
}: Pick<Model, 'pricing' | 'architecture'>): string {
  const { prompt, completion, request, image_output: imageOutput } = pricing as Pricing
  const image = (pricing as Pricing)['image']
  const isImage = architecture.output_modalities.includes('image')
  if (isCharged(prompt) || isCharged(completion)) {
    const input = perMillionText(String(prompt ?? '0')) ?? '–'
    if (!isCharged(completion)) return input
    return `${input} → ${perMillionText(completion) ?? '–'}`
  }
  if (isImage && isCharged(imageOutput)) {
    return `${perMillionText(imageOutput)} an M image tokens`
  }
  if (isImage && isCharged(image)) return `${eachText(image)} an image`
  if (isCharged(request)) return `${eachText(request)} a request`
  return 'Free'
}
