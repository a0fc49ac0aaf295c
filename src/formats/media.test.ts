import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/testing/no-media.ts'
import { surveyBody } from './media.ts'
import { bodyOf, refusalOf } from './testing/exchange.ts'

const WEB = 'https://example.com/a'
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const BARE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const said = (role: string, ...content: unknown[]) => ({ messages: [{ role, content }] })

function mediaOf(source: object) {
  return surveyBody(bodyOf({ ...source }).root).media
}

const item = (...input: unknown[]) => ({ input })
const user = (part: object) => said('user', part)
const content = (part: object) => item({ content: [part] })

const imageAt = (url: unknown) => ({ type: 'image_url', image_url: { url } })
const videoAt = (url: string) => ({ type: 'video_url', video_url: { url } })
const image = (source: object) => ({ type: 'image', source })
const LINKED = image({ type: 'url', url: WEB })

/** Bodies by what they are. */
type Bodies = Readonly<Record<string, object>>

const IMAGES_INLINE: Bodies = {
  'chat, inline': user(imageAt(PNG)),
  'chat, in capitals': user({ type: 'image_url', image_url: 'DATA:image/png;base64,AA==' }),
  'chat, of an assistant message': said('assistant', imageAt(PNG)),
  'chat, echoed': { messages: [{ role: 'assistant', images: [imageAt(PNG)] }] },
  'messages, inline': user(image({ type: 'base64', media_type: 'image/png', data: BARE })),
  'responses, inline': content({ type: 'input_image', image_url: PNG }),
  'responses, of what an agent said': item({
    type: 'agent_message',
    content: [{ type: 'input_image', image_url: PNG }],
  }),
  "messages, of a server tool's result": user({
    type: 'mcp_tool_result',
    content: [image({ type: 'base64', data: BARE })],
  }),
  'responses, of a screen': item({
    type: 'computer_call_output',
    output: { type: 'computer_screenshot', image_url: PNG },
  }),
  'responses, generated': item({ type: 'image_generation_call', result: BARE }),
}

const IMAGES_BY_URL: Bodies = {
  'chat, by URL': user(imageAt(WEB)),
  'chat, as a string': user({ type: 'image_url', image_url: WEB }),
  'chat, in a store': user({ type: 'image_url', image_url: 'gs://bucket/a' }),
  'chat, of a system message': said('system', imageAt(WEB)),
  'chat, of a tool message': said('tool', imageAt(WEB)),
  'chat, echoed without a type': {
    messages: [{ role: 'assistant', images: [{ image_url: { url: WEB } }] }],
  },
  'chat, of a prediction': { prediction: { type: 'content', content: [imageAt(WEB)] } },
  'chat, of an unknown type': user({ ...imageAt(WEB), type: 'picture' }),
  'chat, of a type of null': user({ ...imageAt(WEB), type: null }),
  'messages, by URL': user(LINKED),
  'messages, by id': user(image({ type: 'file', file_id: 'file_1' })),
  'messages, of a tool result': user({ type: 'tool_result', content: [LINKED] }),
  'messages, of a system block': { system: [LINKED] },
  'responses, by URL': content({ type: 'input_image', image_url: WEB }),
  'responses, by id': content({ type: 'input_image', file_id: 'file1' }),
  'responses, by id beside bytes': item({ type: 'input_image', image_url: PNG, file_id: 'file1' }),
  'responses, of a function': item({
    type: 'function_call_output',
    output: [{ type: 'input_image', image_url: WEB }],
  }),
  'responses, of a screen by id': item({
    type: 'computer_call_output',
    output: { type: 'computer_screenshot', file_id: 'f_1' },
  }),
  'responses, of an interpreter': item({
    type: 'code_interpreter_call',
    outputs: [{ type: 'image', url: WEB }],
  }),
  'responses, generated and stored': item({
    type: 'image_generation_call',
    id: 'ig_1',
    result: null,
  }),
  'responses, of a variable': {
    prompt: { variables: { a: { type: 'input_image', image_url: WEB } } },
  },
  'in two places, one of them a URL': user({ ...LINKED, image_url: PNG }),
  'with two addresses, one of them a URL': user(image({ type: 'base64', data: BARE, url: WEB })),
  'that is nowhere': user({ type: 'image' }),
  'with an address of the wrong type': user(imageAt(7)),
}

const VIDEOS_INLINE: Bodies = {
  'chat, inline': user(videoAt('data:video/mp4;base64,AAAA')),
}

const VIDEOS_BY_URL: Bodies = {
  'chat, by URL': user(videoAt(WEB)),
  'chat, older': user({ type: 'input_video', input_video: { video_url: { url: WEB } } }),
  'embeddings, URL as data': content({
    type: 'input_video',
    input_video: { data: WEB, format: 'mp4' },
  }),
  responses: content({ type: 'input_video', video_url: WEB }),
  'without a type': user({ video_url: { url: WEB } }),
}

