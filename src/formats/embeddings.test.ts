import { describe, expect, test } from 'vitest'
import { embeddings } from './embeddings.ts'
import { callOf, checkCall, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/embed-small', input: 'hello' }

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(embeddings, { ...base, ...members })
}

describe('input', () => {
  test.each([
    ['hello'],
    [''],
    [[]],
    [['a', 'b']],
    [[15339, 1917]],
    [[[15339, 1917], [123]]],
    [[{ content: [{ type: 'text', text: 'q' }] }]],
  ])('%j is accepted', (input) => {
    expect(callWith({ input })).toMatchObject({
      rules: embeddings.rules,
      stream: false,
      outputCapTokens: null,
      completions: 1,
    })
  })

  test.each([
    [undefined, 'input'],
    [null, 'input'],
    [7, 'input'],
    [{ content: [] }, 'input'],
    [['a', 7], 'input[1]'],
    [[{}], 'input[0]'],
    [[{ content: 'a' }], 'input[0]'],
    [[[1], [null]], 'input[1]'],
  ])('%j is refused at %s', (input, param) => {
    expect(refusalOf(() => callWith({ input }))).toEqual({ code: 'invalid_parameter', param })
  })

  test('parts count, and a file is refused for a model that reads none', () => {
    const call = callWith({
      input: [
        {
          content: [
            { type: 'text', text: 'q' },
            { type: 'image_url', image_url: { url: 'https://example.com/x.png' } },
            { type: 'input_file', input_file: { data: 'JVBERi0xLjQ=', format: 'pdf' } },
            { type: 'input_video', input_video: { data: 'https://example.com/v.mp4' } },
          ],
        },
      ],
    })
    expect(call.media).toEqual({
      files: 1,
      firstFilePath: 'input[0].content[2]',
      imagesInline: 0,
      imagesByUrl: 1,
      videosInline: 0,
      videosByUrl: 1,
    })
    expect(
      refusalOf(() => checkCall(embeddings, call, { outputModalities: new Set(['embeddings']) })),
    ).toEqual({ code: 'unsupported_parameter', param: 'input[0].content[2]' })
  })
})

test('a body that requests a stream is not streamed', () => {
  expect(callWith({ stream: true }).stream).toBe(false)
})
