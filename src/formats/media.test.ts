import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/call.ts'
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

type Row = readonly [string, object, Partial<typeof NO_MEDIA>]

const IMAGES: readonly Row[] = [
  [
    'chat, inline',
    said('user', { type: 'image_url', image_url: { url: PNG } }),
    { imagesInline: 1 },
  ],
  [
    'chat, by URL',
    said('user', { type: 'image_url', image_url: { url: WEB } }),
    { imagesByUrl: 1 },
  ],
  ['chat, as a string', said('user', { type: 'image_url', image_url: WEB }), { imagesByUrl: 1 }],
  [
    'chat, in capitals',
    said('user', { type: 'image_url', image_url: 'DATA:image/png;base64,AA==' }),
    { imagesInline: 1 },
  ],
  [
    'chat, in a store',
    said('user', { type: 'image_url', image_url: 'gs://bucket/a' }),
    { imagesByUrl: 1 },
  ],
  [
    'chat, of a system message',
    said('system', { type: 'image_url', image_url: { url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'chat, of a tool message',
    said('tool', { type: 'image_url', image_url: { url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'chat, of an assistant message',
    said('assistant', { type: 'image_url', image_url: { url: PNG } }),
    { imagesInline: 1 },
  ],
  [
    'chat, echoed',
    { messages: [{ role: 'assistant', images: [{ type: 'image_url', image_url: { url: PNG } }] }] },
    { imagesInline: 1 },
  ],
  [
    'chat, echoed without a type',
    { messages: [{ role: 'assistant', images: [{ image_url: { url: WEB } }] }] },
    { imagesByUrl: 1 },
  ],
  [
    'chat, of a prediction',
    { prediction: { type: 'content', content: [{ type: 'image_url', image_url: { url: WEB } }] } },
    { imagesByUrl: 1 },
  ],
  [
    'chat, of an unknown type',
    said('user', { type: 'picture', image_url: { url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'chat, of a type of null',
    said('user', { type: null, image_url: { url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'messages, inline',
    said('user', {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: BARE },
    }),
    { imagesInline: 1 },
  ],
  [
    'messages, by URL',
    said('user', { type: 'image', source: { type: 'url', url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'messages, by id',
    said('user', { type: 'image', source: { type: 'file', file_id: 'file_1' } }),
    { imagesByUrl: 1 },
  ],
  [
    'messages, of a tool result',
    said('user', {
      type: 'tool_result',
      content: [{ type: 'image', source: { type: 'url', url: WEB } }],
    }),
    { imagesByUrl: 1 },
  ],
  [
    'messages, of a system block',
    { system: [{ type: 'image', source: { type: 'url', url: WEB } }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, inline',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: PNG }] }] },
    { imagesInline: 1 },
  ],
  [
    'responses, by URL',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: WEB }] }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, by id',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file1' }] }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, by id beside bytes',
    { input: [{ type: 'input_image', image_url: PNG, file_id: 'file1' }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, of a function',
    {
      input: [{ type: 'function_call_output', output: [{ type: 'input_image', image_url: WEB }] }],
    },
    { imagesByUrl: 1 },
  ],
  [
    'responses, of a screen',
    {
      input: [
        { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: PNG } },
      ],
    },
    { imagesInline: 1 },
  ],
  [
    'responses, of an interpreter',
    { input: [{ type: 'code_interpreter_call', outputs: [{ type: 'image', url: WEB }] }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, generated',
    { input: [{ type: 'image_generation_call', result: BARE }] },
    { imagesInline: 1 },
  ],
  [
    'responses, generated and stored',
    { input: [{ type: 'image_generation_call', id: 'ig_1', result: null }] },
    { imagesByUrl: 1 },
  ],
  [
    'responses, of a variable',
    { prompt: { variables: { a: { type: 'input_image', image_url: WEB } } } },
    { imagesByUrl: 1 },
  ],
  [
    'in two places, one of them a URL',
    said('user', { type: 'image', image_url: PNG, source: { type: 'url', url: WEB } }),
    { imagesByUrl: 1 },
  ],
  [
    'with two addresses, one of them a URL',
    said('user', { type: 'image', source: { type: 'base64', data: BARE, url: WEB } }),
    { imagesByUrl: 1 },
  ],
  ['that is nowhere', said('user', { type: 'image' }), { imagesByUrl: 1 }],
  [
    'with an address of the wrong type',
    said('user', { type: 'image_url', image_url: { url: 7 } }),
    { imagesByUrl: 1 },
  ],
]

const VIDEOS: readonly Row[] = [
  [
    'chat, by URL',
    said('user', { type: 'video_url', video_url: { url: WEB } }),
    { videosByUrl: 1 },
  ],
  [
    'chat, inline',
    said('user', { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } }),
    { videosInline: 1 },
  ],
  [
    'chat, older',
    said('user', { type: 'input_video', input_video: { video_url: { url: WEB } } }),
    { videosByUrl: 1 },
  ],
  [
    'embeddings, URL as data',
    { input: [{ content: [{ type: 'input_video', input_video: { data: WEB, format: 'mp4' } }] }] },
    { videosByUrl: 1 },
  ],
  [
    'responses',
    { input: [{ content: [{ type: 'input_video', video_url: WEB }] }] },
    { videosByUrl: 1 },
  ],
  ['without a type', said('user', { video_url: { url: WEB } }), { videosByUrl: 1 }],
]

const FIRST = 'messages[0].content[0]'
const FILES: readonly Row[] = [
  [
    'chat, inline',
    said('user', { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'chat, by URL',
    said('assistant', { type: 'file', file: { file_data: WEB } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'chat, by id',
    said('tool', { type: 'file', file: { file_id: 'file-1' } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'chat, by id alone',
    said('user', { type: 'file', file_id: 'file-1' }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'chat, without a type',
    said('user', { file: { file_data: 'AA==' } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'chat, with parsed content beside its bytes',
    said('user', { type: 'file', file: { content: [], file_url: WEB } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'messages, document',
    said('user', { type: 'document', source: { type: 'base64', data: BARE } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'messages, document by id, counted once',
    said('user', { type: 'document', source: { type: 'file', file_id: 'f' } }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'messages, upload',
    said('user', { type: 'container_upload', file_id: 'f' }),
    { files: 1, firstFilePath: FIRST },
  ],
  [
    'messages, document with an image',
    said('user', {
      type: 'document',
      source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url: WEB } }] },
    }),
    { files: 1, firstFilePath: FIRST, imagesByUrl: 1 },
  ],
  [
    'messages, fetched',
    said('user', {
      type: 'web_fetch_tool_result',
      content: { type: 'web_fetch_result', content: { type: 'document', source: {} } },
    }),
    { files: 1, firstFilePath: `${FIRST}.content.content` },
  ],
  [
    'responses',
    { input: [{ content: [{ type: 'input_file', file_url: WEB }] }] },
    { files: 1, firstFilePath: 'input[0].content[0]' },
  ],
  [
    'embeddings',
    { input: [{ content: [{ type: 'input_file', input_file: { data: WEB } }] }] },
    { files: 1, firstFilePath: 'input[0].content[0]' },
  ],
  [
    'embeddings, without a type',
    { input: [{ content: [{ input_file: { data: WEB } }] }] },
    { files: 1, firstFilePath: 'input[0].content[0]' },
  ],
]

const NOTHING: readonly (readonly [string, object])[] = [
  ['text that names an image', said('user', { type: 'text', text: PNG })],
  [
    'the text of an earlier parse',
    said('assistant', {
      type: 'file',
      file: { hash: 'h', content: [{ type: 'text', text: 'x' }] },
    }),
  ],
  [
    'what a tool is called with',
    said('assistant', {
      type: 'tool_use',
      input: { type: 'image', file: { file_data: 'x' }, audio: { id: 'a' } },
    }),
  ],
  [
    'a schema with such properties',
    {
      response_format: {
        type: 'json_schema',
        json_schema: { schema: { properties: { file: { type: 'file' } } } },
      },
    },
  ],
  [
    'the shape of a schema elsewhere',
    {
      guided: {
        properties: {
          image_url: { type: 'string' },
          input_audio: { type: 'string' },
          file: { type: 'object' },
        },
      },
    },
  ],
  ['how audio is to sound', { audio: { voice: 'alloy', format: 'wav' } }],
  ['nulls', said('user', { image_url: null, file: null, input_audio: null, video_url: null })],
]

describe('parts that are billed separately are found in a body', () => {
  test.each(IMAGES)('image: %s', (_, source, counts) => {
    expect(mediaOf(source)).toEqual({ ...NO_MEDIA, ...counts })
  })
  test.each(VIDEOS)('video: %s', (_, source, counts) => {
    expect(mediaOf(source)).toEqual({ ...NO_MEDIA, ...counts })
  })
  test.each(FILES)('file: %s', (_, source, counts) => {
    expect(mediaOf(source)).toEqual({ ...NO_MEDIA, ...counts })
  })
  test.each(NOTHING)('nothing: %s', (_, source) => {
    expect(mediaOf(source)).toEqual(NO_MEDIA)
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
  ['chat', said('user', { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } }), FIRST],
  ['chat, of a tool', said('tool', { type: 'input_audio' }), FIRST],
  ['chat, without a type', said('user', { input_audio: { data: 'x' } }), FIRST],
  ['chat, by URL', said('user', { type: 'audio_url', audio_url: { url: WEB } }), FIRST],
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
  [
    'responses',
    { input: [{ content: [{ type: 'input_audio', input_audio: {} }] }] },
    'input[0].content[0]',
  ],
  ['the root', { input_audio: { data: 'x' } }, 'input_audio'],
])('audio input is refused: %s', (_, source, param) => {
  expect(refusalOf(() => mediaOf(source))).toEqual({ code: 'unsupported_parameter', param })
})

test('a hundred thousand parts are found in one pass', () => {
  const parts = `{"type":"image_url","image_url":{"url":"${WEB}"}},`.repeat(100_000)
  const body = bodyOf(`{"messages":[{"content":[${parts}{"type":"text"}]}]}`)
  expect(surveyBody(body.root).media.imagesByUrl).toBe(100_000)
})
