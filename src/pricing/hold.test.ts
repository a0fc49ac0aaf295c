import { describe, expect, test } from 'vitest'
import { type Call, NO_MEDIA } from '../vocabulary/call.ts'
import { micros } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import { capForGrant, sizeHold } from './hold.ts'
import { callWith, OPEN, offerWith, SAGE, usd } from './testing/offers.ts'

// A text of 600 tokens and the 400 of a template: 1,000 tokens of prompt in every call below.
const SEARCHING = { clientTools: 0, serverTools: true, steps: 30 }

interface Row {
  readonly name: string
  readonly call: Partial<Call>
  readonly offer: Offer
  readonly needed: number
  /** Left out where it equals `needed`. */
  readonly least?: number
  /** Left out where no cap is sent. */
  readonly cap?: number
}

const one = offerWith({ input: usd('0.000001'), output: usd('0.000002') })
const two = (rest: Partial<Offer>) => ({ ...one, ...rest })

function holds(rows: readonly Row[]): void {
  test.each(rows)('$name', ({ call, offer, needed, least, cap }) => {
    const size = sizeHold(callWith(call), offer)
    expect({
      needed: size.neededMicros,
      least: size.leastMicros,
      cap: size.capTokens,
    }).toEqual({ needed, least: least ?? needed, cap: cap ?? null })
  })
}

describe('the output cap of chat and legacy completions', () => {
  holds([
    // (1,000 × 1 + 500 × 2) micro-dollars × 1.05
    {
      name: 'set by the client: held and left as it is',
      call: { outputCapTokens: 500 },
      offer: one,
      needed: 2_100,
    },
    // (1,000 + 8,000 × 2) × 1.05
    {
      name: 'set above the maximum: held at the maximum',
      call: { outputCapTokens: 9_999 },
      offer: one,
      needed: 17_850,
    },
    {
      name: 'set above the window where no maximum is listed: held at the window',
      call: { outputCapTokens: 999_999 },
      offer: two({ outputTokensMax: null, contextTokens: 50_000 }),
      needed: 106_050,
    },
    {
      name: 'set where neither is known: held as it is',
      call: { outputCapTokens: 999_999 },
      offer: two({ outputTokensMax: null, contextTokens: null }),
      needed: 2_101_048,
    },
    // least: (1,000 + 16 × 2) × 1.05 = 1,083.6, rounded up
    {
      name: 'not set: the maximum, which may be lowered to 16',
      call: {},
      offer: one,
      needed: 17_850,
      least: 1_084,
      cap: 8_000,
    },
    {
      name: 'not set on legacy completions: the same',
      call: { endpoint: 'completions' },
      offer: one,
      needed: 17_850,
      least: 1_084,
      cap: 8_000,
    },
    // (1,000 + 32,768 × 2) × 1.05 = 69,862.8
    {
      name: 'not set where the maximum is higher: 32,768',
      call: {},
      offer: two({ outputTokensMax: 32_769 }),
      needed: 69_863,
      least: 1_084,
      cap: 32_768,
    },
    {
      name: 'not set where no maximum is listed: the window',
      call: {},
      offer: two({ outputTokensMax: null, contextTokens: 20_000 }),
      needed: 43_050,
      least: 1_084,
      cap: 20_000,
    },
    {
      name: 'not set where nothing is known: 32,768',
      call: {},
      offer: two({ outputTokensMax: null, contextTokens: null }),
      needed: 69_863,
      least: 1_084,
      cap: 32_768,
    },
    {
      name: 'not set where the maximum is below 16: the maximum, not lowered',
      call: {},
      offer: two({ outputTokensMax: 10 }),
      needed: 1_071,
      cap: 10,
    },
    {
      name: 'not set where the model ignores caps: its maximum, above 32,768 too, and none is sent',
      call: {},
      offer: two({ outputTokensMax: 40_000, supportedParameters: new Set(['temperature']) }),
      needed: 85_050,
    },
    {
      name: 'set where the model ignores caps: its maximum all the same',
      call: { outputCapTokens: 5 },
      offer: two({ supportedParameters: new Set() }),
      needed: 17_850,
    },
    {
      name: 'not set where the model takes it by the other name: sent',
      call: {},
      offer: two({ supportedParameters: new Set(['max_completion_tokens']) }),
      needed: 17_850,
      least: 1_084,
      cap: 8_000,
    },
    {
      name: 'for each of several completions',
      call: { outputCapTokens: 500, completions: 3 },
      offer: one,
      needed: 4_200,
    },
  ])
})

