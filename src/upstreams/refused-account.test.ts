import { describe, expect, test } from 'vitest'
import { anthropic } from './anthropic/anthropic.ts'
import { openai } from './openai/openai.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { answerOf } from './openrouter/testing/exchange.ts'
import { wire } from './testing/wires.ts'
import type { Wire } from './wire.ts'

type Row = [string, Wire, httpStatus: number, error: object, read: number]

describe('our account', () => {
  const error = (members: object) => answerOf({ error: members }).root
  test.each<Row>([
    [
      'OpenAI, no credit',
      wire(openai, 'chat'),
      429,
      { type: 'insufficient_quota', message: 'You exceeded' },
      402,
    ],
    [
      'OpenAI, a region',
      wire(openai, 'responses'),
      403,
      { code: 'unsupported_country_region_territory', message: 'Country' },
      401,
    ],
    [
      'OpenAI, too many requests',
      wire(openai, 'chat'),
      429,
      { type: 'requests', code: 'rate_limit_exceeded', message: 'Rate limit' },
      429,
    ],
    [
      'Anthropic, no credit',
      wire(anthropic, 'messages'),
      400,
      {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API.',
      },
      402,
    ],
    [
      'Anthropic, a disabled organization',
      wire(anthropic, 'messages'),
      400,
      { type: 'invalid_request_error', message: 'This organization has been disabled.' },
      402,
    ],
    [
      'Anthropic, a bad request',
      wire(anthropic, 'messages'),
      400,
      { type: 'invalid_request_error', message: 'messages: Field required' },
      400,
    ],
    [
      'a vendor, refusing what the request says',
      wire(openaiCompatible, 'chat'),
      403,
      {
        code: 'The caller does not have permission',
        message: 'Content violates usage guidelines.',
      },
      403,
    ],
    [
      'OpenAI, refusing what the request says',
      wire(openai, 'chat'),
      403,
      { type: 'invalid_request_error', code: 'content_policy_violation', message: 'No' },
      403,
    ],
    [
      'Anthropic, refusing what the request says',
      wire(anthropic, 'messages'),
      403,
      { type: 'permission_error', message: 'Output blocked by content filtering policy' },
      403,
    ],
    [
      'Anthropic, a key without the model',
      wire(anthropic, 'messages'),
      403,
      { type: 'permission_error', message: 'Your API key does not have permission' },
      401,
    ],
    [
      'Anthropic, an organization that broke its policies',
      wire(anthropic, 'messages'),
      403,
      {
        type: 'permission_error',
        message: 'Your organization was disabled for violating our usage policies.',
      },
      401,
    ],
    [
      'a server, an account that broke its policies',
      wire(openaiCompatible, 'chat'),
      403,
      { message: 'This account has been flagged.' },
      401,
    ],
    [
      'a server, whose access ended',
      wire(openaiCompatible, 'chat'),
      403,
      { message: 'Your access was terminated: see our usage policies.' },
      401,
    ],
    [
      'OpenAI, an account that its code names',
      wire(openai, 'chat'),
      403,
      { code: 'account_deactivated', message: 'See our usage policies.' },
      401,
    ],
    [
      'a server, refusing an account that the request names',
      wire(openaiCompatible, 'chat'),
      403,
      { message: "The prompt 'Your account has been closed' was flagged." },
      403,
    ],
    [
      'OpenAI, whose code says that the content is refused',
      wire(openai, 'chat'),
      403,
      { code: 'content_policy_violation', message: 'Your organization set this filter.' },
      403,
    ],
    [
      'Gemini, a wrong key',
      wire(openaiCompatible, 'chat'),
      400,
      { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID' },
      401,
    ],
    [
      'Gemini, an old key',
      wire(openaiCompatible, 'chat'),
      400,
      { code: 400, message: 'API key expired. Please renew the API key.' },
      401,
    ],
    [
      'a server that repeats a value in quotes',
      wire(openaiCompatible, 'chat'),
      400,
      { message: "Invalid value: 'API key not valid. Please pass a valid API key.'" },
      400,
    ],
    [
      'a server that repeats a value first',
      wire(openaiCompatible, 'chat'),
      400,
      { message: 'API key not valid. Please pass a valid API key. is not one of low, high' },
      400,
    ],
    [
      'Anthropic, repeating a value',
      wire(anthropic, 'messages'),
      400,
      {
        type: 'invalid_request_error',
        message: 'tools.0.name: Your credit balance is too low to access the Anthropic API.',
      },
      400,
    ],
    ['a server, forbidden', wire(openaiCompatible, 'chat'), 403, { message: 'no access' }, 401],
    ...['organization_usage_limit', 'organization_spend_limit', 'project_spend_limit'].map(
      (limit): Row => [
        `OpenAI, a reached ${limit}`,
        wire(openai, 'responses'),
        429,
        { type: 'invalid_request_error', code: `${limit}_exceeded`, message: 'Limit' },
        402,
      ],
    ),
    ...['', 'workspace '].map(
      (of): Row => [
        `Anthropic, a reached ${of}limit that its owner has set`,
        wire(anthropic, 'messages'),
        400,
        {
          type: 'invalid_request_error',
          message: `You have reached your specified ${of}API usage limits. You will regain access on 2026-12-01.`,
        },
        402,
      ],
    ),
    ...Object.entries({
      enforced_spend_limit_reached: [429, 402],
      contract_spend_limit_reached: [429, 402],
      organization_on_hold: [400, 401],
      cmek_key_disabled: [400, 401],
      cmek_key_network_blocked: [400, 401],
      claude_code_key_creator_not_member: [400, 401],
      ramp_limit_exceeded: [429, 429],
      image_dimensions_too_large: [400, 400],
    }).map(
      ([code, [httpStatus = 0, expected = 0]]): Row => [
        `Anthropic, ${code}`,
        wire(anthropic, 'messages'),
        httpStatus,
        { type: 'some_error', message: 'Words.', details: { error_code: code } },
        expected,
      ],
    ),
  ])('%s', (_, of, httpStatus, members, expected) => {
    expect(of.readError(error(members), httpStatus).httpStatus).toBe(expected)
  })

  test.each<[string, 'probably' | 'certainly', object]>([
    ["the text of a vendor's firewall", 'probably', { message: 'Request blocked.' }],
    ['a page of HTML', 'probably', {}],
    ['a type alone', 'probably', { type: 'permission_error', message: 'Forbidden' }],
    ['words about an account', 'certainly', { message: 'Your account is suspended.' }],
    [
      'words about a key',
      'certainly',
      { message: 'Your API key does not have permission to use this model.' },
    ],
    [
      'the code of a region',
      'certainly',
      { code: 'unsupported_country_region_territory', message: 'No' },
    ],
  ])('a 403 with %s is %s a refusal of our account', (_, certainty, said) => {
    for (const of of [
      wire(openaiCompatible, 'chat'),
      wire(openai, 'chat'),
      wire(anthropic, 'messages'),
    ]) {
      const read = of.readError(error(said), 403)
      const isOnlyLikely = certainty === 'probably' ? true : undefined
      expect([read.httpStatus, read.isOnlyLikely]).toEqual([401, isOnlyLikely])
    }
  })
})
