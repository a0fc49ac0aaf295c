import { expect, test } from 'vitest'
import { chat } from './chat.ts'
import { sizeCall, sizeCallInParts } from './format.ts'
import { bodyOf, DEFAULT_PUBLIC_NAMES } from './testing/exchange.ts'
import { png } from './testing/image-bytes.ts'

const MIB = 1024 * 1024

/** Text, an image, text that claims to be one, and a prediction. */
function unsizedCall(bytes: number) {
  const url = `data:image/png;base64,${png({ width: 9, height: 9 }, 60_000).toString('base64')}`
  const fakeUrl = `data:image/png;base64,${'QUJD'.repeat(bytes / 4)}`
  const content = [
    { type: 'text', text: 'ask the model '.repeat(bytes / 14) },
    { type: 'image_url', image_url: { url } },
    { type: 'image_url', image_url: { url: fakeUrl } },
  ]
  const messages = [{ role: 'user', content }]
  const prediction = { type: 'content', content: 'I think that '.repeat(bytes / 13) }
  return chat.readCall(
    bodyOf({ model: 'acme/sage-pro', messages, prediction }),
    DEFAULT_PUBLIC_NAMES,
  )
}

test.each([1_000, 3 * MIB])(
  'a call of %d bytes of each kind of text has the same size in parts as in one step',
  async (bytes) => {
    const unsized = unsizedCall(bytes)
    let rests = 0
    const inParts = await sizeCallInParts(unsized, async () => {
      rests++
    })
    expect(inParts).toEqual(sizeCall(unsized))
    // Text, image and prediction count alike; the prediction is text of the body as well.
    expect(rests).toBe(Math.floor((4 * bytes) / MIB))
  },
)