describe('the output cap of messages and responses', () => {
  holds([
    // (1,000 × 3 + 1,000 × 15) × 1.05
    {
      name: 'messages: held in full',
      call: { endpoint: 'messages', outputCapTokens: 1_000 },
      offer: SAGE,
      needed: 18_900,
    },
    // (3,000 + 64,000 × 15) × 1.05
    {
      name: 'messages: held up to the maximum',
      call: { endpoint: 'messages', outputCapTokens: 70_000 },
      offer: SAGE,
      needed: 1_011_150,
    },
    {
      name: 'messages, not set: the whole maximum, above 32,768 too',
      call: { endpoint: 'messages' },
      offer: SAGE,
      needed: 1_011_150,
    },
    // (1,000 × 0.2 + 2,000 × 0.8) × 1.05
    {
      name: 'messages, no maximum listed: what was set',
      call: { endpoint: 'messages', outputCapTokens: 2_000 },
      offer: OPEN,
      needed: 1_890,
    },
    {
      name: 'responses: held in full',
      call: { endpoint: 'responses', outputCapTokens: 1_000 },
      offer: SAGE,
      needed: 18_900,
    },
    {
      name: 'responses, not set: the whole maximum',
      call: { endpoint: 'responses' },
      offer: SAGE,
      needed: 1_011_150,
    },
  ])

  test.each([
    ['messages', 'max_tokens'],
    ['responses', 'max_output_tokens'],
  ] as const)('%s without %s is refused where the model lists no maximum', (endpoint, param) => {
    const refused = () => sizeHold(callWith({ endpoint }), OPEN)
    expect(refused).toThrow(Problem)
    expect(refused).toThrow(expect.objectContaining({ code: 'output_cap_required', param }))
  })
})

describe('the prompt', () => {
  const capped = { outputCapTokens: 0 }
  holds([
    {
      name: 'text is never held above the window',
      call: { ...capped, textTokens: 500_000 },
      offer: one,
      needed: 105_000,
    },
    {
      name: 'text is held whole where the window is unknown',
      call: { ...capped, textTokens: 499_600 },
      offer: two({ contextTokens: null }),
      needed: 525_000,
    },
    {
      name: 'each prompt of legacy completions has the window to itself',
      call: { ...capped, endpoint: 'completions', textTokens: 500_000, completions: 3 },
      offer: one,
      needed: 315_000,
    },
    // (600 + 400 + 600) × 1.05
    {
      name: 'tools add what the provider says of them',
      call: { ...capped, tools: { clientTools: 1, serverTools: false, steps: 30 } },
      offer: one,
      needed: 1_680,
    },
    {
      name: 'embeddings are held at their text alone',
      call: { endpoint: 'embeddings' },
      offer: one,
      needed: 630,
    },
    {
      name: 'embeddings of many inputs are held above the window',
      call: { endpoint: 'embeddings', textTokens: 500_000 },
      offer: one,
      needed: 525_000,
    },
    // 1,000 × 6 × 1.05: the one-hour write
    {
      name: 'with cache marks every token may be the dearest write',
      call: { ...capped, cacheWrites: true },
      offer: SAGE,
      needed: 6_300,
    },
    {
      name: 'cache reads count where they are dearer than input',
      call: capped,
      offer: offerWith({ input: usd('0.000001'), cacheRead: usd('0.000002') }),
      needed: 2_100,
    },
    {
      name: 'a prompt at the threshold has the lower price',
      call: { ...capped, textTokens: 199_600 },
      offer: SAGE,
      needed: 630_000,
    },
    // 200,001 × 6 × 1.05 = 1,260,006.3
    {
      name: 'a prompt above the threshold has the higher price',
      call: { ...capped, textTokens: 199_601 },
      offer: SAGE,
      needed: 1_260_007,
    },
    // (200,001 × 6 + 100 × 22.5) × 1.05 = 1,262,368.8
    {
      name: 'and its output has the higher price, too',
      call: { outputCapTokens: 100, textTokens: 199_601 },
      offer: SAGE,
      needed: 1_262_369,
    },
    {
      name: 'a priority tier counts token prices twice and others once',
      call: { outputCapTokens: 500, priorityTier: true },
      offer: offerWith({ input: usd('0.000001'), output: usd('0.000002'), request: usd('0.001') }),
      needed: 5_250,
    },
    {
      name: 'the price of the request is added',
      call: capped,
      offer: offerWith({ request: usd('0.018') }),
      needed: 18_900,
    },
  ])
})

