import { expect, test } from 'vitest'
import { priceLines, pricesText, tierSentences } from './prices.ts'

const of = (pricing: Parameters<typeof pricesText>[0]['pricing'], writes = 'text') => ({
  pricing,
  architecture: { input_modalities: ['text'], output_modalities: [writes] },
})

test.each([
  [of({ prompt: '0.00000315', completion: '0.00001575' }), '$3.15 → $15.75'],
  [of({ prompt: '0.000000021', completion: '0' }), '$0.021'],
  [of({ prompt: '0', completion: '0', image: '0.0420' }, 'image'), '$0.042 an image'],
  [of({ prompt: '0', image_output: '0.000042' }, 'image'), '$42.00 per M image tokens'],
  [of({ prompt: '0.000005', image_output: '0.000042' }, 'image'), '$5.00 → $42.00'],
  [
    of({ prompt: '0', image_output: '0.00001', image_flat: '0.105' }, 'image'),
    'up to $0.105 an image',
  ],
  [of({ prompt: '0.000003', completion: '0.000015', image_flat: '0.1' }), '$3.00 → $15.00'],
  [of({ prompt: '0', completion: '0', request: '0.01' }), '$0.01 a request'],
  [of({ prompt: '0', completion: '0' }), 'Free'],
])('the prices of %j are shown as %s', (model, text) => {
  expect(pricesText(model)).toBe(text)
})

test('an image at a flat price has no price for its tokens', () => {
  const model = of({ prompt: '0', image_output: '0.00001', image_flat: '0.105' }, 'image')
  expect(priceLines(model).map(({ term, text }) => `${term}: ${text}`)).toEqual([
    'Image output: up to $0.105 each',
  ])
})

test('every price of the listing has its line, and a tier its sentence', () => {
  const model = of({
    prompt: '0.000003',
    completion: '0.000015',
    input_cache_read: '0.0000003',
    web_search: '0.0105',
    overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000006', completion: '0.0000225' }],
  })
  expect(priceLines(model).map(({ term, text }) => `${term}: ${text}`)).toEqual([
    'Input: $3.00',
    'read from cache: $0.30',
    'Output, reasoning included: $15.00',
    'Web search: $0.0105 each',
  ])
  expect(tierSentences(model)).toEqual(['Above 200,000 input tokens: $6.00 in, $22.50 out.'])
})
