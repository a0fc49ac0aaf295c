import { describe } from 'vitest'
import type { PriceTable } from '../../vocabulary/offer.ts'
import { NO_MEDIA } from '../../vocabulary/testing/no-media.ts'
import { capped, type HoldRow, testHolds } from './testing/hold-table.ts'
import { offerWith, SAGE, type TestCall, usd } from './testing/offers.ts'

const withMedia = (media: Partial<typeof NO_MEDIA>, textTokens = 600) =>
  capped(0, { media: { ...NO_MEDIA, ...media }, textTokens })
const priced = (prices: Partial<PriceTable>) => ({ offer: offerWith(prices) })
const perImage = priced({ input: usd('0.0000001'), imageInput: usd('0.001264') })
const unknownWindow = { offer: { contextTokens: null } }
const MEDIA: readonly HoldRow[] = [
  // (1,000 + 100,000) × 1.05
  ['a file: the window beside the text', withMedia({ files: 1 }), 106_050],
  // (1,000 × 0.1 + 100,000 × 0.2) × 1.05
  [
    'a file: its pages as images, if their tokens cost more',
    withMedia({ files: 1 }),
    21_105,
    priced({ input: usd('0.0000001'), imageInputToken: usd('0.0000002') }),
  ],
  // (1,000 + 4 × 100,000) × 1.05
  [
    'each file, image by URL and video by URL in full',
    withMedia({ files: 2, imagesByUrl: 1, videosByUrl: 1 }),
    421_050,
  ],
  // (1,000 + 1,000,000) × 1.05
  [
    'a million tokens if the window is unknown',
    withMedia({ imagesByUrl: 1 }),
    1_051_050,
    unknownWindow,
  ],
  // (2,000,000 + 2,000,000) × 1.05
  [
    'the text estimate if it is above an unknown window',
    withMedia({ files: 1 }, 1_999_600),
    4_200_000,
    unknownWindow,
  ],
  // (1,000 + 2 × 2,000) × 1.05
  ['an inline image: 2,000 tokens beside its text', withMedia({ imagesInline: 2 }), 5_250],
  // 1,000 × 0.1 + 2,000 × 0.1 + 1,264 = 1,564 × 1.05 = 1,642.2
  [
    'an inline image: its own price beside its tokens',
    withMedia({ imagesInline: 1 }),
    1_643,
    perImage,
  ],
  // 100 + 100,000 × 0.1 + 1,264 = 11,364 × 1.05 = 11,932.2
  [
    'an image by URL: its own price beside the window',
    withMedia({ imagesByUrl: 1 }),
    11_933,
    perImage,
  ],
  [
    'an inline video: the window, because few bytes show much',
    withMedia({ videosInline: 1 }),
    105_000,
  ],
  ['media count for the tier of the prompt', withMedia({ files: 1 }), 6_306_300, { offer: SAGE }],
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
  [
    'at least $0.20, without the fee',
    images(1),
    200_000,
    priced({ imageOutput: usd('0.00000958') }),
  ],
  // 8,192 × 40 = 327,680
  [
    'the image-output tokens if they are higher',
    images(1),
    327_680,
    priced({ imageOutput: usd('0.00004') }),
  ],
  [
    'with the price of the request, for each image',
    images(10),
    9_930_400,
    priced({ imageInput: usd('0.35'), imageOutput: usd('0.00012'), request: usd('0.01') }),
  ],
  [
    'the price of an input image if it is higher',
    images(2),
    700_000,
    priced({ imageInput: usd('0.35') }),
  ],
  ['the flat price if it is higher', images(1), 240_000, priced({ imageFlat: usd('0.24') })],
  [
    'six times the token price of a more expensive tier',
    images(1, { priorityTier: true }),
    1_966_080,
    priced({ imageOutput: usd('0.00004') }),
  ],
  // 200,000 + 100,000 × 1 × 1.05
  [
    'with the window for a reference image by URL, and the fee on that',
    images(1, { media: { ...NO_MEDIA, imagesByUrl: 1 } }),
    305_000,
  ],
]

describe('an image hold', () => {
  testHolds(IMAGES)
})
