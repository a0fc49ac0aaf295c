import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/testing/no-media.ts'
import { images } from './images.ts'
import { surveyBody } from './media.ts'
import { bodyOf, callOf, refusalOf } from './testing/exchange.ts'

const BARE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'
const dataUrl = (type: string) => `data:${type};base64,${BARE}`
const said = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
const mediaOf = (source: object) => surveyBody(bodyOf({ ...source }).root).media
const image = (url: string) => said({ type: 'image_url', image_url: { url } })
const block = (mediaType: string) =>
  said({ type: 'image', source: { type: 'base64', media_type: mediaType, data: BARE } })
const video = (url: string) => said({ type: 'video_url', video_url: { url } })
const file = (data: string) => said({ type: 'file', file: { file_data: data } })

const FILE = { files: 1, firstFilePath: 'messages[0].content[0]' }

describe('the declared type of inline bytes is their kind', () => {
  test.each<[string, object, Partial<typeof NO_MEDIA>]>([
    ['a PNG', image(dataUrl('image/png')), { imagesInline: 1 }],
    ['an image in capitals', image(`DATA:IMAGE/PNG;base64,${BARE}`), { imagesInline: 1 }],
    ['an image of any kind', image(dataUrl('image/avif;x=y')), { imagesInline: 1 }],
    ['a PDF as an image', image(dataUrl('application/pdf')), FILE],
    ['text as an image', image('data:text/plain,hello'), FILE],
    ['something as an image', image(dataUrl('application/octet-stream')), FILE],
    ['an image that is no image', image(dataUrl('imagery/png')), FILE],
    ['a data URL without a type', image(`data:;base64,${BARE}`), FILE],
    ['a data URL with nothing before its comma', image(`data:,${BARE}`), FILE],
    ['a video as an image', image(dataUrl('video/mp4')), { videosInline: 1 }],
    ['a PDF as an image block', block('application/pdf'), FILE],
    ['a video as an image block', block('video/mp4'), { videosInline: 1 }],
    ['an image block', block('image/webp'), { imagesInline: 1 }],
    [
      'a data URL over the type beside it',
      said({ type: 'image', source: { media_type: 'image/png', data: dataUrl('video/mp4') } }),
      { videosInline: 1 },
    ],
    [
      'an image and a PDF in one part',
      said({ type: 'image', image_url: dataUrl('image/png'), url: dataUrl('application/pdf') }),
      FILE,
    ],
    [
      'a video and a PDF in one part',
      said({ type: 'image', image_url: dataUrl('video/mp4'), url: dataUrl('application/pdf') }),
      { ...FILE, videosInline: 1 },
    ],
    ['an image as a video', video(dataUrl('image/gif')), { videosInline: 1 }],
    ['a PDF as a video', video(dataUrl('application/pdf')), FILE],
    ['an image as a file', file(dataUrl('image/png')), FILE],
    ['a video as a file', file(dataUrl('video/mp4')), { ...FILE, videosInline: 1 }],
  ])('%s', (_, source, counts) => {
    expect(mediaOf(source)).toEqual({ ...NO_MEDIA, ...counts })
  })

  test.each<[string, object]>([
    ['as an image', image(dataUrl('audio/wav'))],
    ['as an image block', block('audio/mpeg')],
    ['as a video', video(dataUrl('audio/wav'))],
    ['as a file', file(dataUrl('audio/wav'))],
    ['in capitals', image(`DATA:AUDIO/WAV;base64,${BARE}`)],
    [
      'beside an image',
      said({ type: 'image', image_url: dataUrl('image/png'), url: dataUrl('audio/wav') }),
    ],
    ['as a document', said({ type: 'document', source: { media_type: 'audio/wav', data: BARE } })],
  ])('audio is refused %s', (_, source) => {
    expect(refusalOf(() => mediaOf(source))).toEqual({
      code: 'unsupported_parameter',
      param: 'messages[0].content[0]',
    })
  })

  test('also in bare addresses, which image providers read', () => {
    const of = (image: unknown) => callOf(images, { model: 'x', prompt: 'draw', image }).media
    expect(of(dataUrl('image/png'))).toEqual({ ...NO_MEDIA, imagesInline: 1 })
    expect(of([dataUrl('application/pdf')])).toEqual({
      ...NO_MEDIA,
      files: 1,
      firstFilePath: 'image',
    })
    expect(of({ url: dataUrl('video/mp4') })).toEqual({ ...NO_MEDIA, videosInline: 1 })
    expect(refusalOf(() => of(dataUrl('audio/wav')))).toEqual({
      code: 'unsupported_parameter',
      param: 'image',
    })
  })
})
