import { describe, expect, test } from 'vitest'
import { images } from './images.ts'
import { callOf, checkCall, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/draw-one', prompt: 'a red panda' }
const INLINE = 'data:image/png;base64,iVBORw0KGgo='
const IMAGE_URL = 'https://example.com/p.jpg'

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(images, { ...base, ...members })
}

test.each([
  [{}, 1],
  [{ n: null }, 1],
  [{ n: 1 }, 1],
  [{ n: 10 }, 10],
])('%j requests %j images', (members, count) => {
  expect(callWith(members).completions).toBe(count)
})

test('a number written as 3.0 is a whole number', () => {
  expect(callOf(images, '{"model":"a/b","prompt":"x","n":3.0}').completions).toBe(3)
})

test.each([[0], [11], [-1], [1.5], ['2'], [true], [[2]], [{}]])('n of %j is refused', (n) => {
  expect(refusalOf(() => callWith({ n }))).toEqual({ code: 'invalid_parameter', param: 'n' })
})

test.each([[undefined], [null], [7], [['a red panda']]])('a prompt of %j is refused', (prompt) => {
  expect(refusalOf(() => callWith({ prompt }))).toEqual({
    code: 'invalid_parameter',
    param: 'prompt',
  })
})

test('a call is held as images, without a cap, and streams only on request', () => {
  expect(callWith({ max_tokens: 5 })).toMatchObject({
    rules: images.rules,
    stream: false,
    outputCapTokens: null,
    outputKinds: { image: true, audio: false },
  })
  expect(callWith({ stream: true }).stream).toBe(true)
  expect(refusalOf(() => callWith({ stream: 'true' })).param).toBe('stream')
})

describe('images in the body', () => {
  const part = (url: string) => ({ type: 'image_url', image_url: { url } })
  test.each([
    [{ input_references: [part(IMAGE_URL), part(INLINE)] }, { imagesByUrl: 1, imagesInline: 1 }],
    [{ input_references: [IMAGE_URL, { url: INLINE }] }, { imagesByUrl: 1, imagesInline: 1 }],
    [{ input_references: [{ image_url: IMAGE_URL }] }, { imagesByUrl: 1, imagesInline: 0 }],
    [{ image: IMAGE_URL }, { imagesByUrl: 1, imagesInline: 0 }],
    [
      { image: INLINE, mask: IMAGE_URL },
      { imagesByUrl: 1, imagesInline: 1 },
    ],
    [{ images: [IMAGE_URL, IMAGE_URL, INLINE] }, { imagesByUrl: 2, imagesInline: 1 }],
    [{ image: { url: IMAGE_URL } }, { imagesByUrl: 1, imagesInline: 0 }],
    [
      { image: null, images: [], mask: 7 },
      { imagesByUrl: 0, imagesInline: 0 },
    ],
    [{ prompt: `draw ${IMAGE_URL}` }, { imagesByUrl: 0, imagesInline: 0 }],
  ])('%j', (members, counts) => {
    expect(callWith(members).media).toMatchObject(counts)
  })
})

test.each([
  [['image'], null],
  [['image', 'text'], null],
  [['text'], 'unsupported_model'],
  [['embeddings'], 'unsupported_model'],
])('a model with the outputs %j is refused as %j', (outputs, code) => {
  const check = () => checkCall(images, callWith({}), { outputModalities: new Set(outputs) })
  if (code === null) expect(check).not.toThrow()
  else expect(refusalOf(check)).toEqual({ code, param: 'model' })
})