describe('files, images and videos', () => {
  const call = (media: Partial<typeof NO_MEDIA>, textTokens = 600): Partial<Call> => ({
    outputCapTokens: 0,
    media: { ...NO_MEDIA, ...media },
    textTokens,
  })
  const perImage = offerWith({ input: usd('0.0000001'), imageInput: usd('0.001264') })
  holds([
    // (1,000 + 100,000) × 1.05
    {
      name: 'a file: the window beside the text',
      call: call({ files: 1 }),
      offer: one,
      needed: 106_050,
    },
    // (1,000 + 4 × 100,000) × 1.05
    {
      name: 'each file, image by URL and video by URL in full',
      call: call({ files: 2, imagesByUrl: 1, videosByUrl: 1 }),
      offer: one,
      needed: 421_050,
    },
    // (1,000 + 1,000,000) × 1.05
    {
      name: 'a million tokens where the window is unknown',
      call: call({ imagesByUrl: 1 }),
      offer: two({ contextTokens: null }),
      needed: 1_051_050,
    },
    // (2,000,000 + 2,000,000) × 1.05
    {
      name: 'the text estimate where it is larger than an unknown window',
      call: call({ files: 1 }, 1_999_600),
      offer: two({ contextTokens: null }),
      needed: 4_200_000,
    },
    // (1,000 + 2 × 2,000) × 1.05
    {
      name: 'an inline image: 2,000 tokens beside its text',
      call: call({ imagesInline: 2 }),
      offer: one,
      needed: 5_250,
    },
    // 1,000 × 0.1 + 1,264 = 1,364 × 1.05 = 1,432.2
    {
      name: 'an inline image: its own price where that is dearer',
      call: call({ imagesInline: 1 }),
      offer: perImage,
      needed: 1_433,
    },
    // 100 + 100,000 × 0.1 = 10,100 × 1.05
    {
      name: 'an image by URL: the window where that is dearer',
      call: call({ imagesByUrl: 1 }),
      offer: perImage,
      needed: 10_605,
    },
    {
      name: 'an inline video: the window, because few bytes show much',
      call: call({ videosInline: 1 }),
      offer: one,
      needed: 105_000,
    },
    {
      name: 'media decide the tier of the prompt',
      call: call({ files: 1 }),
      offer: SAGE,
      needed: 6_306_300,
    },
  ])
})

describe('the dearest output', () => {
  const dear = offerWith({
    output: usd('0.000001'),
    reasoning: usd('0.000002'),
    imageOutput: usd('0.00003'),
    audioOutput: usd('0.00004'),
  })
  const call = (outputKinds: Partial<Call['outputKinds']>): Partial<Call> => ({
    outputCapTokens: 1_000,
    outputKinds: { image: false, audio: false, ...outputKinds },
  })
  holds([
    { name: 'reasoning, which any answer may have', call: call({}), offer: dear, needed: 2_100 },
    {
      name: 'images, where they are asked for',
      call: call({ image: true }),
      offer: dear,
      needed: 31_500,
    },
    {
      name: 'audio, where it is asked for',
      call: call({ audio: true }),
      offer: dear,
      needed: 42_000,
    },
    {
      name: 'images, where the model makes them unasked',
      call: call({}),
      offer: { ...dear, outputModalities: new Set(['text', 'image']) },
      needed: 31_500,
    },
  ])
})

