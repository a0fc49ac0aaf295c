import { describe, expect, test } from 'vitest'
import { surveyBody } from './media.ts'
import { bodyOf } from './testing/exchange.ts'

const PNG = 'data:image/png;base64,iVBORw0KGgo='

const said = (role: string, ...content: unknown[]) => ({ messages: [{ role, content }] })

describe('an inline image counts as an image only where providers read parts', () => {
  const part = { type: 'image_url', image_url: { url: PNG } }
  const placesOf = (source: object) =>
    surveyBody(bodyOf({ ...source }).root).inlineImages.map(({ isReadAsImage }) => isReadAsImage)

  test.each<[string, object]>([
    ['content', said('user', part)],
    ['the result of a tool', said('user', { type: 'tool_result', content: [part] })],
    ['a document', said('user', { source: { type: 'content', content: [part] } })],
    ['a picture that was drawn before', { messages: [{ role: 'assistant', images: [part] }] }],
    ['an item', { input: [part, { type: 'function_call_output', output: [part] }] }],
  ])('%s', (_, source) => {
    expect(new Set(placesOf(source))).toEqual(new Set([true]))
  })

  test.each<[string, object]>([
    ['reasoning', { messages: [{ role: 'assistant', reasoning_content: [part] }] }],
    ['the details of reasoning', { messages: [{ role: 'assistant', reasoning_details: [part] }] }],
    ['a name', { messages: [{ role: 'user', name: part }] }],
    ['a call', { messages: [{ role: 'assistant', tool_calls: [{ function: { name: part } }] }] }],
    ['the text of a part', said('user', { type: 'text', text: part })],
    ['the arguments of a call', { input: [{ type: 'function_call', arguments: part }] }],
    ['no message', { documents: [part] }],
  ])('and text too elsewhere: %s', (_, source) => {
    expect(new Set(placesOf(source))).toEqual(new Set([false]))
  })
})
