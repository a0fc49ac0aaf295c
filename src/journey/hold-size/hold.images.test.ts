import { describe, expect, test } from 'vitest'
import { chat } from '../../formats/chat.ts'
import { sizeCall } from '../../formats/format.ts'
import { messages } from '../../formats/messages.ts'
import { bodyOf, DEFAULT_PUBLIC_NAMES } from '../../formats/testing/exchange.ts'
import { jpeg, png } from '../../formats/testing/image-bytes.ts'
import { sizeHold } from './hold.ts'
import { offerWith, usd } from './testing/offers.ts'

/** Holds of inline images. At a micro-dollar for each token, the hold before the fee is the number of tokens. */

const WINDOW = 1_000_000
const offerOf = (modelId: string, contextTokens: number | null = WINDOW) =>
  offerWith({ input: usd('0.000001') }, { modelId, contextTokens })
const TEXT_ONLY = { inputModalities: new Set(['text']) }

/** The tokens that a body is held for. */
function heldTokens(
  source: string | object,
  modelId: string,
  contextTokens: number | null = WINDOW,
): number {
  const body = bodyOf(typeof source === 'string' ? source : { ...source })
  const call = sizeCall(chat.readCall(body, DEFAULT_PUBLIC_NAMES))
  return Math.round(sizeHold(call, offerOf(modelId, contextTokens)).neededMicros / 1.05)
}

const asking = (url: string, text = 'hello') => ({
  model: 'x',
  max_tokens: 1,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ],
})
const dataUrl = (bytes: Buffer, type = 'image/png') =>
  `data:${type};base64,${bytes.toString('base64')}`

/** The tokens that the image adds to a body with nothing but its prefix. */
const imageAdds = (bytes: Buffer, modelId: string, type = 'image/png') =>
  heldTokens(asking(dataUrl(bytes, type)), modelId) -
  heldTokens(
    {
      ...asking(''),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hello' },
            { type: 'image_uri', image_url: { uri: `data:${type};base64,` } },
          ],
        },
      ],
    },
    modelId,
  )

const NEARLY = 10
const MEGABYTE = 1_000_000

describe('an inline image', () => {
  test.each<[string, number, number, number]>([
    // 37 × 37 patches of 28 pixels make 1,369: the least.
    ['anthropic/claude-opus-5', 1_024, 1_024, 2_000],
    // 69 × 39 patches = 2,691; 1,920 × 1,080 / 750 = 2,764.8
    ['anthropic/claude-opus-5', 1_920, 1_080, 2_765],
    ['anthropic/claude-opus-5', 8_000, 8_000, 4_784],
    ['google/gemini-3-pro', 640, 480, 2_240],
    // 6 × 4 tiles of 768 pixels = 24 × 258
    ['google/gemini-3-pro', 4_032, 3_024, 6_192],
    // 126 × 95 patches of 32 pixels, 1.2 each
    ['openai/gpt-6', 4_032, 3_024, 14_364],
    // 32 × 32 patches, 2.46 each
    ['openai/gpt-6', 1_024, 1_024, 2_520],
    // 2,833 + 4 × 5,667
    ['openai/gpt-4o-mini-2024-07-18', 1_024, 1_024, 25_501],
    // 69 × 69 patches of 28 pixels, and two
    ['qwen/qwen3-vl', 1_920, 1_920, 4_763],
    // (9 × 7 + 1) × 256
    ['x-ai/grok-5', 4_032, 3_024, 16_384],
    ['mistralai/pixtral-large', 4_032, 3_024, 4_160],
    ['meta-llama/llama-4', 100, 100, 6_404],
    // The most expensive row: gpt-4o-mini.
    ['acme/unheard-of', 1_024, 1_024, 25_501],
  ])('of %s, %d × %d: %d tokens in place of its text', (modelId, width, height, tokens) => {
    const added = imageAdds(png({ width, height }, MEGABYTE), modelId)
    expect(Math.abs(added - tokens)).toBeLessThan(NEARLY)
  })

  test('of a model whose author is unknown counts as the most expensive row, whatever its catalog ID', () => {
    const body = bodyOf(asking(dataUrl(png({ width: 1_024, height: 1_024 }, MEGABYTE))))
    const call = sizeCall(chat.readCall(body, DEFAULT_PUBLIC_NAMES))
    const held = (modelId: string, authoredId: string | null) =>
      sizeHold(call, { ...offerOf(modelId), authoredId }).neededMicros
    const known = held('anthropic/claude', 'anthropic/claude')
    expect(held('anthropic/claude', null) - known).toBeGreaterThan(20_000)
    expect(held('work/claude', 'anthropic/claude')).toBe(known)
  })

  test('without a readable header counts as the most expensive row, or as its text if that is more', () => {
    const short = imageAdds(Buffer.alloc(100, 'BM'), 'anthropic/claude-opus-5', 'image/bmp')
    expect(Math.abs(short - 83_200)).toBeLessThan(NEARLY + 200)
    const long = imageAdds(
      Buffer.alloc(300_000, 'Text that is no image. '),
      'anthropic/claude-opus-5',
    )
    expect(long).toBeGreaterThan(250_000)
  })

  test('never fills more than the context window', () => {
    const tokens = heldTokens(
      asking(dataUrl(png({ width: 8_000, height: 8_000 }))),
      'acme/unheard-of',
      8_000,
    )
    expect(tokens).toBeLessThan(8_000 + 1_000)
  })

  test('is sized in a block of messages too, with or without escaped slashes', () => {
    const data = jpeg({ width: 1_920, height: 1_080 }, { metadataBytes: MEGABYTE }).toString(
      'base64',
    )
    const source = { type: 'base64', media_type: 'image/jpeg', data }
    const body = {
      model: 'x',
      max_tokens: 1,
      messages: [{ role: 'user', content: [{ type: 'image', source }] }],
    }
    for (const text of [JSON.stringify(body), JSON.stringify(body).replaceAll('/', '\\/')]) {
      const call = sizeCall(messages.readCall(bodyOf(text), DEFAULT_PUBLIC_NAMES))
      expect(call.inlineImages).toEqual([
        {
          pixels: { width: 1_920, height: 1_080 },
          textTokens: 0,
          leftOutBytes: text.includes('\\/') ? data.replaceAll('/', '\\/').length : data.length,
        },
      ])
      expect(call.textTokens).toBeLessThan(200)
    }
  })

  test('is not mistaken for another name with the same beginning, nor for the same name in a text', () => {
    const [first, second] = [
      png({ width: 50, height: 50 }, 3_000),
      png({ width: 50, height: 50 }, 6_000),
    ]
    const url = dataUrl(first)
    const alone = heldTokens(asking(url), 'anthropic/claude-opus-5')
    const quoted = heldTokens(asking(url, dataUrl(second)), 'anthropic/claude-opus-5')
    expect(quoted - alone).toBeGreaterThan(6_000)
    expect(heldTokens(asking(url, url), 'anthropic/claude-opus-5') - alone).toBeGreaterThan(2_500)
  })
})

