import { describe, expect, test } from 'vitest'
import { chat } from '../formats/chat.ts'
import { responses } from '../formats/responses.ts'
import { bodyOf, callOf, DEFAULT_PUBLIC_NAMES, offerWith } from '../formats/testing/exchange.ts'
import { editJson } from '../json/edit.ts'
import { openai } from './openai/openai.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { NO_RULES } from './testing/upstream-settings.ts'
import { wire } from './testing/wires.ts'
import type { Dialect } from './upstream.ts'

const PICTURE = { type: 'image_url', image_url: { url: 'https://example.com/picture.png' } }

const asked = (content: unknown) => ({
  model: 'acme/sage-pro',
  messages: [{ role: 'user', content }],
})

/** The cap that is sent where 8,000 tokens of output were held. By position: the content of the message, and the window. */
function sentCaps(content: unknown, contextTokens: number | null): readonly number[] {
  const source = asked(content)
  const body = bodyOf(source)
  const input = {
    call: callOf(chat, source),
    body,
    offer: offerWith({ contextTokens }),
    outputCapTokens: 8_000,
    accountTag: 'tag',
    publicNames: DEFAULT_PUBLIC_NAMES,
    ...NO_RULES,
  }
  return [openai, openaiCompatible].map((dialect) => {
    const edits = wire(dialect, 'chat').rewrites(input)
    const sent = JSON.parse(Buffer.concat(editJson(body, edits)).toString())
    return sent.max_tokens ?? sent.max_completion_tokens
  })
}

const textTokensOf = (content: unknown) => callOf(chat, asked(content)).textTokens

test('the held cap is sent unchanged if the window has room for it or is unknown', () => {
  expect(sentCaps('hi', 100_000)).toEqual([8_000, 8_000])
  expect(sentCaps('hi', null)).toEqual([8_000, 8_000])
})

test('the held cap is lowered to the part of the window that the prompt, its template and its pictures leave', () => {
  const textTokens = textTokensOf('hi')
  expect(sentCaps('hi', 6_000)).toEqual(Array(2).fill(6_000 - textTokens - 512))
  const content = [{ type: 'text', text: 'hi' }, PICTURE, PICTURE]
  const beside = textTokensOf(content) + 512 + 2 * 2_048
  expect(sentCaps(content, 8_192)).toEqual(Array(2).fill(8_192 - beside))
})

test('an answer of 1,024 tokens is still requested if the prompt is estimated to fill the window', () => {
  expect(sentCaps('word '.repeat(4_000), 4_096)).toEqual([1_024, 1_024])
})

describe('responses without a cap are sent the longest answer that was held', () => {
  /** The cap that is sent. By position: the dialect, OpenAI's ID of the model, and the client's own cap. */
  function sentCap(dialect: Dialect, upstreamModelId: string, outputCapTokens?: number): unknown {
    const source = { model: 'acme/sage-pro', input: 'hi', max_output_tokens: outputCapTokens }
    const body = bodyOf(source)
    const edits = wire(dialect, 'responses').rewrites({
      call: callOf(responses, source),
      body,
      offer: offerWith({ upstreamModelId, contextTokens: 400_000, outputTokensMax: 128_000 }),
      outputCapTokens: null,
      accountTag: 'tag',
      publicNames: DEFAULT_PUBLIC_NAMES,
      ...NO_RULES,
    })
    return JSON.parse(Buffer.concat(editJson(body, edits)).toString()).max_output_tokens
  }

  test("by an operator's own server", () => {
    expect(sentCap(openaiCompatible, 'any')).toBe(128_000)
  })

  test('by OpenAI if its own limit is higher', () => {
    expect(sentCap(openai, 'gpt-5-pro')).toBe(128_000)
    expect(sentCap(openai, 'gpt-5-pro-2025-10-06')).toBe(128_000)
  })

  test.each(['gpt-5.2', 'gpt-4.1', 'ft:gpt-4.1:acme'])(
    'but not for the %s of OpenAI, whose own limit is no higher or not known: the body stays as it is',
    (upstreamModelId) => expect(sentCap(openai, upstreamModelId)).toBeUndefined(),
  )

  test('unless the client set one', () => {
    expect(sentCap(openai, 'gpt-5-pro', 90_000)).toBe(90_000)
  })
})