const FIRST = 'messages[0].content[0]'
const FILES: Bodies = {
  'chat, inline': user({ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }),
  'chat, by URL': said('assistant', { type: 'file', file: { file_data: WEB } }),
  'chat, by id': said('tool', { type: 'file', file: { file_id: 'file-1' } }),
  'chat, by id alone': user({ type: 'file', file_id: 'file-1' }),
  'chat, without a type': user({ file: { file_data: 'AA==' } }),
  'chat, at a place that is not known': user({ type: 'file', file: { path: '/a.pdf' } }),
  'chat, with parsed content beside its bytes': user({
    type: 'file',
    file: { content: [], file_url: WEB },
  }),
  'messages, document': user({ type: 'document', source: { type: 'base64', data: BARE } }),
  'messages, document by id, counted once': user({
    type: 'document',
    source: { type: 'file', file_id: 'f' },
  }),
  'messages, a text document': user({ type: 'document', source: { type: 'text', data: 'x' } }),
  'messages, upload': user({ type: 'container_upload', file_id: 'f' }),
}
const FILES_OF_INPUT: Bodies = {
  responses: content({ type: 'input_file', file_url: WEB }),
  embeddings: content({ type: 'input_file', input_file: { data: WEB } }),
  'responses, by id': content({ type: 'input_file', file_id: 'file-1' }),
  'embeddings, without a type': content({ input_file: { data: WEB } }),
}
const FILES_OF_OUTPUT: Bodies = {
  'responses, of a function': item({
    type: 'function_call_output',
    output: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }],
  }),
  'responses, of a custom tool': item({
    type: 'custom_tool_call_output',
    output: [{ type: 'input_file', filename: 'b.pdf', file_data: 'data:application/pdf;base64,' }],
  }),
}

const FILES_OF_RESULT: Bodies = {
  'messages, of a tool result': user({
    type: 'tool_result',
    content: [{ type: 'document', source: { type: 'base64', data: BARE } }],
  }),
}

const NOTHING: Bodies = {
  'text that names an image': user({ type: 'text', text: PNG }),
  'the text of an earlier parse': said('assistant', {
    type: 'file',
    file: { hash: 'h', content: [{ type: 'text', text: 'x' }] },
  }),
  'what a tool is called with': said('assistant', {
    type: 'tool_use',
    input: { type: 'image', file: { file_data: 'x' }, audio: { id: 'a' } },
  }),
  'what a server tool is called with': user({ type: 'server_tool_use', input: { type: 'image' } }),
  'a search result': user({ type: 'search_result', source: 'https://e.com', title: 't' }),
  'an annotation that only names a file': content({
    type: 'output_text',
    annotations: [{ type: 'file_citation', file_id: 'f_1' }],
  }),
  'a schema with such properties': {
    response_format: {
      type: 'json_schema',
      json_schema: { schema: { properties: { file: { type: 'file' } } } },
    },
  },
  'the shape of a schema elsewhere': {
    guided: {
      properties: {
        image_url: { type: 'string' },
        input_audio: { type: 'string' },
        file: { type: 'object' },
      },
    },
  },
  'how audio is to sound': { audio: { voice: 'alloy', format: 'wav' } },
  nulls: user({ image_url: null, file: null, input_audio: null, video_url: null }),
}

describe('parts that are billed separately are found in a body', () => {
  test.each<[string, Bodies, Partial<typeof NO_MEDIA>]>([
    ['an inline image', IMAGES_INLINE, { imagesInline: 1 }],
    ['an image by URL', IMAGES_BY_URL, { imagesByUrl: 1 }],
    ['an inline video', VIDEOS_INLINE, { videosInline: 1 }],
    ['a video by URL', VIDEOS_BY_URL, { videosByUrl: 1 }],
    ['a file', FILES, { files: 1, firstFilePath: FIRST }],
    ['a file', FILES_OF_INPUT, { files: 1, firstFilePath: 'input[0].content[0]' }],
    ['a file', FILES_OF_OUTPUT, { files: 1, firstFilePath: 'input[0].output[0]' }],
    ['a file', FILES_OF_RESULT, { files: 1, firstFilePath: `${FIRST}.content[0]` }],
    ['nothing', NOTHING, {}],
  ])('%s', (_, bodies, counts) => {
    for (const [name, body] of Object.entries(bodies))
      expect(mediaOf(body), name).toEqual({ ...NO_MEDIA, ...counts })
  })

  test('a document with an image counts as both', () => {
    const document = { type: 'document', source: { type: 'content', content: [LINKED] } }
    expect(mediaOf(user(document))).toEqual({
      ...NO_MEDIA,
      files: 1,
      firstFilePath: FIRST,
      imagesByUrl: 1,
    })
  })

  test('a fetched document is named by its place', () => {
    const fetched = { type: 'web_fetch_result', content: { type: 'document', source: {} } }
    expect(mediaOf(user({ type: 'web_fetch_tool_result', content: fetched }))).toEqual({
      ...NO_MEDIA,
      files: 1,
      firstFilePath: `${FIRST}.content.content`,
    })
  })

  test('the first of several files is named', () => {
    const file = { type: 'file', file: { file_data: 'x' } }
    expect(mediaOf(said('user', { type: 'text', text: 'x' }, file, file))).toEqual({
      ...NO_MEDIA,
      files: 2,
      firstFilePath: 'messages[0].content[1]',
    })
  })
})

test.each([
  ['chat', user({ type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }), FIRST],
  ['chat, of a tool', said('tool', { type: 'input_audio' }), FIRST],
  ['chat, without a type', user({ input_audio: { data: 'x' } }), FIRST],
  ['chat, by URL', user({ type: 'audio_url', audio_url: { url: WEB } }), FIRST],
  [
    'chat, echoed by id',
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    'messages[0]',
  ],
  [
    'chat, echoed whole',
    { messages: [{ role: 'assistant', audio: { data: 'x' } }] },
    'messages[0]',
  ],
  ['responses', content({ type: 'input_audio', input_audio: {} }), 'input[0].content[0]'],
  ['the root', { input_audio: { data: 'x' } }, 'input_audio'],
])('audio input is refused: %s', (_, source, param) => {
  expect(refusalOf(() => mediaOf(source))).toEqual({ code: 'unsupported_parameter', param })
})

test('a hundred thousand parts are found in one pass', () => {
  const parts = `{"type":"image_url","image_url":{"url":"${WEB}"}},`.repeat(100_000)
  const body = bodyOf(`{"messages":[{"content":[${parts}{"type":"text"}]}]}`)
  expect(surveyBody(body.root).media.imagesByUrl).toBe(100_000)
})
