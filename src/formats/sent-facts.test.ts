import { describe, expect, test } from 'vitest'
import type { JsonEdit } from '../json/edit.ts'
import type { JsonObject } from '../json/walk.ts'
import { PROBLEMS } from '../vocabulary/problem.ts'
import { NO_MEDIA } from '../vocabulary/testing/no-media.ts'
import { problemForProviderError } from './provider-error.ts'
import { NOTHING_SENT, type SentFacts, sentFacts } from './sent-facts.ts'

/** The request of a client whose own names can be shown. */
const SENT: SentFacts = {
  fields: ['model', 'foo_bar', 'SECRET'],
  tools: ['get_weather', null],
  ownCap: null,
  size: NOTHING_SENT.size,
}

/** The refusal that a client gets for a provider's 400 with this text. */
function refused(message: string, sent: SentFacts = SENT) {
  const kinds = ['invalid_request_error']
  const error = { httpStatus: 400, kinds, messagesType: null, message }
  const {
    code,
    param,
    message: text,
  } = problemForProviderError(error, { retryAfter: undefined, sent })
  return { code, param, text }
}

describe('fields that the client sent are named', () => {
  test.each([
    ["Unknown parameter: 'foo_bar'."],
    ['Unrecognized request argument supplied: foo_bar'.replace('argument supplied:', 'argument')],
    ['foo_bar: Extra inputs are not permitted'],
  ])('a field that the provider names: %s', (message) => {
    expect(refused(message)).toMatchObject({ code: 'unsupported_parameter', param: 'foo_bar' })
    expect(refused(message, NOTHING_SENT).param).toBeNull()
  })

  test('an unknown parameter is called so', () => {
    expect(refused("Unknown parameter: 'foo_bar'.").text).toBe(
      'Unknown parameter: `foo_bar`. Leave it out or use another model.',
    )
  })

  test('a name that the client did not send is not', () => {
    expect(refused("Unknown parameter: 'their_secret'.")).toMatchObject({ param: null })
  })

  test.each([
    ['tools.0.custom.input_schema: invalid', 'tools[0]', 'get_weather'],
    ["Invalid schema in 'tools[0].function.parameters'", 'tools[0]', 'get_weather'],
  ])('a tool, by its place and name: %s', (message, param, name) => {
    const problem = refused(message)
    expect(problem).toMatchObject({ code: 'invalid_parameter', param })
    expect(problem.text).toContain(`\`${name}\``)
  })

  test('a tool without a name is named by its place, and a missing tool is not named', () => {
    expect(refused('tools.1.input_schema: required').param).toBe('tools[1]')
    expect(refused('tools.9.input_schema: required').param).not.toBe('tools[9]')
  })
})

describe('a field that the provider requires and did not get', () => {
  test.each([
    ['max_tokens: Field required', 'max_tokens'],
    ["Missing required parameter: 'messages'.", 'messages'],
    ['Missing required parameter: "input"', 'input'],
  ])('is called missing, and is not to be left out: %s', (message, param) => {
    expect(refused(message)).toEqual({
      code: 'invalid_parameter',
      param,
      text: `\`${param}\` is missing, and the provider requires it.`,
    })
  })

  test.each([
    ['messages.0.content: Field required'],
    ["Missing required parameter: 'messages[0].content'."],
  ])('inside of a field that was sent, the field is not called missing: %s', (message) => {
    expect(refused(message)).toEqual({
      code: 'invalid_parameter',
      param: 'messages',
      text: 'The provider refused the value of `messages`. Change it.',
    })
  })
})

describe('a refused output cap', () => {
  const message = 'max_tokens is too large: 40000. This model supports at most 32768 tokens.'

  test('of the gateway is described as its own, with advice', () => {
    const ownCap = { param: 'max_tokens', tokens: 40_000 }
    const problem = refused(message, { ...SENT, ownCap })
    expect(problem).toMatchObject({ code: 'invalid_parameter', param: 'max_tokens' })
    expect(problem.text).toContain('The gateway set `max_tokens` to 40,000')
  })

  test("of the client is the client's", () => {
    expect(refused(message).text).toBe(
      'The provider refused the value of `max_tokens`. Change it or leave it out.',
    )
  })
})

describe('a prompt that is too long', () => {
  const message = 'prompt is too long: 204813 tokens > 200000 maximum'
  const size = { promptTokens: 212_345, capTokens: 32_000, contextTokens: 200_000 }

  test("is refused with the gateway's own figures, without the provider's", () => {
    const { text } = refused(message, { ...SENT, size })
    expect(text).toBe(
      "prompt is too long: it has about 210,000 tokens by the gateway's estimate, the output cap is 32,000, and the context window of this model is 200,000. Shorten the input or lower the output cap.",
    )
    expect(refused(message, { ...SENT, size: { ...size, capTokens: null } }).text).toContain(
      "about 210,000 tokens by the gateway's estimate, and the context window",
    )
  })

  test('is refused without figures if it fits by them', () => {
    const { text } = refused(message, { ...SENT, size: { ...size, promptTokens: 170_000 } })
    expect(text).toContain('about 170,000 tokens')
    const fits = refused(message, { ...SENT, size: { ...size, promptTokens: 168_000 } })
    expect(fits.text).toBe(PROBLEMS.context_length_exceeded.message)
  })

  test('is refused without figures if the window or the tokens of a picture are not known', () => {
    for (const unknown of ['promptTokens', 'contextTokens']) {
      const { text } = refused(message, { ...SENT, size: { ...size, [unknown]: null } })
      expect(text).toBe(PROBLEMS.context_length_exceeded.message)
    }
  })
})

describe('the record of a body', () => {
  const edit = { kind: 'set', path: ['max_tokens'], json: '4096' } as const
  const call = { promptGuess: 601, outputCapTokens: null, media: NO_MEDIA }
  const offer = { contextTokens: 8_192 }
  const facts = (root: JsonObject, edits: readonly JsonEdit[] = [edit]) =>
    sentFacts({ root, edits, call, offer })

  test('its fields, the names of its tools, a cap that it did not set, and its size', () => {
    const tools = [{ type: 'function', function: { name: 'one' } }, { name: 'two' }, {}, 'x']
    expect(facts({ model: 'm', tools })).toEqual({
      fields: ['model', 'tools'],
      tools: ['one', 'two', null, null],
      ownCap: { param: 'max_tokens', tokens: 4096 },
      size: { promptTokens: 11, capTokens: 4096, contextTokens: 8_192 },
    })
    expect(facts({ max_tokens: 9 }).ownCap).toBeNull()
    // The model takes the cap in another field than the client's.
    const other = { kind: 'set', path: ['max_completion_tokens'], json: 'null' } as const
    expect(facts({ max_completion_tokens: 9 }, [edit, other]).ownCap).toEqual({
      param: 'max_tokens',
      tokens: 4096,
    })
    expect(facts({ max_tokens: null }).ownCap).not.toBeNull()
  })

  test('the tokens of a prompt with a picture are not guessed, and the cap of the client counts', () => {
    const pictured = { ...call, outputCapTokens: 9, media: { ...NO_MEDIA, imagesByUrl: 1 } }
    const { size } = sentFacts({ root: { max_tokens: 9 }, edits: [], call: pictured, offer })
    expect(size).toEqual({ promptTokens: null, capTokens: 9, contextTokens: 8_192 })
  })
})