describe('tools that the provider runs', () => {
  // A prompt: 600 + 400 + 600 = 1,600 tokens. A step: a search at the upstream's dearest, 30,000
  // micro-dollars, and 1,600 + 8,000 tokens.
  const call = (fields: Partial<Call>): Partial<Call> => ({
    tools: SEARCHING,
    outputCapTokens: 500,
    ...fields,
  })
  holds([
    // 1,600 + 30 × (30,000 + 9,600) + 500 × 2 = 1,190,600 × 1.05
    { name: '30 steps', call: call({}), offer: one, needed: 1_250_130 },
    // 1,600 + 2 × 39,600 + 1,000 = 81,800 × 1.05
    {
      name: 'as many steps as the request allows',
      call: call({ tools: { ...SEARCHING, steps: 2 } }),
      offer: one,
      needed: 85_890,
    },
    // 1,600 + 30 × (50,000 + 9,600) + 1,000
    {
      name: 'the search price of the model where it is dearer',
      call: call({}),
      offer: offerWith({ input: usd('0.000001'), output: usd('0.000002'), search: usd('0.05') }),
      needed: 1_880_130,
    },
    // 1,190,600 + 7,500 × 2: the cap is the whole maximum, 8,000
    {
      name: 'the cap is sent and never lowered',
      call: call({ outputCapTokens: null }),
      offer: one,
      needed: 1_265_880,
      cap: 8_000,
    },
  ])
})

describe('an image hold', () => {
  const images = (completions: number, fields: Partial<Call> = {}): Partial<Call> => ({
    endpoint: 'images',
    completions,
    outputKinds: { image: true, audio: false },
    ...fields,
  })
  holds([
    // 8,192 × 9.58 micro-dollars = 78,479
    {
      name: 'at least $0.20, without the fee',
      call: images(1),
      offer: offerWith({ imageOutput: usd('0.00000958') }),
      needed: 200_000,
    },
    // 8,192 × 40 = 327,680
    {
      name: 'the image-output tokens where they are dearer',
      call: images(1),
      offer: offerWith({ imageOutput: usd('0.00004') }),
      needed: 327_680,
    },
    {
      name: 'with the price of the request, for each image',
      call: images(10),
      offer: offerWith({
        imageInput: usd('0.35'),
        imageOutput: usd('0.00012'),
        request: usd('0.01'),
      }),
      needed: 9_930_400,
    },
    {
      name: 'the price of an input image where it is dearer',
      call: images(2),
      offer: offerWith({ imageInput: usd('0.35') }),
      needed: 700_000,
    },
    {
      name: 'the flat price where it is dearer',
      call: images(1),
      offer: offerWith({ imageFlat: usd('0.24') }),
      needed: 240_000,
    },
    {
      name: 'twice the token price of a priority tier',
      call: images(1, { priorityTier: true }),
      offer: offerWith({ imageOutput: usd('0.00004') }),
      needed: 655_360,
    },
    // 200,000 + 100,000 × 1 × 1.05
    {
      name: 'with the window for a reference image by URL, and the fee on that',
      call: images(1, { media: { ...NO_MEDIA, imagesByUrl: 1 } }),
      offer: one,
      needed: 305_000,
    },
  ])
})

describe('the cap that a grant pays for', () => {
  const size = sizeHold(callWith(), one)

  test('is the whole cap where the whole need is granted', () => {
    expect(capForGrant(size, size.neededMicros)).toBe(8_000)
  })

  test('is 16 where the least is granted', () => {
    expect(capForGrant(size, size.leastMicros)).toBe(16)
  })

  test('costs no more than the grant, and one more token would', () => {
    const cost = (cap: number) => Math.ceil((1_000 + cap * 2) * 1.05)
    for (
      let granted = size.leastMicros;
      granted < size.neededMicros;
      granted = micros(granted + 97)
    ) {
      const cap = capForGrant(size, granted) ?? 0
      expect(cost(cap)).toBeLessThanOrEqual(granted)
      expect(cost(cap + 1)).toBeGreaterThan(granted)
    }
  })

  test('is none where the body keeps its own', () => {
    const own = sizeHold(callWith({ outputCapTokens: 500 }), one)
    expect(capForGrant(own, own.neededMicros)).toBeNull()
    const messages = sizeHold(callWith({ endpoint: 'messages' }), one)
    expect(capForGrant(messages, micros(1))).toBeNull()
  })

  test('is the whole cap of a model that costs nothing', () => {
    const free = sizeHold(callWith(), offerWith({}))
    expect(free).toMatchObject({ neededMicros: 0, leastMicros: 0 })
    expect(capForGrant(free, micros(0))).toBe(8_000)
  })

  test('does not exist for a grant below the least', () => {
    expect(() => capForGrant(size, micros(size.leastMicros - 1))).toThrow(RangeError)
  })
})