describe('text inside an image block is counted', () => {
  const text = 'Tell me a story. '.repeat(20_000)
  const plain = heldTokens(
    { model: 'x', max_tokens: 1, messages: [{ role: 'user', content: text }] },
    'anthropic/claude-opus-5',
  )

  test.each<[string, object]>([
    ['that is not base64', asking(`data:image/png;base64,${text}`)],
    ['after a header', asking(`${dataUrl(png({ width: 9, height: 9 }))}${text}`)],
    [
      'before its bytes',
      asking(`data:image/png;${text};base64,${png({ width: 9, height: 9 }).toString('base64')}`),
    ],
    ['in another encoding', asking(`data:image/svg+xml,${text}`)],
    [
      'that is given twice',
      {
        model: 'x',
        max_tokens: 1,
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'image',
                image_url: dataUrl(png({ width: 9, height: 9 })),
                source: { data: `iVBORw0KGgo${text.replaceAll(/[ .]/g, '')}` },
              },
            ],
          },
        ],
      },
    ],
  ])('%s', (_, body) => {
    expect(heldTokens(body, 'anthropic/claude-opus-5')).toBeGreaterThan(plain * 0.7)
  })

  test.each<[string, (image: object) => object]>([
    [
      'among the examples of a tool',
      (image) => ({
        tools: [{ type: 'function', function: { name: 'f' }, input_examples: [image] }],
      }),
    ],
    [
      'as the arguments of a call',
      (image) => ({
        messages: [
          { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: image } }] },
        ],
      }),
    ],
    ['in a field of no format', (image) => ({ more: [image] })],
  ])('%s', (_, place) => {
    const bytes = png({ width: 9, height: 9 }, 60_000)
    const image = { type: 'image_url', image_url: { url: dataUrl(bytes) } }
    const body = { model: 'x', max_tokens: 1, messages: [], ...place(image) }
    expect(heldTokens(body, 'anthropic/claude-opus-5')).toBeGreaterThan(60_000)
  })

  test('for a model that takes no images', () => {
    const body = bodyOf(asking(dataUrl(png({ width: 9, height: 9 }, 60_000))))
    const offer = { ...offerOf('anthropic/claude-opus-5'), ...TEXT_ONLY }
    const { neededMicros } = sizeHold(sizeCall(chat.readCall(body, DEFAULT_PUBLIC_NAMES)), offer)
    expect(neededMicros / 1.05).toBeGreaterThan(80_000)
  })
})
