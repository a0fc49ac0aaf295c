import { describe } from 'vitest'
import { NO_MEDIA } from '../../vocabulary/call.ts'
import { type HoldRow, PLAIN, plainWith, testHolds } from './testing/hold-table.ts'
import { offerWith, SAGE, type TestCall, usd } from './testing/offers.ts'

const withMedia = (media: Partial<typeof NO_MEDIA>, textTokens = 600): Partial<TestCall> => ({
  outputCapTokens: 0,
  media: { ...NO_MEDIA, ...media },
  textTokens,
})
const perImage = offerWith({ input: usd('0.0000001'), imageInput: usd('0.001264') })
const MEDIA: readonly HoldRow[] = [
  // (1,000 + 100,000) × 1.05
  {
    name: 'a file: the window beside the text',
    call: withMedia({ files: 1 }),
    offer: PLAIN,
    neededMicros: 106_050,
  },
  // (1,000 + 4 × 100,000) × 1.05
  {
    name: 'each file, image by URL and video by URL in full',
    call: withMedia({ files: 2, imagesByUrl: 1, videosByUrl: 1 }),
    offer: PLAIN,
    neededMicros: 421_050,
  },
  // (1,000 + 1,000,000) × 1.05
  {
    name: 'a million tokens if the window is unknown',
    call: withMedia({ imagesByUrl: 1 }),
    offer: plainWith({ contextTokens: null }),
    neededMicros: 1_051_050,
  },
  // (2,000,000 + 2,000,000) × 1.05
  {
    name: 'the text estimate if it is above an unknown window',
    call: withMedia({ files: 1 }, 1_999_600),
    offer: plainWith({ contextTokens: null }),
    neededMicros: 4_200_000,
  },
  // (1,000 + 2 × 2,000) × 1.05
  {
    name: 'an inline image: 2,000 tokens beside its text',
    call: withMedia({ imagesInline: 2 }),
    offer: PLAIN,
    neededMicros: 5_250,
  },
  // 1,000 × 0.1 + 1,264 = 1,364 × 1.05 = 1,432.2
  {
    name: 'an inline image: its own price if that is dearer',
    call: withMedia({ imagesInline: 1 }),
    offer: perImage,
    neededMicros: 1_433,
  },
  // 100 + 100,000 × 0.1 = 10,100 × 1.05
  {
    name: 'an image by URL: the window if that is dearer',
    call: withMedia({ imagesByUrl: 1 }),
    offer: perImage,
    neededMicros: 10_605,
  },
  {
    name: 'an inline video: the window, because few bytes show much',
    call: withMedia({ videosInline: 1 }),
    offer: PLAIN,
    neededMicros: 105_000,
  },
  {
    name: 'media count for the tier of the prompt',
    call: withMedia({ files: 1 }),
    offer: SAGE,
    neededMicros: 6_306_300,
  },
]

describe('files, images and videos', () => {
  testHolds(MEDIA)
})

const images = (completions: number, fields: Partial<TestCall> = {}): Partial<TestCall> => ({
  endpoint: 'images',
  completions,
  outputKinds: { image: true, audio: false },
  ...fields,
})
const IMAGES: readonly HoldRow[] = [
  // 8,192 × 9.58 micro-dollars = 78,479
  {
    name: 'at least $0.20, without the fee',
    call: images(1),
    offer: offerWith({ imageOutput: usd('0.00000958') }),
    neededMicros: 200_000,
  },
  // 8,192 × 40 = 327,680
  {
    name: 'the image-output tokens if they are dearer',
    call: images(1),
    offer: offerWith({ imageOutput: usd('0.00004') }),
    neededMicros: 327_680,
  },
  {
    name: 'with the price of the request, for each image',
    call: images(10),
    offer: offerWith({
      imageInput: usd('0.35'),
      imageOutput: usd('0.00012'),
      request: usd('0.01'),
    }),
    neededMicros: 9_930_400,
  },
  {
    name: 'the price of an input image if it is dearer',
    call: images(2),
    offer: offerWith({ imageInput: usd('0.35') }),
    neededMicros: 700_000,
  },
  {
    name: 'the flat price if it is dearer',
    call: images(1),
    offer: offerWith({ imageFlat: usd('0.24') }),
    neededMicros: 240_000,
  },
  {
    name: 'six times the token price of a dearer tier',
    call: images(1, { priorityTier: true }),
    offer: offerWith({ imageOutput: usd('0.00004') }),
    neededMicros: 1_966_080,
  },
  // 200,000 + 100,000 × 1 × 1.05
  {
    name: 'with the window for a reference image by URL, and the fee on that',
    call: images(1, { media: { ...NO_MEDIA, imagesByUrl: 1 } }),
    offer: PLAIN,
    neededMicros: 305_000,
  },
]

describe('an image hold', () => {
  testHolds(IMAGES)
})
